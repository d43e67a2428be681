package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// constant is a constant that only the package's code uses, and never where the language requires a
// constant. A change of it is switched where it is used.
type constant struct {
	file *file
	spec *ast.ValueSpec
	uses []use
}

// use is a place where a constant is used.
type use struct {
	file  *file
	ident *ast.Ident
}

// constants finds the constants with switchable changes.
func (p *code) constants() (map[types.Object]*constant, error) {
	found := map[types.Object]*constant{}
	fixed := map[*ast.Ident]bool{} // identifiers where the language requires constants
	for _, f := range p.files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ArrayType:
				identifiers(n.Len, fixed)
			case *ast.GenDecl:
				if n.Tok == token.CONST {
					identifiers(n, fixed)
				}
			}
			return true
		})
		for _, decl := range f.tree.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.CONST {
				p.declared(f, d, found)
			}
		}
	}
	for _, f := range p.files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			ident, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			object := p.info.Uses[ident]
			if c := found[object]; c != nil && fixed[ident] {
				delete(found, object)
			} else if c != nil {
				c.uses = append(c.uses, use{f, ident})
			}
			return true
		})
	}
	return found, p.usedElsewhere(found)
}

func identifiers(n ast.Node, into map[*ast.Ident]bool) {
	if n == nil {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok {
			into[ident] = true
		}
		return true
	})
}

// declared collects the constants of a declaration, unless it uses iota or repeats an expression.
func (p *code) declared(f *file, d *ast.GenDecl, into map[types.Object]*constant) {
	used := map[*ast.Ident]bool{}
	identifiers(d, used)
	for ident := range used {
		if ident.Name == "iota" {
			return
		}
	}
	for _, spec := range d.Specs {
		if s, ok := spec.(*ast.ValueSpec); ok && len(s.Names) == 1 && len(s.Values) == 1 {
			into[p.info.Defs[s.Names[0]]] = &constant{file: f, spec: s}
		}
	}
}

// usedElsewhere removes the constants that tests or other packages may use.
func (p *code) usedElsewhere(found map[types.Object]*constant) error {
	quoted := strconv.Quote(p.path)
	own := map[string]bool{}
	for _, f := range p.files {
		own[f.path] = true
	}
	root, err := filepath.Abs(p.root)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || own[path] {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // a file of the module
		if err != nil || filepath.Dir(path) != p.dir && !strings.Contains(string(text), quoted) {
			return err
		}
		for object := range found {
			if regexp.MustCompile(`\b` + object.Name() + `\b`).Match(text) {
				delete(found, object)
			}
		}
		return nil
	})
}

// of returns the constant whose value contains a change, or nil.
func (m *mutation) of(all map[types.Object]*constant) *constant {
	for _, c := range all {
		from, to := c.file.span(c.spec.Values[0])
		if c.file.path == m.path && from <= m.from && m.to <= to {
			return c
		}
	}
	return nil
}

// declaration returns the declaration of a constant with the change.
func (c *constant) declaration(m *mutation) string {
	from, to := c.file.span(c.spec.Values[0])
	typ := ""
	if c.spec.Type != nil {
		typ = c.file.source(c.spec.Type)
	}
	return fmt.Sprintf("\nconst mutantConstant%d %s = %s\n", m.number, typ, c.file.text[from:m.from]+m.text+c.file.text[m.to:to])
}
