package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// Environment variables that switch.go.txt reads.
const (
	switchVariable = "CLAVIGER_MUTANT"       // number of the active change
	recordVariable = "CLAVIGER_MUTANT_REACH" // the file to which the numbers of reached changes are added
)

// switchSource is added to the package: functions that switch between the original code and a
// change.
//
//go:embed switch.go.txt
var switchSource string

// schema is the code of a package with all changes, each switched by its number.
type schema struct {
	code      *code
	all       []*mutation // by number, from 1
	changes   map[*file][]*mutation
	constants map[*file]string  // changed ones
	aliases   map[string]string // names for types of other packages, by package path and type
	imports   []string
}

// write returns the files with all changes that can be combined, by path. The others are marked,
// including those with a compile error.
func (p *code) write(all []*mutation) (map[string]string, error) {
	for {
		s := &schema{code: p, all: all, changes: map[*file][]*mutation{}, constants: map[*file]string{}, aliases: map[string]string{}}
		for _, m := range all {
			if m.state == together {
				s.add(m)
			}
		}
		again, texts, err := s.write()
		if err != nil || !again {
			return texts, err
		}
	}
}

// add adds a change at its place, or where the changed constant is used.
func (s *schema) add(m *mutation) {
	if m.value == nil {
		f := s.code.fileOf(m)
		s.changes[f] = append(s.changes[f], m)
		return
	}
	for _, u := range m.value.uses {
		s.changes[u.file] = append(s.changes[u.file], &mutation{form: used, node: u.ident, number: m.number})
	}
	s.constants[m.value.file] += m.value.declaration(m)
}

// write renders the files and compiles them. It reports that it must run again if it had to leave
// out a change.
func (s *schema) write() (again bool, texts map[string]string, err error) {
	texts = map[string]string{}
	places := map[string][]place{}
	for _, f := range s.code.files {
		r := &rendering{schema: s, file: f, changes: s.changes[f]}
		r.sort()
		texts[f.path], places[f.path] = locate(r.render(0, len(f.text), nil) + s.constants[f])
		again = again || r.leftOut
	}
	if again {
		return true, nil, nil
	}
	texts[filepath.Join(s.code.dir, "mutant_switch.go")] = s.switches()
	set := token.NewFileSet()
	var trees []*ast.File
	for path, text := range texts {
		tree, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return false, nil, fmt.Errorf("the code with all changes: %w", err)
		}
		trees = append(trees, tree)
	}
	for _, problem := range s.code.errors(set, trees, nil) {
		e, ok := problem.(types.Error) //nolint:errorlint // the checker reports no other
		if !ok {
			return false, nil, problem
		}
		at := set.Position(e.Pos)
		number := innermost(places[at.Filename], at.Offset)
		if number == 0 { // the error may be in the user of a change
			number = next(places[at.Filename], at.Offset)
		}
		if number == 0 {
			return false, nil, fmt.Errorf("the code with all changes: %w", problem)
		}
		s.all[number-1].state = single
		again = true
	}
	return again, texts, nil
}

// switches returns the file that is added to the package.
func (s *schema) switches() string {
	text := "package " + s.code.name + strings.TrimPrefix(switchSource, "package mutant")
	var imports strings.Builder
	for i, path := range s.imports {
		fmt.Fprintf(&imports, "import mutantImport%d %q\n", i, path)
	}
	names := make([]string, 0, len(s.aliases))
	for typ, alias := range s.aliases {
		names = append(names, fmt.Sprintf("type %s = %s\n", alias, typ))
	}
	slices.Sort(names)
	text = strings.Replace(text, "// imports\n", imports.String(), 1)
	return fmt.Sprintf("%s\nconst mutantCount = %d\n\n%s", text, len(s.all), strings.Join(names, ""))
}

// typeName returns the package's notation of a type, or "".
func (s *schema) typeName(t types.Type) string {
	switch t := types.Default(t).(type) {
	case *types.Basic:
		return t.Name()
	case *types.TypeParam:
		return t.Obj().Name()
	case *types.Alias:
		return s.typeName(types.Unalias(t))
	case *types.Named:
		at := t.Obj().Pkg()
		switch {
		case t.TypeArgs().Len() > 0 || at == nil:
			return ""
		case at.Path() == s.code.path:
			return t.Obj().Name()
		case !t.Obj().Exported():
			return ""
		}
		return s.alias(at.Path(), t.Obj().Name())
	}
	return ""
}

// alias gives a type of another package a name that no variable hides.
func (s *schema) alias(path, name string) string {
	i := slices.Index(s.imports, path)
	if i < 0 {
		i = len(s.imports)
		s.imports = append(s.imports, path)
	}
	typ := fmt.Sprintf("mutantImport%d.%s", i, name)
	if s.aliases[typ] == "" {
		s.aliases[typ] = fmt.Sprintf("mutantType%d", len(s.aliases))
	}
	return s.aliases[typ]
}

// rendering writes one file.
type rendering struct {
	*schema
	file    *file
	changes []*mutation // outer ones come first
	leftOut bool
}

// sort puts a change before those inside it. If a node has several, the last one writes its
// operands.
func (r *rendering) sort() {
	slices.SortFunc(r.changes, func(a, b *mutation) int {
		fromA, toA := r.file.span(a.node)
		fromB, toB := r.file.span(b.node)
		return cmp.Or(cmp.Compare(fromA, fromB), cmp.Compare(toB, toA), cmp.Compare(a.form, b.form))
	})
}

// render returns the text between two places with its changes, except those of outer nodes, which
// are done.
func (r *rendering) render(from, to int, done []*mutation) string {
	var b strings.Builder
	at := from
	for _, m := range r.changes {
		start, end := r.file.span(m.node)
		if start < at || end > to || slices.Contains(done, m) {
			continue
		}
		b.WriteString(r.file.text[at:start])
		b.WriteString(r.wrap(m, start, end, append(done[:len(done):len(done)], m)))
		at = end
	}
	b.WriteString(r.file.text[at:to])
	return b.String()
}

// wrap writes a change around its node, with all changes inside it.
func (r *rendering) wrap(m *mutation, from, to int, done []*mutation) string {
	inside := func() string { return r.render(from, to, done) }
	on := fmt.Sprintf("mutantOn(%d)", m.number)
	var text string
	switch m.form {
	case dropped:
		text = "if !" + on + " { " + inside() + " }"
	case negated, flipped:
		text = "(" + on + " != (" + inside() + "))"
	case unnegated:
		x := m.node.(*ast.UnaryExpr).X
		text = "(" + on + " == (" + r.operand(x, done) + "))"
	case scaled:
		if t := r.typeName(r.code.typeOf(m.node.(ast.Expr))); t != "" {
			text = fmt.Sprintf("mutantPick[%s](%d, %s, %s)", t, m.number, m.text, inside())
		}
	case used:
		if t := r.typeName(r.code.typeOf(m.node.(ast.Expr))); t != "" {
			text = fmt.Sprintf("mutantPick[%s](%d, mutantConstant%d, %s)", t, m.number, m.number, inside())
		}
	case swapped:
		text = r.swap(m, on, done)
	}
	if text == "" { // its type has no name here
		r.all[m.number-1].state = single
		r.leftOut = true
		return inside()
	}
	return mark(m.number, text)
}

func (r *rendering) operand(x ast.Expr, done []*mutation) string {
	from, to := r.file.span(x)
	return r.render(from, to, done)
}

// swap writes a change of an operator. Each operand is written once, and evaluated as often as the
// operator evaluates it.
func (r *rendering) swap(m *mutation, on string, done []*mutation) string {
	e := m.node.(*ast.BinaryExpr)
	x, y := r.operand(e.X, done), r.operand(e.Y, done)
	switch e.Op {
	case token.EQL, token.NEQ:
		return fmt.Sprintf("(%s != ((%s) %s (%s)))", on, x, e.Op, y)
	case token.LAND, token.LOR: // x || y is !(!x && !y)
		return fmt.Sprintf("(%s != ((%s != (%s)) %s (%s != (%s))))", on, on, x, e.Op, on, y)
	}
	name := map[token.Token]string{
		token.LSS: "Less", token.LEQ: "AtMost", token.GTR: "Greater", token.GEQ: "AtLeast",
		token.ADD: "Add", token.SUB: "Subtract", token.MUL: "Multiply", token.QUO: "Divide",
	}[e.Op]
	of := e.X
	if !logical(e) {
		of = e
	}
	t := r.typeName(r.code.typeOf(of))
	if t == "" {
		return ""
	}
	return fmt.Sprintf("mutant%s[%s](%d, %s, %s)", name, t, m.number, x, y)
}
