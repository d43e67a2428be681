package claviger_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Limits for the sake of readers.
const (
	maxFileLines     = 400
	maxFunctionLines = 60
)

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if ast.IsGenerated(s.file) {
			continue
		}
		if n := s.set.Position(s.file.FileEnd).Line - 1; n > maxFileLines {
			t.Errorf("%s has %d lines; a file has at most %d", s.path, n, maxFileLines)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(s.path, "_test.go") {
				continue
			}
			from, to := s.set.Position(f.Pos()), s.set.Position(f.End())
			if n := to.Line - from.Line + 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines; a function has at most %d", from, f.Name, n, maxFunctionLines)
			}
		}
	}
}

// owners reads one database's migrations and returns the package of each table. A comment line of
// one word names the package of the tables below it; tables before the first such line belong to
// sqldb.
func owners(t *testing.T, database string) map[string]string {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), "internal/sqldb/migrations/"+database+"/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("migrations of %s: %d files, %v", database, len(files), err)
	}
	packageLine := regexp.MustCompile(`^-- ([a-z]+)$`)
	tableLine := regexp.MustCompile(`(?i)^\s*CREATE TABLE (?:IF NOT EXISTS )?([a-z_]+)`)
	renamed := regexp.MustCompile(`^ALTER TABLE ([a-z_]+) RENAME TO ([a-z_]+);`)
	dropped := regexp.MustCompile(`^DROP TABLE ([a-z_]+);`)
	owner := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pkg := "sqldb"
		for line := range strings.Lines(string(text)) {
			if m := packageLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
				pkg = m[1]
			} else if m := tableLine.FindStringSubmatch(line); m != nil {
				owner[m[1]] = pkg
			} else if m := renamed.FindStringSubmatch(line); m != nil {
				delete(owner, m[1])
				owner[m[2]] = pkg
			} else if m := dropped.FindStringSubmatch(line); m != nil {
				delete(owner, m[1])
			}
		}
	}
	return owner
}

// TestTablesBelongToOnePackage: only the package that owns a table writes its name in SQL. Others
// call its functions, which take the transaction.
func TestTablesBelongToOnePackage(t *testing.T) {
	owner := owners(t, "sqlite")
	known := owners(t, "postgres")
	known["sequences"] = "sqldb" // PostgreSQL has its own sequences
	if diff := cmp.Diff(known, owner); diff != "" {
		t.Errorf("the databases' migrations give tables to different packages (-postgres +sqlite):\n%s", diff)
	}
	packages := readPlan(t)
	for table, pkg := range owner {
		if _, ok := packages[pkg]; !ok {
			t.Errorf("table %s belongs to %q, which is no package of the plan", table, pkg)
		}
	}
	for _, s := range sources(t) {
		if s.test || s.name == "bench" {
			continue
		}
		for _, name := range tablesIn(s.file) {
			if pkg, ok := owner[name]; ok && pkg != s.name {
				t.Errorf("%s names the table %s of %s in SQL", s.path, name, pkg)
			}
		}
	}
}

// statement recognizes SQL. tableUse finds a table where SQL can name one: after a keyword, or
// before the column that it qualifies.
var (
	statement = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE|FROM|JOIN|WHERE|SET|VALUES|RETURNING|CREATE|ALTER|DROP)\s`)
	tableUse  = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING|REFERENCES)\s+([a-z_]+)\b|\b([a-z_]+)\.[a-z_]+\b`)
)

// tablesIn lists possible table names in the string literals of a file that look like SQL, and those
// of rules for a pruner.
func tablesIn(file *ast.File) []string {
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			key, isName := pair.Key.(*ast.Ident)
			lit, isText := pair.Value.(*ast.BasicLit)
			if isName && isText && key.Name == "Table" {
				names = append(names, strings.Trim(lit.Value, "\""))
			}
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || !statement.MatchString(text) {
			return true
		}
		for _, m := range tableUse.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1]+m[2])
		}
		return true
	})
	return names
}

// TestNoPlaceOfOneMachine keeps absolute paths of one machine, links that leave the repository, and
// reminders without an issue out of every file.
func TestNoPlaceOfOneMachine(t *testing.T) {
	bad := []*regexp.Regexp{
		regexp.MustCompile(`(^|[\s"'(=])/(home|root|work|Users)/`),
		regexp.MustCompile(`\.\./(\.\./)*shar[e]d/`),
		regexp.MustCompile(`\b(TOD[O]|FIXM[E]|XX[X])\b($|[^(]|\([^#])`),
	}
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == "bin" || name == "bench/data" || name == "sdk/typescript/node_modules" || name == "sdk/typescript/dist"):
			return fs.SkipDir
		case entry.IsDir() || name == ".git" || path.Base(name) == "go.sum" || strings.Contains(name, ".db"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil || !utf8.Valid(text) {
			return err
		}
		for number, line := range strings.Split(string(text), "\n") {
			for _, b := range bad {
				if b.MatchString(line) {
					t.Errorf("%s:%d: %s matches %s", name, number+1, strings.TrimSpace(line), b)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFaultCodesAreConstants: a fault's code is a constant of the package that raises it, and is
// compared with that constant. A bare string could be misspelt unnoticed.
func TestFaultCodesAreConstants(t *testing.T) {
	codes := make(map[string]string) // value of a code: its constant
	all := sources(t)
	for _, s := range all {
		if strings.HasSuffix(s.path, "/code.go") {
			constants(s.file, func(name, value string) { codes[value] = s.name + "." + name })
		}
	}
	if len(codes) < 50 {
		t.Fatalf("found %d codes; is the test blind?", len(codes))
	}
	for _, s := range all {
		if s.test || strings.HasPrefix(s.path, "sdk/samples/") { // a partner's program cannot use our constants
			continue
		}
		for _, lit := range bareCodes(s.file, codes) {
			t.Errorf("%s: %s is the code of a fault; use a constant (%s)", s.set.Position(lit.Pos()), lit.Value, codes[strings.Trim(lit.Value, `"`)])
		}
	}
}

// constants calls f with each string constant of a file.
func constants(file *ast.File, f func(name, value string)) {
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			for i, expr := range v.Values {
				if lit, ok := expr.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if value, err := strconv.Unquote(lit.Value); err == nil {
						f(v.Names[i].Name, value)
					}
				}
			}
		}
	}
}

// bareCodes lists the literals of a file that are codes of faults: where one is expected, and
// wherever the value is a known code.
func bareCodes(file *ast.File, codes map[string]string) []*ast.BasicLit {
	var list []*ast.BasicLit
	note := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			list = append(list, lit)
		}
	}
	faults := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"claviger/internal/fault"` })
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST && n.Tok != token.IMPORT
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) > 1 && isName(f.X, "fault") && (f.Sel.Name == "New" || f.Sel.Name == "Is") {
				note(n.Args[1])
			}
		case *ast.BinaryExpr:
			if faults && (n.Op == token.EQL || n.Op == token.NEQ) && (isCode(n.X) || isCode(n.Y)) {
				note(n.X)
				note(n.Y)
			}
		case *ast.BasicLit:
			if value, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && codes[value] != "" {
				note(n)
			}
		}
		return true
	})
	return list
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// isCode reports whether an expression is a member Code.
func isCode(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Code"
}

// stateLiteral finds a literal state, status, kind or role in SQL.
var stateLiteral = regexp.MustCompile(`\b(?:state|status|kind|actor_kind|role|purpose)\s*(?:=|<>|!=|IN \()\s*(?:'[a-z]|[1-9])`)

// TestStatesInSQLAreConstants: a state in SQL comes from the typed constant, as a parameter or by
// sqldb.Literal, so the two cannot differ.
func TestStatesInSQLAreConstants(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.name == "bench" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if found := stateLiteral.FindString(lit.Value); found != "" {
				t.Errorf("%s: SQL has the literal %q; use the constant", s.set.Position(lit.Pos()), found)
			}
			return true
		})
	}
}

// maxPackageLines limits each package of deliveries, without tests.
const maxPackageLines = 2000

func TestPackagesOfDeliveriesAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, s := range sources(t) {
		if (s.name == "webhook" || s.name == "dispatch") && !s.test {
			lines[s.pkg] += s.set.Position(s.file.FileEnd).Line
		}
	}
	if len(lines) < 3 {
		t.Fatalf("found %v; is the test blind?", lines)
	}
	for pkg, n := range lines {
		if n > maxPackageLines {
			t.Errorf("%s has %d lines without tests; it has at most %d", pkg, n, maxPackageLines)
		}
	}
}

// maxFields limits the structs of deliveries and their dispatcher.
const maxFields = 15

func TestStructsOfDeliveriesAreSmall(t *testing.T) {
	for _, s := range sources(t) {
		if s.name != "webhook" && s.name != "dispatch" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if st, ok := n.(*ast.StructType); ok && st.Fields.NumFields() > maxFields {
				t.Errorf("%s: a struct of %d fields; it has at most %d", s.set.Position(st.Pos()), st.Fields.NumFields(), maxFields)
			}
			return true
		})
	}
}

// TestOneStatementPerLine keeps assignments of several values to several variables rare: a swap, or
// values that belong together.
func TestOneStatementPerLine(t *testing.T) {
	const mostOf100 = 3
	var all int
	var several []string
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok {
				all++
				if len(a.Lhs) > 1 && len(a.Rhs) > 1 {
					several = append(several, s.set.Position(a.Pos()).String())
				}
			}
			return true
		})
	}
	if all < 10_000 {
		t.Fatalf("found %d assignments; is the test blind?", all)
	}
	if 100*len(several) > mostOf100*all {
		t.Errorf("%d of %d assignments have several values, at most %d of 100 are allowed: %s", len(several), all, mostOf100, strings.Join(several, " "))
	}
}
