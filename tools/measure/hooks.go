package main

import (
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// findHooks lists the exported function fields of the packages in internal that internal/app sets:
// connections between packages that no import shows. In a literal it goes by the type, in an
// assignment by the name of the field alone. hooks_test.go of the module compares them with a list.
func findHooks(files []*source) []string {
	set := map[string]bool{}
	named := map[string]bool{} // function types, as package.Type
	for _, s := range files {
		if !s.counts() {
			continue
		}
		if strings.HasPrefix(s.name, "internal/app/") {
			for _, decl := range s.file.Decls {
				addFieldsSet(decl, set)
			}
		}
		types(s, func(pkg string, spec *ast.TypeSpec) {
			_, named[pkg+"."+spec.Name.Name] = spec.Type.(*ast.FuncType)
		})
	}
	var list []string
	for _, s := range files {
		if !strings.HasPrefix(s.name, "internal/") || strings.HasPrefix(s.name, "internal/app/") || !s.counts() {
			continue
		}
		types(s, func(pkg string, spec *ast.TypeSpec) {
			for _, field := range functionFields(pkg, spec, named) {
				if name := pkg + "." + spec.Name.Name + "." + field; set[name] || set[field] {
					list = append(list, name)
				}
			}
		})
	}
	slices.Sort(list)
	return list
}

// types calls do with each type of a file.
func types(s *source, do func(pkg string, spec *ast.TypeSpec)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			do(filepath.Base(filepath.Dir(s.name)), spec)
		}
		return true
	})
}

// addFieldsSet adds the fields that a declaration sets: in a literal as package.Type.Field, by an
// assignment as Field. A literal is no function, and a
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

// functionFields lists the exported fields of a structure whose type is a function, or a function
// type of the same package; the import shows one of another package. A clock is not among them:
// every package has one.
func functionFields(pkg string, spec *ast.TypeSpec, named map[string]bool) (names []string) {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, field := range structure.Fields.List {
		own, _ := field.Type.(*ast.Ident)
		if _, ok := field.Type.(*ast.FuncType); !ok && (own == nil || !named[pkg+"."+own.Name]) {
			continue
		}
		for _, name := range field.Names {
			if name.IsExported() && !strings.HasSuffix(name.Name, "Now") {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
