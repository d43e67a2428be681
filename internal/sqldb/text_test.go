package sqldb_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestPlaceholders: $n is the nth argument in place of a value, and plain text in a literal, a
// quoted name or a comment.
func TestPlaceholders(t *testing.T) {
	db := sqldbtest.Open(t)
	table(t, db, `CREATE TABLE prices (id BIGINT, us$1 TEXT, "a $2 b" TEXT)`)
	table(t, db, `INSERT INTO prices (id, us$1, "a $2 b") VALUES (1, '$1', '= ANY($1)'), (2, '$', 'it''s $2')`)
	for name, c := range map[string]struct {
		sql  string
		args []any
		want []string
	}{
		"a literal":                     {`SELECT '$1'`, nil, []string{"$1"}},
		"a literal that is one sign":    {`SELECT us$1 FROM prices WHERE us$1 = '$'`, nil, []string{"$"}},
		"a literal beside an argument":  {`SELECT '$2 and $1: ' || CAST($1 AS TEXT)`, []any{"x"}, []string{"$2 and $1: x"}},
		"a quote in a literal":          {`SELECT 'it''s $1, ' || CAST($1 AS TEXT) || ''''`, []any{"x"}, []string{"it's $1, x'"}},
		"a list in a literal":           {`SELECT "a $2 b" FROM prices WHERE "a $2 b" = '= ANY($1)' AND id = ANY($1)`, []any{[]int64{1, 2}}, []string{"= ANY($1)"}},
		"a quoted name":                 {`SELECT "a $2 b" FROM prices WHERE id = $1`, []any{2}, []string{"it's $2"}},
		"a name with the sign in it":    {`SELECT us$1 FROM prices WHERE id = $1`, []any{1}, []string{"$1"}},
		"a comment to the line's end":   {"SELECT us$1 -- it's $2 \"\n FROM prices WHERE id = $1", []any{1}, []string{"$1"}},
		"a comment within a line":       {`SELECT us$1 /* it's $2 " */ FROM prices WHERE id = $1`, []any{1}, []string{"$1"}},
		"arguments out of order, twice": {`SELECT us$1 FROM prices WHERE us$1 = $2 AND id = $1 AND us$1 = $2`, []any{1, "$1"}, []string{"$1"}},
		"ten arguments": {
			`SELECT us$1 FROM prices WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			[]any{0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
			[]string{"$"},
		},
	} {
		got, err := sqldb.All(t.Context(), db, sqldb.Value[string], c.sql, c.args...)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

// FuzzPlaceholders: any text in a literal, a quoted name or a comment stays unchanged, and the
// argument beside it is found.
func FuzzPlaceholders(f *testing.F) {
	for _, s := range []string{"", "$1", "$", "'", `"`, "--", "/*", "*/", "= ANY($1)", "`", "[", "]", "a$1", "é$2", "?1", `\`, "$$"} {
		f.Add(s)
	}
	db := sqldbtest.Open(f)
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\r\n") || len(s) > 10_000 {
			t.Skip("no text that a statement can hold on one line")
		}
		literal := "'" + strings.ReplaceAll(s, "'", "''") + "'"
		named := `"n` + strings.ReplaceAll(s, `"`, `""`) + `"`
		sql := "SELECT -- " + s + "\n" + literal + " || CAST($1 AS TEXT) || " + literal + " AS " + named + " -- " + s
		got, err := sqldb.One(t.Context(), db, sqldb.Value[string], sql, "$1")
		if want := s + "$1" + s; got != want || err != nil {
			t.Errorf("%s\nanswers %q, want %q, %v", sql, got, want, err)
		}
	})
}
