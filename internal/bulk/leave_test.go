package bulk_test

import (
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/batch"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/license"
)

// TestLeaveOut: rows left out of a prepared job are skipped with a reason, until they are put back;
// the others are done.
func TestLeaveOut(t *testing.T) {
	h := newHarness(t)
	held := h.sell(5)
	_, err := h.Licenses.Hold(t.Context(), apptest.Tester, held.Key, license.HoldOther)
	h.Must(err)
	shown := h.prepare(bulk.Hold, "chargeback")
	h.clock.Advance(time.Second)
	j, err := h.Bulk.LeaveOut(t.Context(), h.by, shown.ID, []int64{1, 2, 3, 3, 99}) // the first is already skipped
	h.Must(err)
	if j.Skipped != 3 || j.Left() != 2 || j.Status() != bulk.Prepared {
		t.Errorf("left out: %+v", j)
	}
	if j, err = h.Bulk.LeaveOut(t.Context(), h.by, shown.ID, []int64{1, 2, 3}); err != nil || j.Skipped != 3 {
		t.Errorf("left out again: %+v, %v", j, err)
	}
	h.wantEffects(j,
		bulk.Effect{Code: "left_out", Rows: 2},
		bulk.Effect{Will: "The license becomes deactivated, tier 1; the partner is told, with the reason chargeback.", Rows: 2},
		bulk.Effect{Code: "license_held", Rows: 1})
	h.clock.Advance(time.Second)
	if j, err = h.Bulk.PutBack(t.Context(), h.by, j.ID, []int64{1, 2, 4}); err != nil || j.Skipped != 2 {
		t.Errorf("put back: %+v, %v", j, err)
	}
	if _, err := h.Bulk.StartAs(t.Context(), h.by, shown); !fault.Is(err, "changed_since") {
		t.Errorf("confirmed as it was shown before: %v", err)
	}
	_, err = h.Bulk.StartAs(t.Context(), h.by, j)
	h.Must(err)
	for _, act := range []func() (bulk.Job, error){
		func() (bulk.Job, error) { return h.Bulk.LeaveOut(t.Context(), h.by, j.ID, []int64{4}) },
		func() (bulk.Job, error) { return h.Bulk.PutBack(t.Context(), h.by, j.ID, []int64{3}) },
	} {
		if _, err := act(); !fault.Is(err, "bulk_started") {
			t.Errorf("when it has begun: %v", err)
		}
	}
	if j = h.finish(j); j.Succeeded != 3 || j.Skipped != 2 || j.Refused != 0 || j.Status() != batch.Done {
		t.Errorf("at the end: %+v", j)
	}
	rows := h.rows(j, bulk.Skipped)
	if len(rows) != 2 || rows[0].LeftOut() || !rows[1].LeftOut() || rows[1].Position != 3 || rows[1].Message == "" {
		t.Errorf("skipped: %+v", rows)
	}
	if n := h.Count(`SELECT count(*) FROM licenses WHERE held <> 0`); n != 4 {
		t.Errorf("%d are held", n)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action IN ('bulk.leave_out', 'bulk.put_back')`); n != 2 {
		t.Errorf("%d audit entries", n)
	}
}

// TestLeaveOutRefusals: no rows, too many, and rows of a job that is being checked are refused; a
// job with all rows left out cannot be confirmed.
func TestLeaveOutRefusals(t *testing.T) {
	h := newHarness(t)
	h.sell(2)
	j := h.prepare(bulk.Hold, "")
	for _, positions := range [][]int64{nil, make([]int64, bulk.MaxLeftOut+1)} {
		if _, err := h.Bulk.LeaveOut(t.Context(), h.by, j.ID, positions); !fault.Is(err, "invalid_field") {
			t.Errorf("%d positions: %v", len(positions), err)
		}
	}
	_, err := h.Bulk.LeaveOut(t.Context(), h.by, j.ID, []int64{1, 2})
	h.Must(err)
	if _, err := h.Bulk.Start(t.Context(), h.by, j.ID); !fault.Is(err, "nothing_selected") {
		t.Errorf("confirmed with nothing left: %v", err)
	}
	h.Exec(`UPDATE bulk_jobs SET checked = 1 WHERE id = $1`, j.ID)
	if _, err := h.Bulk.PutBack(t.Context(), h.by, j.ID, []int64{1}); !fault.Is(err, "bulk_not_checked") {
		t.Errorf("while it is checked: %v", err)
	}
}
