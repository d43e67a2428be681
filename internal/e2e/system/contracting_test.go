package system_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"claviger/internal/release"
)

// migrationsPath is the folder of the migrations. Both databases have the same statements here.
const migrationsPath = "internal/sqldb/migrations/sqlite"

// TestContractingMigrations checks the version in each contracting migration: from that version on, no
// statement of the program uses the old form. The previous release is checked by its own source.
func TestContractingMigrations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, migrationsPath, "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	source := previousSource(t)
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // ours
		if err != nil {
			t.Fatal(err)
		}
		since, forms := oldForms(string(text))
		if since == "" {
			continue
		}
		from := root
		if !release.Before(previousVersion(t, source), since) {
			from = source
		}
		for _, form := range forms {
			for _, at := range usesOf(t, from, form) {
				t.Errorf("%s: %s is unused since %s, but %s uses it", filepath.Base(file), form, since, at)
			}
		}
	}
}

// TestOldForms: the check finds the uses of a column and of a table.
func TestOldForms(t *testing.T) {
	since, forms := oldForms("-- kind: contracting, old form unused since 1.2.0\n\n-- All.\n" +
		"ALTER TABLE licenses DROP COLUMN tier;\nDROP TABLE users;\nALTER TABLE licenses RENAME COLUMN tier TO plan;\n")
	want := []oldForm{{"licenses", "tier"}, {"users", ""}, {"licenses", "tier"}}
	if since != "1.2.0" || !slices.Equal(forms, want) {
		t.Errorf("since %q, %v; want %v", since, forms, want)
	}
	if since, _ := oldForms("-- kind: expanding\n\nCREATE TABLE a (b TEXT);\n"); since != "" {
		t.Errorf("an expanding migration is contracting since %s", since)
	}
	for _, form := range want {
		if len(usesOf(t, root, form)) == 0 {
			t.Errorf("no statement uses %s", form)
		}
	}
	if at := usesOf(t, root, oldForm{"licenses", "no_such_column"}); len(at) > 0 {
		t.Errorf("a column that does not exist is used at %v", at)
	}
}

// previousSource returns a folder with the source of the previous release.
func previousSource(t *testing.T) string {
	t.Helper()
	commit, err := previousCommit()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "source")
	if err := unpack(commit, to); err != nil {
		t.Fatal(err)
	}
	return to
}

func previousVersion(t *testing.T, source string) string {
	t.Helper()
	version, err := os.ReadFile(filepath.Join(source, "internal/release/version")) //nolint:gosec // ours
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(version))
}

// oldForm is a table, or a column of one, that a migration removes, renames or tightens.
type oldForm struct{ table, column string }

func (f oldForm) String() string {
	if f.column == "" {
		return "the table " + f.table
	}
	return "the column " + f.table + "." + f.column
}

var (
	contractingLine = regexp.MustCompile(`(?m)^-- kind: contracting, old form unused since (\S+)$`)
	removed         = regexp.MustCompile(`DROP TABLE (\w+)|ALTER TABLE (\w+) (?:DROP|RENAME|ALTER) COLUMN (\w+)|` +
		`ALTER TABLE (\w+) RENAME TO`)
)

// oldForms returns the version and the old forms of a contracting migration, "" of another one.
func oldForms(text string) (since string, forms []oldForm) {
	line := contractingLine.FindStringSubmatch(text)
	if line == nil {
		return "", nil
	}
	for _, m := range removed.FindAllStringSubmatch(text, -1) {
		forms = append(forms, oldForm{m[1] + m[2] + m[4], m[3]})
	}
	return line[1], forms
}

// usesOf returns the places in the source of the program whose statements name a form. A column may be
// named by another text of the file than the table, such as a list of columns.
func usesOf(t *testing.T, source string, form oldForm) (places []string) {
	t.Helper()
	table := regexp.MustCompile(`\b(FROM|INTO|JOIN|UPDATE) ` + form.table + `\b`)
	column := regexp.MustCompile(`\b` + form.column + `\b`)
	err := filepath.WalkDir(filepath.Join(source, "internal"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		texts, err := textsOf(path)
		var found []string
		uses := false
		for at, text := range texts {
			uses = uses || table.MatchString(text)
			if column.MatchString(text) && (form.column != "" || table.MatchString(text)) {
				found = append(found, at)
			}
		}
		if uses {
			places = append(places, found...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return places
}

// textsOf returns the texts of a file of Go, by their place.
func textsOf(path string) (map[string]string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			if err == nil {
				texts[set.Position(literal.Pos()).String()] = text
			}
		}
		return true
	})
	return texts, nil
}
