package redelivery_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/prune"
	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// TestFailingJobBlocksNoOther: a job with failing batches rests, so that jobs of other partners get
// their turns, and is finally stopped. A database outage stops none.
func TestFailingJobBlocksNoOther(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 600)
	h.partner(2, 1001, 600)
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO members (partner_id, user_id, role, created_at) VALUES (1, $1, 'developer', 0)`, member.ID)
	})
	h.begin(member, 1, history.Filter{From: start}, 0)
	h.now = h.now.Add(time.Second)
	h.begin(tester, 2, history.Filter{From: start}, 0)
	var broken error
	*h.jobs.RoleOf() = func(context.Context, sqldb.Reader, int64) (account.Role, error) { return "", broken }
	worker := &redelivery.Worker{Store: h.jobs, Log: slog.New(slog.DiscardHandler)}

	broken = away{}
	for range 30 {
		if more, err := worker.Once(t.Context()); more || !errors.Is(err, broken) {
			t.Fatalf("while the database is away: %v, %v", more, err)
		}
	}
	broken = errors.New("relation does not exist: secret_table")
	if more, err := worker.Once(t.Context()); !more || !errors.Is(err, broken) {
		t.Fatalf("a batch that fails: %v, %v", more, err)
	}
	for range 2 {
		if more, err := worker.Once(t.Context()); !more || err != nil {
			t.Fatalf("a batch of the other job: %v, %v", more, err)
		}
	}
	if other := h.last(2); other.Status() != redelivery.Done || other.Count != 600 {
		t.Errorf("the other job: %+v", other)
	}
	if more, err := worker.Once(t.Context()); more || err != nil {
		t.Errorf("the job does not rest: %v, %v", more, err)
	}
	failures := 1
	for ; h.last(1).Open() && failures < 100; failures++ {
		h.now = h.now.Add(10 * time.Minute)
		if more, err := worker.Once(t.Context()); !more || !errors.Is(err, broken) {
			t.Fatalf("a later try: %v, %v", more, err)
		}
	}
	last := h.last(1)
	if failures != 10 || last.Status() != redelivery.Stopped || !strings.Contains(last.Stopped, "err_") || strings.Contains(last.Stopped, "secret_table") {
		t.Errorf("after %d failures: %+v", failures, last)
	}
}

// TestJobWorksAgain: the failures of a job count from its last successful batch.
func TestJobWorksAgain(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 600)
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO members (partner_id, user_id, role, created_at) VALUES (1, $1, 'developer', 0)`, member.ID)
	})
	h.begin(member, 1, history.Filter{From: start}, 0)
	h.write(func(tx *sqldb.Tx) { tx.Queue(`UPDATE redelivery_jobs SET tries = 9`) })
	h.once()
	tries, err := sqldb.One(t.Context(), h.db, sqldb.Value[int64], `SELECT tries FROM redelivery_jobs`)
	if last := h.last(1); tries != 0 || err != nil || last.Count != 2*batch || !last.Open() {
		t.Errorf("%d tries, %v: %+v", tries, err, last)
	}
}

// away is the error of an unreachable database.
type away struct{}

func (away) Error() string     { return "connection refused" }
func (away) Unavailable() bool { return true }

// TestPruned: finished jobs are pruned.
func TestPruned(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 1)
	h.begin(tester, 1, history.Filter{}, 0)
	h.now = h.now.Add(48 * time.Hour)
	h.begin(tester, 1, history.Filter{}, 0)
	n, err := prune.Rows(t.Context(), h.db, h.jobs.Now(), redelivery.Expiring(24*time.Hour))
	if n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
}

// TestOddJobDoesNotEndPruning: a job that finished in the future by a wrong clock does not protect
// old jobs behind it.
func TestOddJobDoesNotEndPruning(t *testing.T) {
	h := newHarness(t)
	h.partner(1, 1, 1)
	const jobs = 1100
	for range jobs {
		h.begin(tester, 1, history.Filter{}, 0)
	}
	h.write(func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE redelivery_jobs SET finished_at = $1 WHERE id = (SELECT min(id) FROM redelivery_jobs)`, h.now.Add(1000*time.Hour))
	})
	h.now = h.now.Add(48 * time.Hour)
	n, err := prune.Rows(t.Context(), h.db, h.jobs.Now(), redelivery.Expiring(24*time.Hour))
	if n != jobs-1 || err != nil {
		t.Errorf("pruned %d, %v; want %d", n, err, jobs-1)
	}
}
