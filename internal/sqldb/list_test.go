package sqldb_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

func table(t *testing.T, db *sqldb.DB, sql string) {
	t.Helper()
	write(t, db, func(tx *sqldb.Tx) error {
		tx.Queue(sql)
		return nil
	})
}

// TestLists: rows of every kind of value go in at once, and lists of any length
// choose among them, beside other arguments and more than once in a statement.
func TestLists(t *testing.T) {
	db := sqldbtest.Open(t)
	text := `a "quoted" \ ' {,} text`
	var rows [][]any
	for i := range int64(1000) {
		rows = append(rows, []any{time.Unix(0, i+1), text, i%2 == 0, 7, i + 1})
	}
	columns := []string{"at", "text", "even", "n", "id"}
	table(t, db, `CREATE TABLE lists (id BIGINT, at BIGINT, text TEXT, even BOOLEAN, n BIGINT)`)
	write(t, db, func(tx *sqldb.Tx) error {
		tx.Insert("lists", columns, rows)
		tx.Insert("lists", columns, nil)
		return nil
	})
	for name, c := range map[string]struct{ list, want []int64 }{
		"none":    {nil, []int64{}},
		"empty":   {[]int64{}, []int64{}},
		"one":     {[]int64{500}, []int64{500}},
		"some":    {[]int64{1000, 3, 3, -1, 1001, 2}, []int64{2, 3, 1000}},
		"largest": {[]int64{1<<63 - 1, -1 << 63, 1}, []int64{1}},
	} {
		got, err := sqldb.All(t.Context(), db, sqldb.Value[int64],
			`SELECT id FROM lists WHERE n = $3 AND id = ANY($1) AND at = ANY($1) AND text = $2 ORDER BY id`, c.list, text, 7)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
	even, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM lists WHERE even = $1`, true)
	if even != 500 || err != nil {
		t.Errorf("%d are even, %v", even, err)
	}
}

// A row that is refused fails the transaction, as with any statement that is queued.
func TestInsertFails(t *testing.T) {
	db := sqldbtest.Open(t)
	table(t, db, `CREATE TABLE singles (id BIGINT PRIMARY KEY)`)
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Insert("singles", []string{"id"}, [][]any{{int64(1)}, {int64(2)}, {int64(1)}})
		return nil
	})
	if !sqldb.IsDuplicate(err) || !strings.Contains(err.Error(), "INSERT INTO singles") {
		t.Errorf("got %v", err)
	}
}
