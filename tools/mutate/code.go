package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// code is a package under mutation.
type code struct {
	root, pkg string
	dir       string // absolute
	path      string // by which others import it
	name      string
	set       *token.FileSet
	files     []*file
	importer  types.Importer
	info      types.Info
	parents   map[ast.Node]ast.Node
}

// parse reads the files of a package.
func parse(root, pkg string) (*code, error) {
	dir, err := filepath.Abs(filepath.Join(root, pkg))
	if err != nil {
		return nil, err
	}
	found, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	p := &code{root: root, pkg: pkg, dir: dir, name: found.Name, set: token.NewFileSet()}
	for _, name := range found.GoFiles {
		text, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // a file of the module
		if err != nil {
			return nil, err
		}
		f := &file{set: p.set, path: filepath.Join(dir, name), text: string(text), lines: strings.Split(string(text), "\n")}
		if f.tree, err = parser.ParseFile(p.set, f.path, text, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
	}
	return p, nil
}

// mutations finds the changes of the package, or of one of its files.
func (p *code) mutations(only string) []*mutation {
	var all []*mutation
	for _, f := range p.files {
		if only == "" || filepath.Base(f.path) == filepath.Base(only) {
			all = append(all, f.mutations()...)
		}
	}
	return all
}

// check finds the types of the package's expressions.
func (p *code) check() error {
	out, err := goCommand(p.root, "list", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Export}}", p.pkg)
	if err != nil {
		return err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path], p.path = export, path // the package itself is last
	}
	p.importer = importer.ForCompiler(p.set, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	p.info = types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}
	p.parents = map[ast.Node]ast.Node{}
	trees := make([]*ast.File, len(p.files))
	for i, f := range p.files {
		trees[i] = f.tree
		p.parent(f.tree)
	}
	return errors.Join(p.errors(p.set, trees, &p.info)...)
}

// errors returns the compiler's errors about files of the package.
func (p *code) errors(set *token.FileSet, trees []*ast.File, info *types.Info) []error {
	var all []error
	conf := types.Config{Importer: p.importer, Error: func(err error) { all = append(all, err) }}
	if _, err := conf.Check(p.path, set, trees, info); err != nil && len(all) == 0 {
		all = append(all, err)
	}
	return all
}

// typeOf returns the type of an expression in the code. The checker has none for a part of a
// constant expression: it has the type of the whole.
func (p *code) typeOf(e ast.Expr) types.Type {
	for {
		t := p.info.TypeOf(e)
		basic, ok := t.(*types.Basic)
		if !ok || basic.Info()&types.IsUntyped == 0 {
			return t
		}
		switch outer := p.parents[e].(type) {
		case *ast.ParenExpr:
			e = outer
		case *ast.UnaryExpr:
			e = outer
		case *ast.BinaryExpr:
			if comparison(outer.Op) || shift(outer.Op) && e == outer.Y {
				return t
			}
			e = outer
		default:
			return t
		}
	}
}

func comparison(op token.Token) bool {
	return slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}, op)
}

func shift(op token.Token) bool { return op == token.SHL || op == token.SHR }

// parent records the parent of each node.
func (p *code) parent(tree *ast.File) {
	var stack []ast.Node
	ast.Inspect(tree, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			p.parents[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	})
}

// compiles reports whether the package compiles with one change.
func (p *code) compiles(m *mutation) bool {
	trees := make([]*ast.File, len(p.files))
	for i, f := range p.files {
		if trees[i] = f.tree; f.path != m.path {
			continue
		}
		tree, err := parser.ParseFile(p.set, f.path, m.apply(f.text), parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		trees[i] = tree
	}
	return len(p.errors(p.set, trees, nil)) == 0
}

// fileOf returns the file of a change.
func (p *code) fileOf(m *mutation) *file {
	for _, f := range p.files {
		if f.path == m.path {
			return f
		}
	}
	return nil
}

// classify numbers the changes and decides how to try each.
func (p *code) classify(all []*mutation) error {
	constants, err := p.constants()
	if err != nil {
		return err
	}
	final := map[ast.Node]bool{}
	for _, f := range p.files {
		finals(f.tree, final)
	}
	for i, m := range all {
		m.number = i + 1
		switch {
		case m.form == dropped && final[m.node]:
			m.state = rejected // the function would lack a return
		case m.form == scaled || m.form == swapped && !logical(m.node):
			if !p.compiles(m) { // overflows, divisions by zero, cases that are equal
				m.state = rejected
			} else if m.value = m.of(constants); m.constant && m.value == nil {
				m.state = single
			}
		case m.constant:
			m.state = single
		}
	}
	return nil
}

// logical reports whether an expression compares values or joins conditions.
func logical(n ast.Node) bool {
	switch n.(*ast.BinaryExpr).Op {
	case token.ADD, token.SUB, token.MUL, token.QUO:
		return false
	}
	return true
}

// goCommand runs go in a folder.
func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...) //nolint:gosec,noctx // the tool's own arguments; it ends without help
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s%s", args[0], err, problems.Bytes(), out)
	}
	return out, nil
}
