package claviger_test

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A hook is a function field that internal/app sets: it connects two packages, and no import shows
// that. A clock is none, nor is a field with a function type of another package of ours, because
// that import shows it.

// maxHooks bounds the number of hooks.
const maxHooks = 15

// TestHooksAreListed compares the table of hooks in ARCHITECTURE.md with the code. Each field has a
// comment that calls it a hook, and says who calls it and who listens.
func TestHooksAreListed(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "\n## Hooks\n")
	table, _, _ := strings.Cut(text2, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\|").FindAllStringSubmatch(table, -1) {
		listed = append(listed, row[1])
	}
	fields, set := hookFields(t), fieldsThatAppSets(t)
	var found []string
	for name, doc := range fields {
		_, field, _ := strings.Cut(name, ".")
		_, field, _ = strings.Cut(field, ".")
		if !set[name] && !set[field] {
			continue
		}
		found = append(found, name)
		if !strings.Contains(doc, "hook") {
			t.Errorf("the comment of %s does not declare it as a hook", name)
		}
	}
	slices.Sort(found)
	if diff := cmp.Diff(found, listed); diff != "" {
		t.Errorf("the hooks of the code and the table of ARCHITECTURE.md (-code +table)\n%s", diff)
	}
	if len(found) > maxHooks {
		t.Errorf("there are %d hooks, want at most %d: import the package instead", len(found), maxHooks)
	}
}

// hookFields returns the comments of the exported fields of functions, by package.Type.Field.
func hookFields(t *testing.T) map[string]string {
	t.Helper()
	fields := map[string]string{}
	named := map[string]bool{} // function types of each package, as package.Type
	each := func(do func(pkg string, spec *ast.TypeSpec)) {
		for _, s := range sources(t) {
			if s.test || s.name == "app" || !strings.HasPrefix(s.pkg, "internal/") {
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					do(path.Base(s.pkg), spec)
				}
				return true
			})
		}
	}
	each(func(pkg string, spec *ast.TypeSpec) {
		_, named[pkg+"."+spec.Name.Name] = spec.Type.(*ast.FuncType)
	})
	each(func(pkg string, spec *ast.TypeSpec) {
		body, ok := spec.Type.(*ast.StructType)
		if !ok {
			return
		}
		for _, field := range body.Fields.List {
			own, _ := field.Type.(*ast.Ident)
			if _, ok := field.Type.(*ast.FuncType); !ok && (own == nil || !named[pkg+"."+own.Name]) {
				continue
			}
			for _, name := range field.Names {
				if name.IsExported() && !strings.HasSuffix(name.Name, "Now") {
					fields[pkg+"."+spec.Name.Name+"."+name.Name] = field.Doc.Text() + field.Comment.Text()
				}
			}
		}
	})
	return fields
}

// fieldsThatAppSets returns the fields that internal/app sets: in a literal as package.Type.Field,
// by an assignment as Field.
func fieldsThatAppSets(t *testing.T) map[string]bool {
	t.Helper()
	set := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || s.name != "app" {
			continue
		}
		for _, decl := range s.file.Decls {
			addFieldsSet(decl, set)
		}
	}
	return set
}

// addFieldsSet adds the fields that a declaration sets. A literal is no function, and a
// parameter of an own type is no value of another package.
func addFieldsSet(decl ast.Decl, set map[string]bool) {
	own := map[string]bool{} // parameters that point to an own type
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if star, ok := n.Type.(*ast.StarExpr); ok {
				if _, ok := star.X.(*ast.Ident); ok {
					for _, name := range n.Names {
						own[name.Name] = true
					}
				}
			}
		case *ast.CompositeLit:
			maps.Copy(set, fieldsOfLiteral(n, n.Type))
		case *ast.AssignStmt:
			for i, target := range n.Lhs {
				field, ok := target.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				of, _ := field.X.(*ast.Ident)
				if !isLiteral(n.Rhs[min(i, len(n.Rhs)-1)]) && (of == nil || !own[of.Name]) {
					set[field.Sel.Name] = true
				}
			}
		}
		return true
	})
}

// isLiteral reports whether an expression is a text, a number, or a value of a structure or its
// address.
func isLiteral(e ast.Expr) bool {
	if address, ok := e.(*ast.UnaryExpr); ok {
		e = address.X
	}
	switch e.(type) {
	case *ast.BasicLit, *ast.CompositeLit:
		return true
	}
	return false
}

// fieldsOfLiteral returns the fields that a literal of a type sets. The elements of a list may omit
// their type.
func fieldsOfLiteral(literal *ast.CompositeLit, of ast.Expr) map[string]bool {
	set := map[string]bool{}
	switch of := of.(type) {
	case *ast.ArrayType:
		for _, e := range literal.Elts {
			if e, ok := e.(*ast.CompositeLit); ok && e.Type == nil {
				maps.Copy(set, fieldsOfLiteral(e, of.Elt))
			}
		}
	case *ast.SelectorExpr:
		for _, e := range literal.Elts {
			e, keyed := e.(*ast.KeyValueExpr)
			pkg, ok := of.X.(*ast.Ident)
			if !keyed || !ok {
				continue
			}
			if field, ok := e.Key.(*ast.Ident); ok {
				set[pkg.Name+"."+of.Sel.Name+"."+field.Name] = true
			}
		}
	}
	return set
}
