package accounting_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"claviger/internal/accounting"
	"claviger/internal/job"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// checker is the check of the ledger with its log, at a time that the test sets.
type checker struct {
	*harness
	check *accounting.Check
	now   time.Time
	log   bytes.Buffer
	runs  int
}

func newChecker(h *harness) *checker {
	c := &checker{harness: h, now: h.at}
	now := func() time.Time { return c.now }
	runs := &job.Log{DB: h.db, Now: now, Node: "one"}
	ran := runs.Of("check", accounting.CheckEvery)
	c.check = &accounting.Check{
		DB: h.db, Now: now, Name: "check", Log: slog.New(slog.NewTextHandler(&c.log, nil)),
		Ran: func(ctx context.Context, took time.Duration, err error) {
			c.runs++
			ran(ctx, took, err)
		},
	}
	return c
}

// look looks after a time, and returns the last run. A new check has no memory, like one after a restart.
func (c *checker) look(after time.Duration) job.Run {
	c.Helper()
	c.now = c.now.Add(after)
	again := *c.check
	again.Look(c.Context())
	r, err := job.Last(c.Context(), c.db, "check")
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// TestCheckOncePerDay: a check runs once a day, also after restarts, and an hour after a mistake.
func TestCheckOncePerDay(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.upgrade()
	h.sell(license.Purchase{AmountCents: 10_000, Currency: "USD"})
	c := newChecker(h)
	began := c.now
	if r := c.look(0); r.Failed() || !r.SucceededAt.Equal(began) || !r.NextAt.Equal(began.Add(24*time.Hour)) {
		t.Errorf("the first check: %+v", r)
	}
	for _, step := range []struct {
		after time.Duration
		sql   string
		runs  int
		fails bool
	}{
		{after: 24*time.Hour - time.Minute, sql: `UPDATE ledger_balances SET amount = amount + 1`, runs: 1},
		{after: 2 * time.Minute, runs: 2, fails: true},
		{after: 50 * time.Minute, sql: `UPDATE ledger_balances SET amount = amount - 1`, runs: 2, fails: true},
		{after: 11 * time.Minute, runs: 3},
		{after: 2 * time.Hour, runs: 3},
		{after: -48 * time.Hour, runs: 4}, // the clock was set back
		{after: time.Hour, runs: 4},
	} {
		r := c.look(step.after)
		if c.runs != step.runs || r.Failed() != step.fails {
			t.Errorf("%v later: %d runs, %+v; want %+v", step.after, c.runs, r, step)
		}
		if step.sql != "" {
			h.exec(step.sql)
		}
	}
}

// TestCheckFindsMistakes: the run and the log name the mistakes of each partner. A partner that cannot be
// read does not hide those of others.
func TestCheckFindsMistakes(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.upgrade()
	h.sell(license.Purchase{AmountCents: 10_000, Currency: "USD"})
	var lines []string
	for i := range 150 {
		lines = append(lines, fmt.Sprintf(`(9, 'sale', 'x:%d', 0, 1, 0, 'USD',
			'[{"account":"share","amount":1,"currency":"USD"}]', '', 1, 1)`, i))
	}
	h.exec(`INSERT INTO ledger_postings
			(partner_id, kind, source, purchase_id, tier, gross, currency, lines, reason, at, created_at)
			VALUES (5, 'sale', 'y', 1, 1, 0, 'USD', 'no JSON', '', 1, 1), `+strings.Join(lines, ", "),
		`INSERT INTO ledger_balances (partner_id, account, currency, amount)
			VALUES (9, 'share', 'USD', 150), (7, 'margin', 'USD', 3)`)
	c := newChecker(h)
	r := c.look(0)
	for _, want := range []string{
		"the check of 3 partners failed, and the log has each mistake; partner 5 could not be checked: ",
		"; partner 7: The balance margin in USD differs by -3 ", "; partner 9: Posting ",
	} {
		if !strings.Contains(r.Error, want) {
			t.Errorf("the run does not say %q: %s", want, r.Error)
		}
	}
	log := c.log.String()
	for want, n := range map[string]int{
		`msg="the ledger has a mistake" partner=9`: 100, `partner=9 more=50`: 1, `partner=7 mistake="The balance margin`: 1,
		`could not be checked" partner=5`: 1, `partner=1 `: 0,
	} {
		if got := strings.Count(log, want); got != n {
			t.Errorf("the log has %d lines with %q, want %d", got, want, n)
		}
	}
}

// TestCheckWithoutDatabase: without the database, no run is recorded, and the log says why.
func TestCheckWithoutDatabase(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	c := newChecker(h)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.check.Look(ctx)
	if c.log.Len() > 0 || c.runs > 0 {
		t.Errorf("a stopped check: %d runs, %s", c.runs, c.log.String())
	}
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	c.check.Look(t.Context())
	if !strings.Contains(c.log.String(), "could not start") || c.runs > 0 {
		t.Errorf("without a database: %d runs, %s", c.runs, c.log.String())
	}
}
