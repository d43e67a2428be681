package sqldb_test

import (
	"fmt"
	"slices"
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

// TestLists: rows with every kind of value are inserted together. Lists of any length select among
// them, beside other arguments and more than once in a statement.
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
		tx.Copy("lists", columns, rows[:20]) // few rows take another path than many
		tx.Copy("lists", columns, rows[20:500])
		tx.Insert("lists", columns, rows[500:])
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
	texts, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM lists WHERE text = ANY($1)`, []string{"another", text})
	if texts != 1000 || err != nil {
		t.Errorf("%d have one of two texts, %v", texts, err)
	}
	even, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM lists WHERE even = $1`, true)
	if even != 500 || err != nil {
		t.Errorf("%d are even, %v", even, err)
	}
}

// A rejected row fails the transaction, like any queued statement, with few rows or many.
func TestInsertFails(t *testing.T) {
	db := sqldbtest.Open(t)
	table(t, db, `CREATE TABLE singles (id BIGINT PRIMARY KEY)`)
	for _, n := range []int64{3, 300} {
		var rows [][]any
		for i := range n {
			rows = append(rows, []any{i % (n - 1)})
		}
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			tx.Copy("singles", []string{"id"}, rows)
			tx.Queue(`INSERT INTO singles (id) VALUES (1000)`)
			return nil
		})
		if !sqldb.IsDuplicate(err) || !strings.Contains(err.Error(), "singles") {
			t.Errorf("%d rows: got %v", n, err)
		}
	}
	left, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM singles`)
	if left != 0 || err != nil {
		t.Errorf("%d rows are there, %v", left, err)
	}
}

// Existing rows are skipped; the result has only the new ones.
func TestInsertNew(t *testing.T) {
	db := sqldbtest.Open(t)
	table(t, db, `CREATE TABLE news (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE)`)
	insert := func(rows ...[]any) []string {
		var names []string
		write(t, db, func(tx *sqldb.Tx) (err error) {
			names, err = sqldb.InsertNew(tx, sqldb.Value[string], "news", []string{"id", "name"}, rows, "name").All(t.Context())
			return err
		})
		return names
	}
	for _, c := range []struct {
		rows [][]any
		want []string
	}{
		{nil, []string{}},
		{[][]any{{1, "a"}, {2, "b"}}, []string{"a", "b"}},
		{[][]any{{3, "b"}, {1, "c"}, {4, "d"}, {5, "d"}}, []string{"d"}},
		{[][]any{{4, "d"}}, []string{}},
	} {
		if diff := cmp.Diff(c.want, insert(c.rows...)); diff != "" {
			t.Errorf("%v (-want +got)\n%s", c.rows, diff)
		}
	}
}

func TestUpdateRows(t *testing.T) {
	db := sqldbtest.Open(t)
	table(t, db, `CREATE TABLE prices (id BIGINT PRIMARY KEY, name TEXT NOT NULL, price BIGINT NOT NULL, was BIGINT NOT NULL)`)
	write(t, db, func(tx *sqldb.Tx) error {
		tx.Insert("prices", []string{"id", "name", "price", "was"}, [][]any{{1, "a", 10, 0}, {2, "b", 20, 0}, {3, "c", 30, 0}})
		return nil
	})
	line := func(r *sqldb.Row, v *string) error {
		var id, price, was int64
		var name string
		err := r.Scan(&id, &name, &price, &was)
		*v = fmt.Sprintf("%d %s %d %d", id, name, price, was)
		return err
	}
	for _, c := range []struct {
		rows     [][]any
		returned []string
		want     []string
	}{
		{[][]any{{2, "B", 25}}, []string{"2 B 25 20"}, []string{"1 a 10 0", "2 B 25 20", "3 c 30 0"}},
		{[][]any{{3, "C", 35}, {9, "none", 0}, {1, "A", 15}}, []string{"1 A 15 10", "3 C 35 30"}, []string{"1 A 15 10", "2 B 25 20", "3 C 35 30"}},
	} {
		var got []string
		write(t, db, func(tx *sqldb.Tx) (err error) {
			got, err = sqldb.UpdateRows(tx, line, "prices", []string{"id", "name", "price"}, c.rows, "was = prices.price", "prices.name, prices.price, was").All(t.Context())
			return err
		})
		slices.Sort(got)
		if diff := cmp.Diff(c.returned, got); diff != "" {
			t.Errorf("%v returns (-want +got)\n%s", c.rows, diff)
		}
		stored, err := sqldb.All(t.Context(), db, line, `SELECT id, name, price, was FROM prices ORDER BY id`)
		if diff := cmp.Diff(c.want, stored); err != nil || diff != "" {
			t.Errorf("%v, %v (-want +got)\n%s", c.rows, err, diff)
		}
	}
}

// Rows are inserted in queue order, few or many: after earlier statements and before later queries.
func TestInsertKeepsItsPlace(t *testing.T) {
	db := sqldbtest.Open(t)
	table(t, db, `CREATE TABLE places (id BIGINT)`)
	for _, n := range []int64{2, 200} {
		var rows [][]any
		for i := range n {
			rows = append(rows, []any{i})
		}
		write(t, db, func(tx *sqldb.Tx) error {
			tx.Queue(`DELETE FROM places`)
			tx.Copy("places", []string{"id"}, rows)
			there := sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT count(*) FROM places`)
			tx.Insert("places", []string{"id"}, rows)
			got, err := there.One(t.Context())
			if got != n {
				t.Errorf("%d rows of %d", got, n)
			}
			return err
		})
		twice, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM places`)
		if twice != 2*n || err != nil {
			t.Errorf("%d rows of %d, %v", twice, 2*n, err)
		}
	}
}
