package claviger_test

import (
	"context"
	"errors"
	"testing"

	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// marketBulk holds all licenses of a partner and lifts the hold again.
func marketBulk(ctx context.Context, t *testing.T, c *operator.Client, partnerID int64) {
	t.Helper()
	made := must(c.PrepareBulkAct(ctx, operator.BulkOrder{Act: "hold", Filter: &operator.BulkFilter{PartnerID: partnerID}}))(t)
	if made.Status != "prepared" || made.Rows.Total != 3 || len(made.Effects) == 0 {
		t.Errorf("prepared %+v", made)
	}
	if rows := must(c.BulkRows(ctx, made.BulkID, 1, "open"))(t); rows.Size != 2 || rows.Items[0].Will == "" {
		t.Errorf("the rows are %+v", rows)
	}
	finish(ctx, t, c, made.BulkID)
	lifted := must(c.PrepareBulkAct(ctx, operator.BulkOrder{Act: "reinstate", Filter: &operator.BulkFilter{PartnerID: partnerID}}))(t)
	finish(ctx, t, c, lifted.BulkID)
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
	if list := must(c.BulkActs(ctx, other.BulkID))(t); list.Size != 2 {
		t.Errorf("the list is %+v", list)
	}
}

// finish starts a bulk act and waits until it is done.
func finish(ctx context.Context, t *testing.T, c *operator.Client, id int64) {
	t.Helper()
	now := must(c.StartBulkAct(ctx, id))(t)
	for now.Status == "running" {
		now = must(c.BulkAct(ctx, id))(t)
	}
	if now.Status != "done" || now.Rows.Succeeded != now.Rows.Total {
		t.Errorf("at the end: %+v", now)
	}
}
