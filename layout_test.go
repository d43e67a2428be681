package claviger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongLines keeps code lines over 120 columns rare, with tabs of four columns.
func TestLongLines(t *testing.T) {
	const (
		maxColumns = 120
		mostOf1000 = 5
	)
	all, long := 0, 0
	for _, s := range sources(t) {
		if s.test || !strings.HasPrefix(s.path, "internal/") && !strings.HasPrefix(s.path, "cmd/") {
			continue
		}
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if code := strings.TrimSpace(line); code == "" || strings.HasPrefix(code, "//") {
				continue
			}
			all++
			if utf8.RuneCountInString(line)+3*strings.Count(line, "\t") > maxColumns {
				long++
			}
		}
	}
	if all < 50_000 {
		t.Fatalf("found %d lines of code; is the test blind?", all)
	}
	if 1000*long > mostOf1000*all {
		t.Errorf("%d of %d lines have over %d columns, at most %d of 1,000 are allowed", long, all, maxColumns, mostOf1000)
	}
}

// TestHeaders keeps assignments out of the header of an if that does not test them, and the empty
// text out of the header of a switch.
func TestHeaders(t *testing.T) {
	for _, s := range sources(t) {
		for _, at := range badHeaders(s.file) {
			t.Errorf("%s: put the assignment on a line of its own, or use switch without a value", s.set.Position(at))
		}
	}
}

// TestBadHeaders tests the rule of TestHeaders.
func TestBadHeaders(t *testing.T) {
	for code, bad := range map[string]bool{
		`if err := f(); err != nil {}`:          false,
		`if w.x, err = f(); err != nil {}`:      false,
		`if w.x = f(); w.x > 0 {}`:              false,
		`if n++; n > 0 {}`:                      false,
		`if x = f(); ready {}`:                  true,
		`if x := f(); ready { use(x) }`:         true,
		`if w.x += 2; w.y > 0 {}`:               true,
		`switch "" { case name: }`:              true,
		`switch { case name == "": }`:           false,
		`switch x := f(); x { case "": ready }`: false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc _() {"+code+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(badHeaders(file)) > 0; got != bad {
			t.Errorf("%s: bad is %v", code, got)
		}
	}
}

// badHeaders lists the statements with a header that TestHeaders forbids.
func badHeaders(file *ast.File) []token.Pos {
	var found []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if a, ok := n.Init.(*ast.AssignStmt); ok && !testsAny(n.Cond, a.Lhs) {
				found = append(found, n.Pos())
			}
		case *ast.SwitchStmt:
			if tag, ok := n.Tag.(*ast.BasicLit); ok && tag.Value == `""` {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// testsAny reports whether a condition names one of the assigned variables or fields.
func testsAny(condition ast.Expr, assigned []ast.Expr) bool {
	names := map[string]bool{}
	for _, variable := range assigned {
		switch v := variable.(type) {
		case *ast.Ident:
			names[v.Name] = true
		case *ast.SelectorExpr:
			names[v.Sel.Name] = true
		}
	}
	found := false
	ast.Inspect(condition, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && names[id.Name] {
			found = true
		}
		return !found
	})
	return found
}
