package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// mutation is one change of a file: the bytes from from to to become text.
type mutation struct {
	path     string
	line     int
	from, to int
	text     string
	what     string
}

func (m mutation) String() string {
	return fmt.Sprintf("%s:%d: %s", filepath.Base(m.path), m.line, m.what)
}

func (m mutation) apply() ([]byte, error) {
	text, err := os.ReadFile(m.path)
	if err != nil {
		return nil, err
	}
	return []byte(string(text[:m.from]) + m.text + string(text[m.to:])), nil
}

// exempt marks a line whose changes change no behaviour.
const exempt = "// mutate: equivalent because "

// file is a file that is searched for changes.
type file struct {
	set   *token.FileSet
	path  string
	text  string
	lines []string
	found []mutation
}

func mutationsOf(path string) ([]mutation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &file{set: token.NewFileSet(), path: path, text: string(text), lines: strings.Split(string(text), "\n")}
	tree, err := parser.ParseFile(f.set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(tree, f.visit)
	return f.found, nil
}

// add notes a change, unless its line is exempt.
func (f *file) add(from, to token.Pos, text, what string) {
	at := f.set.Position(from)
	if strings.Contains(f.lines[at.Line-1], exempt) {
		return
	}
	f.found = append(f.found, mutation{f.path, at.Line, at.Offset, f.set.Position(to).Offset, text, what})
}

func (f *file) source(n ast.Node) string {
	return f.text[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset]
}

// swaps are operators that are taken for one another.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.ADD: token.SUB, token.SUB: token.ADD,
	token.MUL: token.QUO, token.QUO: token.MUL, token.LAND: token.LOR, token.LOR: token.LAND,
}

func (f *file) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Field: // tags and types
		return false
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.BinaryExpr:
		if other, ok := swaps[n.Op]; ok && !isText(n) {
			f.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String(), fmt.Sprintf("%s becomes %s in %s", n.Op, other, short(f.source(n))))
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(n.OpPos, n.OpPos+1, "", "without ! in "+short(f.source(n)))
		}
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.add(n.Pos(), n.End(), other, n.Name+" becomes "+other)
		}
	case *ast.BasicLit:
		switch {
		case n.Value == "0":
			f.add(n.Pos(), n.End(), "1", "0 becomes 1")
		case n.Kind == token.INT || n.Kind == token.FLOAT:
			f.add(n.Pos(), n.End(), "("+n.Value+"*2)", n.Value+" is doubled")
		}
	case *ast.BlockStmt:
		f.drop(n.List)
	case *ast.CaseClause:
		f.drop(n.Body)
	case *ast.CommClause:
		f.drop(n.Body)
	}
	return true
}

// isText reports whether an expression joins strings, one of which is a literal.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (isText(e.X) || isText(e.Y))
	}
	return false
}

func (f *file) negate(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return // that is what swapping its operator does
	}
	if u, ok := cond.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		return
	}
	f.add(cond.Pos(), cond.End(), "!("+f.source(cond)+")", "negated: "+short(f.source(cond)))
}

// drop leaves statements out. They stay where the compiler sees them, so that what they
// use counts as used.
func (f *file) drop(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.ReturnStmt, *ast.BranchStmt:
		default:
			continue
		}
		f.add(s.Pos(), s.End(), "if false { "+f.source(s)+" }", "without "+short(f.source(s)))
	}
}

// short is the first line of a text.
func short(s string) string {
	first, _, more := strings.Cut(s, "\n")
	if more {
		return first + " …"
	}
	return first
}
