package claviger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

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
