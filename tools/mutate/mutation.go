package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
)

// form is the way in which a change is written next to the original code.
type form int

const (
	dropped form = iota // a statement
	negated             // a condition
	unnegated
	swapped // an operator
	flipped // true or false
	scaled  // a number
	used    // a constant, where it is used
)

// state is the way in which a change is tried.
type state int

const (
	together state = iota // in the binary of all changes
	single                // in a separate binary
	rejected              // not at all: the compiler does not accept it
)

// mutation is one change of a file: the bytes from from to to become text.
type mutation struct {
	path     string
	line     int
	from, to int
	text     string
	what     string

	number   int
	form     form
	node     ast.Node
	constant bool      // where the language requires a constant
	value    *constant // the constant whose value is changed, if that can be switched
	state    state
}

func (m *mutation) String() string {
	return fmt.Sprintf("%s:%d: %s", filepath.Base(m.path), m.line, m.what)
}

// apply returns the text of its file with the change.
func (m *mutation) apply(text string) string { return text[:m.from] + m.text + text[m.to:] }

// exempt marks a line without meaningful changes.
const exempt = "// mutate: equivalent because "

// file is a file to search for changes.
type file struct {
	set   *token.FileSet
	path  string
	text  string
	lines []string
	tree  *ast.File
	found []*mutation

	constants int // number of enclosing nodes that require constants
}

// mutations finds the changes of a file.
func (f *file) mutations() []*mutation {
	f.found = nil
	f.walk(f.tree)
	return f.found
}

// walk searches a node and all below it.
func (f *file) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field: // tags and types
			return false
		case *ast.GenDecl:
			if n.Tok != token.CONST {
				return true
			}
			f.constants++
			for _, spec := range n.Specs {
				f.walk(spec)
			}
			f.constants--
			return false
		case *ast.ArrayType:
			if n.Len != nil {
				f.constants++
				f.walk(n.Len)
				f.constants--
			}
			f.walk(n.Elt)
			return false
		}
		f.visit(n)
		return true
	})
}

// add records a change of a node, unless its line is exempt.
func (f *file) add(form form, node ast.Node, from, to token.Pos, text, what string) {
	at := f.set.Position(from)
	if strings.Contains(f.lines[at.Line-1], exempt) {
		return
	}
	f.found = append(f.found, &mutation{
		path: f.path, line: at.Line, from: at.Offset, to: f.set.Position(to).Offset, text: text, what: what,
		form: form, node: node, constant: f.constants > 0,
	})
}

// span returns the position of a node in the text.
func (f *file) span(n ast.Node) (from, to int) {
	return f.set.Position(n.Pos()).Offset, f.set.Position(n.End()).Offset
}

func (f *file) source(n ast.Node) string {
	from, to := f.span(n)
	return f.text[from:to]
}

// swaps are operators that are easily confused.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.ADD: token.SUB, token.SUB: token.ADD,
	token.MUL: token.QUO, token.QUO: token.MUL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// visit records the changes of one node.
func (f *file) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.BinaryExpr:
		if other, ok := swaps[n.Op]; ok && !isText(n) {
			what := fmt.Sprintf("%s becomes %s in %s", n.Op, other, short(f.source(n)))
			f.add(swapped, n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String(), what)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(unnegated, n, n.OpPos, n.OpPos+1, "", "without ! in "+short(f.source(n)))
		}
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.add(flipped, n, n.Pos(), n.End(), other, n.Name+" becomes "+other)
		}
	case *ast.BasicLit:
		switch {
		case n.Value == "0":
			f.add(scaled, n, n.Pos(), n.End(), "1", "0 becomes 1")
		case n.Kind == token.INT || n.Kind == token.FLOAT:
			f.add(scaled, n, n.Pos(), n.End(), "("+n.Value+"*2)", n.Value+" is doubled")
		}
	case *ast.BlockStmt:
		f.drop(n.List)
	case *ast.CaseClause:
		f.drop(n.Body)
	case *ast.CommClause:
		f.drop(n.Body)
	}
}

// isText reports whether an expression joins strings and one is a literal.
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
		return // swapping its operator does the same
	}
	if u, ok := cond.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		return
	}
	f.add(negated, cond, cond.Pos(), cond.End(), "!("+f.source(cond)+")", "negated: "+short(f.source(cond)))
}

// drop removes statements. The compiler still sees them, so that the variables in them count as
// used.
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
		f.add(dropped, s, s.Pos(), s.End(), "if false { "+f.source(s)+" }", "without "+short(f.source(s)))
	}
}

// short returns the first line of a text.
func short(s string) string {
	first, _, more := strings.Cut(s, "\n")
	if more {
		return first + " …"
	}
	return first
}
