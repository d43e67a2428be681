package bulk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/bulk"
	"claviger/internal/license"
)

var errBroken = errors.New("relation does not exist: secret_table")

// errAway is the error of an unreachable database.
type errAway struct{}

func (errAway) Error() string     { return "connection refused" }
func (errAway) Unavailable() bool { return true }

// breaks makes refunds of a license fail with an error, and counts the calls.
func (h *harness) breaks(key string, err error) *int {
	n := new(int)
	*h.Bulk.PaidHere() = func(_ context.Context, o license.RefundOrder) (bool, error) {
		if o.LicenseKey != key {
			return false, nil
		}
		*n++
		return false, err
	}
	return n
}

// waitsOut works until every row has had its tries.
func (h *harness) waitsOut(j bulk.Job) bulk.Job {
	h.Helper()
	for range 2 * batch.RowTries {
		if j = h.finish(j); !j.Open() {
			break
		}
		h.clock.Advance(10 * time.Minute)
	}
	return j
}

// TestFailingRowBlocksNothing: a row that fails for an internal reason is tried a few times, and
// then marked as failed. The rows after it and other jobs do not wait.
func TestFailingRowBlocksNothing(t *testing.T) {
	h := newHarness(t)
	first := h.sell(60)
	j := h.prepare(bulk.Refund, "")
	rows := h.rows(j, bulk.Open)
	tries := h.breaks(first.Key, errBroken)
	h.start(j)
	h.clock.Advance(time.Second)
	other := h.prepare(bulk.Hold, "chargeback")
	h.start(other)
	if other = h.finish(other); other.Status() != batch.Done {
		t.Errorf("the other job: %+v", other)
	}
	if j = h.once(j); j.Succeeded+j.Refused != 59 || j.Left() != 1 || *tries != 1 {
		t.Errorf("after one pass and %d tries: %+v", *tries, j)
	}
	if more, err := h.Bulk.Once(t.Context()); more || err != nil {
		t.Errorf("the row is tried again immediately: %v, %v", more, err)
	}
	j = h.waitsOut(j)
	if j.Failed != 1 || j.Left() != 0 || j.Status() != batch.Done || *tries != batch.RowTries {
		t.Errorf("after %d tries: %+v", *tries, j)
	}
	failed := h.rows(j, bulk.Failed)
	if len(failed) != 1 || failed[0].Position != rows[0].Position || failed[0].Result != bulk.Failed || failed[0].Code != "row_failed" {
		t.Fatalf("failed: %+v", failed)
	}
	if m := failed[0].Message; !strings.Contains(m, "err_") || strings.Contains(m, "secret_table") {
		t.Errorf("the row says %q", m)
	}
	if n := h.Count(`SELECT count(*) FROM bulk_jobs WHERE total = skipped + succeeded + refused AND failed = 1`); n != 1 {
		t.Error("a node of the release before would not see that the job is done")
	}
	for _, row := range h.rows(j, bulk.Refused) {
		if row.Position == rows[0].Position {
			t.Error("the row is among the refused ones, too")
		}
	}
}

// TestRowSucceedsAtALaterTry: a failed row is done when the cause is fixed.
func TestRowSucceedsAtALaterTry(t *testing.T) {
	h := newHarness(t)
	first := h.sell(3)
	j := h.prepare(bulk.Refund, "")
	h.breaks(first.Key, errBroken)
	h.start(j)
	if j = h.finish(j); j.Succeeded != 2 || !j.Open() {
		t.Fatalf("after one pass: %+v", j)
	}
	*h.Bulk.PaidHere() = nil
	if j = h.waitsOut(j); j.Succeeded != 3 || j.Failed != 0 || j.Status() != batch.Done {
		t.Errorf("at the end: %+v", j)
	}
}

// TestOutageBurnsNoTries: rows are not given up during a database outage, however often they are
// tried.
func TestOutageBurnsNoTries(t *testing.T) {
	h := newHarness(t)
	first := h.sell(3)
	j := h.prepare(bulk.Refund, "")
	tries := h.breaks(first.Key, errAway{})
	h.start(j)
	for range 3 * batch.MaxTries {
		if more, err := h.Bulk.Once(t.Context()); more || !errors.Is(err, errAway{}) {
			t.Fatalf("while the database is away: %v, %v", more, err)
		}
		h.clock.Advance(time.Second)
	}
	*h.Bulk.PaidHere() = nil
	if j = h.finish(j); j.Succeeded != 3 || j.Failed != 0 || *tries != 3*batch.MaxTries {
		t.Errorf("after the outage and %d tries: %+v", *tries, j)
	}
}

// TestFailingCheckBlocksNothing: a row with a failing check is finally skipped, and other jobs do
// not wait for it.
func TestFailingCheckBlocksNothing(t *testing.T) {
	h := newHarness(t)
	first := h.sell(3)
	tries := h.breaks(first.Key, errBroken)
	all := bulk.OfLicenses(h.Licenses, license.FindAny{PartnerID: h.tide.ID})
	j, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: bulk.Refund, Selected: "all", Select: all})
	if !errors.Is(err, errBroken) {
		t.Fatalf("prepared: %v", err)
	}
	h.clock.Advance(time.Second)
	other := h.prepare(bulk.Hold, "chargeback")
	h.start(other)
	for range 3 { // one failure of the first job, the rows of the other, and its end
		_, _ = h.Bulk.Once(t.Context())
	}
	if other, err = h.Bulk.Get(t.Context(), other.ID); err != nil || other.Status() != batch.Done {
		t.Errorf("the other job: %+v, %v", other, err)
	}
	for range batch.RowTries {
		h.clock.Advance(10 * time.Minute)
		_, _ = h.Bulk.Once(t.Context())
	}
	if j, err = h.Bulk.Get(t.Context(), j.ID); err != nil || j.Status() != bulk.Prepared || j.Skipped != 1 || *tries != 1+batch.RowTries {
		t.Errorf("after %d tries: %+v, %v", *tries, j, err)
	}
	if rows := h.rows(j, bulk.Skipped); len(rows) != 1 || rows[0].Code != "row_failed" || strings.Contains(rows[0].Message, "secret_table") {
		t.Errorf("skipped: %+v", rows)
	}
}

// TestFailingJobIsStopped: a job that cannot continue at all lets others go first, and is finally
// stopped.
func TestFailingJobIsStopped(t *testing.T) {
	h := newHarness(t)
	h.sell(3)
	j := h.prepare(bulk.Hold, "chargeback")
	h.start(j)
	resting := func(context.Context, audit.Actor, account.Scope) (bool, error) { panic("a resting job") }
	*h.Bulk.May() = resting
	for range batch.MaxTries {
		*h.Bulk.May() = func(context.Context, audit.Actor, account.Scope) (bool, error) { return false, errBroken }
		if more, err := h.Bulk.Once(t.Context()); !more || !errors.Is(err, errBroken) {
			t.Fatalf("a failing batch: %v, %v", more, err)
		}
		*h.Bulk.May() = resting
		if more, err := h.Bulk.Once(t.Context()); more || err != nil {
			t.Fatalf("it does not rest: %v, %v", more, err)
		}
		h.clock.Advance(10 * time.Minute)
	}
	*h.Bulk.May() = nil
	if j = h.once(j); j.Status() != batch.Stopped || !strings.Contains(j.Stopped, "err_") || strings.Contains(j.Stopped, "secret_table") {
		t.Errorf("at the end: %+v", j)
	}
}

// TestWorkingBatchForgetsFailures: only failures in a row stop a job.
func TestWorkingBatchForgetsFailures(t *testing.T) {
	h := newHarness(t)
	h.sell(perBatch + 1)
	j := h.prepare(bulk.Hold, "chargeback")
	h.start(j)
	*h.Bulk.May() = func(context.Context, audit.Actor, account.Scope) (bool, error) { return false, errBroken }
	for want := int64(1); want < 3; want++ {
		if _, err := h.Bulk.Once(t.Context()); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		if n := h.Count(`SELECT tries FROM bulk_jobs WHERE id = $1`, j.ID); n != want {
			t.Errorf("%d failures are stored, want %d", n, want)
		}
		h.clock.Advance(10 * time.Minute)
	}
	*h.Bulk.May() = nil
	if j = h.once(j); j.Succeeded != perBatch || h.Count(`SELECT tries FROM bulk_jobs WHERE id = $1`, j.ID) != 0 {
		t.Errorf("after a batch that worked: %+v", j)
	}
}
