package prune_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// tables makes a table with rows of several ages and a table of hours.
func tables(t *testing.T) *sqldb.DB {
	t.Helper()
	db := sqldbtest.Open(t)
	create := func(tx *sqldb.Tx) error { // PostgreSQL prepares the statements of a batch before it runs them
		tx.Queue(`CREATE TABLE things (a BIGINT, b BIGINT, at BIGINT NOT NULL, word TEXT NOT NULL, PRIMARY KEY (a, b))`)
		tx.Queue(`CREATE TABLE hourly (id BIGINT PRIMARY KEY, hour BIGINT NOT NULL)`)
		return nil
	}
	if err := db.Write(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for i := range 2005 { // more than two batches
			tx.Queue(`INSERT INTO things VALUES (1, $1, $2, 'x')`, int64(i), noon.Add(-time.Hour-time.Duration(i+1)))
		}
		tx.Queue(`INSERT INTO things VALUES (2, 0, $1, 'x')`, noon.Add(-time.Hour)) // exactly at the limit
		tx.Queue(`INSERT INTO things VALUES (2, 1, $1, '')`, noon.Add(-2*time.Hour))
		for i := range int64(3) {
			tx.Queue(`INSERT INTO hourly VALUES ($1, $2)`, i, noon.Unix()/3600-i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func count(t *testing.T, db *sqldb.DB, sql string) int64 {
	t.Helper()
	n, err := sqldb.One(t.Context(), db, sqldb.Value[int64], sql)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRules: each kind of rule changes its expired rows and no others, and nothing a second time.
func TestRules(t *testing.T) {
	things := prune.Rule{Table: "things", Key: "a, b", At: "at", Keep: time.Hour}
	worded, blanked := things, things
	worded.If = `word <> ''`
	blanked.If = `word <> ''`
	blanked.Clear = "word"
	for name, c := range map[string]struct {
		rule prune.Rule
		want int64
		left string // condition for the rows that stay as they were
		n    int64
	}{
		"by time":        {things, 2006, `things`, 1},
		"by condition":   {worded, 2005, `things`, 2},
		"emptied":        {blanked, 2005, `things WHERE word <> ''`, 1},
		"by hour":        {prune.Rule{Table: "hourly", At: "hour", Keep: time.Hour, Hours: true}, 1, `hourly`, 2},
		"by hour, later": {prune.Rule{Table: "hourly", At: "hour", Hours: true}, 2, `hourly`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			db := tables(t)
			for _, want := range []int64{c.want, 0} {
				if n, err := prune.Rows(t.Context(), db, noon, []prune.Rule{c.rule}); n != want || err != nil {
					t.Errorf("pruned %d, %v; want %d", n, err, want)
				}
			}
			if n := count(t, db, `SELECT count(*) FROM `+c.left); n != c.n {
				t.Errorf("%d rows stay, want %d", n, c.n)
			}
		})
	}
}

// TestFailedRule: a rule that fails is named, and the others are applied.
func TestFailedRule(t *testing.T) {
	db := tables(t)
	broken := errors.New("broken")
	n, err := prune.Rows(t.Context(), db, noon, []prune.Rule{
		{Table: "none", At: "at"},
		{Table: "special", Do: func(context.Context, *sqldb.DB, time.Time) (int64, error) { return 7, broken }},
		{Table: "things", Key: "a, b", At: "at", Keep: time.Hour},
	})
	if n != 7+2006 || !errors.Is(err, broken) || !strings.Contains(err.Error(), "prune none: ") ||
		!strings.Contains(err.Error(), "prune special: broken") {
		t.Errorf("pruned %d, %v", n, err)
	}
}

// TestJob prunes at once, and again after each interval.
func TestJob(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	runs := 0
	j := &prune.Job{
		Now: func() time.Time { return noon }, Every: time.Millisecond,
		Rules: []prune.Rule{{Table: "x", Do: func(_ context.Context, _ *sqldb.DB, now time.Time) (int64, error) {
			if !now.Equal(noon) {
				t.Errorf("the time is %v", now)
			}
			return 0, nil
		}}},
		Ran: func(_ context.Context, _ time.Duration, err error) {
			if runs++; runs == 2 {
				cancel()
			}
			if err != nil {
				t.Error(err)
			}
		},
	}
	j.Run(ctx)
	if runs != 2 {
		t.Errorf("%d runs", runs)
	}
}
