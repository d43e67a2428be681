package claviger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"claviger/internal/apptest"
	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// marketBulk holds all licenses of a partner and lifts the hold again.
func marketBulk(ctx context.Context, t *testing.T, h *apptest.Harness, c *operator.Client, partnerID int64) {
	t.Helper()
	made := must(c.PrepareBulkAct(ctx, operator.BulkOrder{Act: "hold", Filter: &operator.BulkFilter{PartnerID: partnerID}}))(t)
	if made.Status != "prepared" || made.Rows.Total != 3 || len(made.Effects) == 0 {
		t.Errorf("prepared %+v", made)
	}
	if rows := all(t, c.BulkRows(ctx, made.BulkID, "open")); len(rows) != 3 || rows[0].Will == "" {
		t.Errorf("the rows are %+v", rows)
	}
	if left := must(c.LeaveOutBulkRows(ctx, made.BulkID, 1, 2))(t); left.Rows.Skipped != 2 {
		t.Errorf("left out: %+v", left)
	}
	if back := must(c.PutBackBulkRows(ctx, made.BulkID, 1, 2))(t); back.Rows.Skipped != 0 {
		t.Errorf("put back: %+v", back)
	}
	// Paused before its first row, so that it is certainly still running here.
	h.Exec(`UPDATE bulk_jobs SET started_at = $2, paused_at = $2 WHERE id = $1`, made.BulkID, time.Now())
	if paused := must(c.PauseBulkAct(ctx, made.BulkID))(t); paused.Status != "paused" {
		t.Errorf("paused: %+v", paused)
	}
	finish(ctx, t, c, must(c.ResumeBulkAct(ctx, made.BulkID))(t))
	lifted := must(c.PrepareBulkAct(ctx, operator.BulkOrder{Act: "reinstate", Filter: &operator.BulkFilter{PartnerID: partnerID}}))(t)
	finish(ctx, t, c, must(c.StartBulkAct(ctx, lifted.BulkID))(t))
	for _, act := range []func(context.Context, int64) (operator.BulkAct, error){c.PauseBulkAct, c.ResumeBulkAct} {
		var refused *claviger.Error
		if _, err := act(ctx, lifted.BulkID); !errors.As(err, &refused) || refused.Code != "bulk_done" {
			t.Errorf("an act on what is done: %v", err)
		}
	}
	other := must(c.PrepareBulkAct(ctx, operator.BulkOrder{Act: "hold", Filter: &operator.BulkFilter{PartnerID: partnerID}}))(t)
	if ended := must(c.CancelBulkAct(ctx, other.BulkID))(t); ended.Status != "stopped" {
		t.Errorf("cancelled: %+v", ended)
	}
	if list := all(t, c.BulkActs(ctx)); len(list) != 3 {
		t.Errorf("the list is %+v", list)
	}
}

// finish waits until a bulk action has ended.
func finish(ctx context.Context, t *testing.T, c *operator.Client, now operator.BulkAct) {
	t.Helper()
	for now.Status == "running" {
		now = must(c.BulkAct(ctx, now.BulkID))(t)
	}
	if now.Status != "done" || now.Rows.Succeeded != now.Rows.Total {
		t.Errorf("at the end: %+v", now)
	}
}
