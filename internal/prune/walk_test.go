package prune_test

import (
	"testing"
	"time"

	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// agedRows writes rows with ids from 1 into its own table; old decides which are old.
func agedRows(t *testing.T, db *sqldb.DB, rows int, old func(id int) bool) (rules []prune.Rule, before time.Time) {
	t.Helper()
	before = time.Unix(1_700_000_000, 0)
	list := make([][]any, rows)
	for i := range list {
		at := before.Add(time.Hour)
		if old(i + 1) {
			at = before.Add(-time.Hour)
		}
		list[i] = []any{int64(i + 1), at.UnixNano()}
	}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`CREATE TABLE aged (id BIGINT PRIMARY KEY, at BIGINT NOT NULL)`)
		if rows > 0 {
			tx.Copy("aged", []string{"id", "at"}, list)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return []prune.Rule{{Table: "aged", At: "at", ByID: true, Batch: 10}}, before
}

func wantAged(t *testing.T, db *sqldb.DB, old, young int64) {
	t.Helper()
	for sql, want := range map[string]int64{`SELECT count(*) FROM aged WHERE at < $1`: old, `SELECT count(*) FROM aged WHERE at >= $1`: young} {
		if n, err := sqldb.One(t.Context(), db, sqldb.Value[int64], sql, time.Unix(1_700_000_000, 0)); n != want || err != nil {
			t.Errorf("%s is %d, %v; want %d", sql, n, err, want)
		}
	}
}

// TestByID: in any order of rows, a run deletes exactly the old ones.
func TestByID(t *testing.T) {
	for name, c := range map[string]struct {
		rows int
		old  func(id int) bool
		want int64
	}{
		"empty":                      {0, func(int) bool { return false }, 0},
		"all young":                  {3000, func(int) bool { return false }, 0},
		"all old":                    {3000, func(int) bool { return true }, 3000},
		"old at the bottom":          {3000, func(id int) bool { return id <= 1234 }, 1234},
		"one young at the lowest id": {3000, func(id int) bool { return id > 1 && id <= 2000 }, 1999},
		"1000 young at the bottom":   {6000, func(id int) bool { return id > 1000 && id <= 5000 }, 4000},
		"young blocks between":       {6000, func(id int) bool { return id/300%2 == 1 }, 3000},
		"every second":               {3000, func(id int) bool { return id%2 == 0 }, 1500},
		"one in 70":                  {3500, func(id int) bool { return id%70 == 0 }, 50},
		"old in the middle":          {6000, func(id int) bool { return id > 2500 && id <= 3500 }, 1000},
		"old at the top":             {6000, func(id int) bool { return id > 5500 }, 500},
		"few rows, one old":          {80, func(id int) bool { return id == 77 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			db := sqldbtest.Open(t)
			rules, before := agedRows(t, db, c.rows, c.old)
			for _, want := range []int64{c.want, 0} {
				if n, err := prune.Rows(t.Context(), db, before, rules); n != want || err != nil {
					t.Errorf("deleted %d, %v; want %d", n, err, want)
				}
			}
			wantAged(t, db, 0, int64(c.rows)-c.want)
		})
	}
}

// TestByIDReadsLittle: a run does not search the whole table, and uses the writer only to
// delete. The places it looks at differ between runs, so it finds every row eventually.
func TestByIDReadsLittle(t *testing.T) {
	db := sqldbtest.Open(t)
	const rows, odd = 32_000, 20_950 // 1,000 ids between two places
	rules, before := agedRows(t, db, rows, func(id int) bool { return id == odd })
	was, _ := db.Counts()
	n, err := prune.Rows(t.Context(), db, before, rules)
	if is, _ := db.Counts(); n != 0 || err != nil || is != was {
		t.Fatalf("the first run deleted %d in %d transactions, %v; it searched more than its places", n, is-was, err)
	}
	for run := 1; n == 0; run++ {
		if run > 1000 {
			t.Fatal("the old row is never found")
		}
		if n, err = prune.Rows(t.Context(), db, before.Add(time.Duration(run)), rules); err != nil {
			t.Fatal(err)
		}
	}
	wantAged(t, db, 0, rows-1)
}
