package claviger_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Bounds of what a reader has to hold in mind at once.
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

// owners reads one database's migrations: which package each table belongs to. A
// comment line of one word names the package of the tables below it; what stands
// before the first such line is sqldb's own.
func owners(t *testing.T, database string) map[string]string {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), "internal/sqldb/migrations/"+database+"/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("migrations of %s: %d files, %v", database, len(files), err)
	}
	packageLine := regexp.MustCompile(`^-- ([a-z]+)$`)
	tableLine := regexp.MustCompile(`(?i)^\s*CREATE TABLE (?:IF NOT EXISTS )?([a-z_]+)`)
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
			}
		}
	}
	return owner
}

// TestTablesBelongToOnePackage: only the package that owns a table writes its name in
// SQL; another asks it by a function that takes the transaction.
func TestTablesBelongToOnePackage(t *testing.T) {
	owner := owners(t, "sqlite")
	known := owners(t, "postgres")
	known["sequences"] = "sqldb" // PostgreSQL has sequences of its own
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

// statement tells SQL from other text; tableUse finds a table where SQL can name
// one: behind a keyword, or before the column that it qualifies.
var (
	statement = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE|FROM|JOIN|WHERE|SET|VALUES|RETURNING|CREATE|ALTER|DROP)\s`)
	tableUse  = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING|REFERENCES)\s+([a-z_]+)\b|\b([a-z_]+)\.[a-z_]+\b`)
)

// tablesIn lists what may be table names in the string literals of a file that
// look like SQL.
func tablesIn(file *ast.File) []string {
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
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

// TestNoPlaceOfOneMachine keeps absolute paths of somebody's machine, links that
// leave the repository, and reminders without an issue out of every file.
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
		case entry.IsDir() && (name == ".git" || name == "bin" || name == "bench/data"):
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
