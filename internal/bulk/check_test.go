package bulk_test

import (
	"context"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/webhook/history"
)

// of prepares an act on a selection.
func (h *harness) of(act bulk.Act, kind bulk.Kind, s bulk.Selection) bulk.Job {
	h.Helper()
	j, err := h.Bulk.Prepare(h.Context(), h.by, bulk.Order{Act: act, Kind: kind, Select: s})
	h.Must(err)
	return j
}

func (h *harness) wantEffects(j bulk.Job, want ...bulk.Effect) {
	h.Helper()
	got, err := h.Bulk.Effects(h.Context(), j.ID)
	h.Must(err)
	if len(got) != len(want) {
		h.Errorf("the job does %+v, want %+v", got, want)
		return
	}
	for i, e := range got {
		if want[i].Why == "" {
			e.Why = ""
		}
		if e != want[i] {
			h.Errorf("the job does %+v, want %+v", e, want[i])
		}
	}
}

// TestChecks: a prepared job shows its effects with numbers of rows and the reasons for skips, and
// changes nothing else.
func TestChecks(t *testing.T) {
	h := newHarness(t)
	first := h.sell(3)
	_, err := h.Licenses.Hold(t.Context(), apptest.Tester, first.Key, license.HoldOther)
	h.Must(err)
	events := h.Count(`SELECT count(*) FROM events`)
	j := h.prepare(bulk.Hold, "chargeback")
	h.wantEffects(j,
		bulk.Effect{Will: "The license becomes deactivated, tier 1; the partner is told, with the reason chargeback.", Rows: 2},
		bulk.Effect{Code: "license_held", Why: "The license is on hold already (held).", Rows: 1})
	h.wantEffects(h.prepare(bulk.Reinstate, ""),
		bulk.Effect{Code: "license_not_held", Rows: 2},
		bulk.Effect{Will: "The license becomes inactive, tier 1; the partner is told, with the reason reinstated.", Rows: 1})
	if n := h.Count(`SELECT count(*) FROM events`); n != events || h.Count(`SELECT count(*) FROM licenses WHERE held <> 0`) != 1 {
		t.Errorf("a check changed something: %d events, not %d", n, events)
	}
	none := h.prepare(bulk.Reinstate, "")
	h.start(none)
	if none = h.finish(none); none.Succeeded != 1 || none.Skipped != 2 || none.Status() != batch.Done {
		t.Errorf("reinstated: %+v", none)
	}
	none = h.prepare(bulk.Reinstate, "")
	if _, err := h.Bulk.Start(t.Context(), h.by, none.ID); !fault.Is(err, "nothing_selected") {
		t.Errorf("confirmed with nothing to do: %v", err)
	}
}

// TestManyAreCheckedByTheWorker: a large selection is checked in the background; it cannot be
// confirmed before, and stops if the role is lost.
func TestManyAreCheckedByTheWorker(t *testing.T) {
	h := newHarness(t)
	h.sell(100)
	h.sell(30)
	j := h.prepare(bulk.Hold, "")
	if j.Checked != 100 || j.Status() != bulk.Checking {
		t.Fatalf("prepared %+v", j)
	}
	if _, err := h.Bulk.Start(t.Context(), h.by, j.ID); !fault.Is(err, "bulk_not_checked") {
		t.Errorf("confirmed too early: %v", err)
	}
	if j = h.finish(j); j.Checked != 130 || j.Status() != bulk.Prepared || j.Succeeded != 0 {
		t.Errorf("checked %+v", j)
	}
	j = h.prepare(bulk.Hold, "")
	*h.Bulk.May() = func(context.Context, audit.Actor, account.Scope) (bool, error) { return false, nil }
	if j = h.finish(j); j.Checked != 100 || j.Status() != batch.Stopped {
		t.Errorf("checked for somebody who may not: %+v", j)
	}
}

// TestChangedSince: a row that changed after its check is refused with a reason; the others are
// done.
func TestChangedSince(t *testing.T) {
	h := newHarness(t)
	changed := h.sell(1)
	h.sell(2)
	for _, act := range []bulk.Act{bulk.Hold, bulk.Refund} {
		j := h.prepare(act, "")
		_, err := h.Licenses.ChangePlan(t.Context(), apptest.Tester, changed.Key, license.PlanChange{Tier: 3 - h.tier(changed.Key), Currency: "USD"})
		h.Must(err)
		h.start(j)
		if j = h.finish(j); j.Succeeded != 2 || j.Refused != 1 || j.Left() != 0 {
			t.Errorf("%s: %+v", act, j)
		}
		if rows := h.rows(j, bulk.Refused); len(rows) != 1 || rows[0].Subject != changed.Key || rows[0].Code != license.CodeLicenseChanged {
			t.Errorf("%s refused %+v", act, rows)
		}
		// The confirmed summary includes rows refused at their turn.
		effects, err := h.Bulk.Effects(t.Context(), j.ID)
		h.Must(err)
		sum := int64(0)
		for _, e := range effects {
			if e.Code == "" {
				sum += e.Rows
			}
		}
		if sum != 3 {
			t.Errorf("%s: %d rows were confirmed: %+v", act, sum, effects)
		}
	}
}

func (h *harness) tier(key string) int {
	h.Helper()
	l, err := h.Licenses.ByKey(h.Context(), key)
	h.Must(err)
	return l.Tier
}

// TestPurchases: purchases are refunded on all their licenses, and their refunds reversed, each
// once.
func TestPurchases(t *testing.T) {
	h := newHarness(t)
	h.sell(3)
	single := h.sell(1)
	_, err := h.Licenses.Hold(t.Context(), apptest.Tester, single.Key, license.HoldOther)
	h.Must(err)
	sales := bulk.OfSales(h.Licenses, license.FindSales{PartnerID: h.tide.ID})
	j := h.of(bulk.Refund, bulk.Purchases, sales)
	h.wantEffects(j,
		bulk.Effect{Will: "Each of 3 licenses becomes deactivated, tier 1; the partner is told, with the reason refunded.", Rows: 1},
		bulk.Effect{Will: "The license stays deactivated, tier 1; the partner is not told.", Rows: 1})
	h.start(j)
	if j = h.finish(j); j.Succeeded != 2 || h.Count(`SELECT count(*) FROM refunds`) != 2 || h.Count(`SELECT count(*) FROM refund_items`) != 4 {
		t.Errorf("refunded: %+v", j)
	}
	licenses := bulk.OfLicenses(h.Licenses, license.FindAny{PartnerID: h.tide.ID})
	for _, selected := range []bulk.Selection{bulk.OfRefunds(h.Licenses, bulk.Licenses, licenses), bulk.OfRefunds(h.Licenses, bulk.Purchases, sales)} {
		j = h.of(bulk.Reverse, bulk.Purchases, selected)
		if j.Total != 2 || j.Kind != bulk.Refunds {
			t.Errorf("to be reversed: %+v", j)
		}
	}
	_, err = h.Licenses.ReverseRefund(t.Context(), apptest.Tester, h.rows(j, bulk.Open)[0].ID)
	h.Must(err)
	h.start(j)
	if j = h.finish(j); j.Succeeded != 1 || j.Refused != 1 || h.Count(`SELECT count(*) FROM refunds WHERE reversed_at = 0`) != 0 {
		t.Errorf("reversed: %+v", j)
	}
	if rows := h.rows(j, bulk.Refused); len(rows) != 1 || rows[0].Result != bulk.Refused || rows[0].Code != "refund_already_reversed" {
		t.Errorf("refused: %+v", rows)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'license.refund_reversed' AND actor_kind = 'token'`); n != 1 {
		t.Errorf("%d audit entries", n)
	}
}

// TestMixedEffects: a row of several licenses shows each effect once, in a stable order.
func TestMixedEffects(t *testing.T) {
	h := newHarness(t)
	h.sell(3)
	found, err := h.Licenses.FindAny(t.Context(), license.FindAny{PartnerID: h.tide.ID}, 0, 1) // the last one
	h.Must(err)
	_, err = h.Licenses.Hold(t.Context(), apptest.Tester, found.Licenses[0].Key, license.HoldOther)
	h.Must(err)
	j := h.of(bulk.Refund, bulk.Purchases, bulk.OfSales(h.Licenses, license.FindSales{PartnerID: h.tide.ID}))
	h.wantEffects(j, bulk.Effect{Will: "A license stays deactivated, tier 1; the partner is not told. " +
		"Each of 2 licenses becomes deactivated, tier 1; the partner is told, with the reason refunded.", Rows: 1})
}

// TestAcceptedSince: an event that the partner accepted after the check is not sent again; one
// accepted before is.
func TestAcceptedSince(t *testing.T) {
	h := newHarness(t)
	h.sell(2)
	all := bulk.OfDeliveries(h.History, h.tide.ID, history.Filter{})
	h.Exec(`DELETE FROM outbox WHERE event_id = 1`)
	j := h.of(bulk.Redeliver, "", all)
	h.Exec(`DELETE FROM outbox WHERE event_id = 2`)
	h.clock.Advance(time.Second)
	h.start(j)
	if j = h.finish(j); j.Succeeded != 1 || j.Refused != 1 {
		t.Errorf("%+v", j)
	}
	if rows := h.rows(j, bulk.Refused); len(rows) != 1 || rows[0].ID != 2 || rows[0].Code != "changed_since" {
		t.Errorf("refused %+v", rows)
	}
}

// TestStoppedAnywhere stops a node in the transaction of a row, or right after it, for each row of
// a batch and around its end, and continues with another node: every row is done once.
func TestStoppedAnywhere(t *testing.T) {
	for stop, rows := range map[int]int64{0: 4, 1: 4, 2: 4, 3: 4, perBatch - 1: perBatch + 2, perBatch: perBatch + 2, perBatch + 1: perBatch + 2} {
		h := newHarness(t)
		h.sell(int(rows))
		j := h.prepare(bulk.Refund, "")
		h.start(j)
		ctx, kill := context.WithCancel(t.Context())
		first, done, inRow := *h.Bulk, 0, false
		*first.PaidHere() = func(context.Context, license.RefundOrder) (bool, error) { // called when a row begins
			inRow = true
			return false, nil
		}
		first.Now = func() time.Time { // called next when it is done and its result is not written
			if !inRow {
				return h.clock.Now()
			}
			inRow = false
			if done++; done > stop {
				kill()
			}
			return h.clock.Now()
		}
		for ctx.Err() == nil {
			_, _ = first.Once(ctx)
		}
		// SQLite finishes a started transaction, PostgreSQL aborts it.
		if n := h.Count(`SELECT count(*) FROM refunds`); n != int64(stop) && n != int64(stop)+1 || n != int64(len(h.rows(j, bulk.Succeeded))) {
			t.Errorf("stopped at %d: %d rows were done, and %d say so", stop, n, len(h.rows(j, bulk.Succeeded)))
		}
		if j = h.finish(j); j.Succeeded != rows || j.Refused != 0 || j.Status() != batch.Done || len(h.rows(j, bulk.Succeeded)) != int(rows) {
			t.Errorf("stopped at %d: %+v %+v", stop, j, h.rows(j, bulk.Refused))
		}
		if n := h.Count(`SELECT count(*) FROM refunds`); n != rows || h.Count(`SELECT count(*) FROM events WHERE reason = 'refunded'`) != rows ||
			h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'license.refund'`) != rows ||
			h.Count(`SELECT count(DISTINCT subject) FROM audit_entries WHERE action = 'license.refund'`) != rows {
			t.Errorf("stopped at %d: %d refunds", stop, n)
		}
	}
}

// TestSkippedStaysSkipped: a row that was impossible at its check is not done later, even if it is
// possible by then: it was not confirmed.
func TestSkippedStaysSkipped(t *testing.T) {
	h := newHarness(t)
	held := h.sell(2)
	_, err := h.Licenses.Hold(t.Context(), apptest.Tester, held.Key, license.HoldOther)
	h.Must(err)
	j := h.prepare(bulk.Hold, "")
	_, err = h.Licenses.Reinstate(t.Context(), apptest.Tester, held.Key)
	h.Must(err)
	h.start(j)
	if j = h.finish(j); j.Succeeded != 1 || j.Skipped != 1 || j.Refused != 0 || j.Status() != batch.Done {
		t.Errorf("%+v", j)
	}
	if rows := h.rows(j, bulk.Skipped); len(rows) != 1 || rows[0].Subject != held.Key {
		t.Errorf("skipped: %+v", rows)
	}
	if n := h.Count(`SELECT count(*) FROM licenses WHERE held <> 0`); n != 1 {
		t.Errorf("%d licenses are held", n)
	}
}

// TestEachRowIsAudited: every act makes an entry for each row, and a refund one for each of its
// licenses, with the person who confirmed, not the one who prepared.
func TestEachRowIsAudited(t *testing.T) {
	h := newHarness(t)
	h.sell(2)
	h.sell(1)
	h.enrol("Tidal")
	all := bulk.OfLicenses(h.Licenses, license.FindAny{PartnerID: h.tide.ID})
	confirms := audit.Actor{Kind: audit.ByToken, ID: h.by.ID, Name: "who confirms"}
	for _, c := range []struct {
		act     bulk.Act
		kind    bulk.Kind
		selects bulk.Selection
		action  string
		rows    int64
		entries int64
	}{
		{bulk.Hold, "", all, "license.hold", 3, 3},
		{bulk.Reinstate, "", all, "license.reinstate", 3, 3},
		{bulk.Redeliver, "", bulk.OfDeliveries(h.History, h.tide.ID, history.Filter{To: h.clock.Now().Add(time.Hour)}), "event.redeliver", 9, 9},
		{bulk.Refund, bulk.Purchases, bulk.OfSales(h.Licenses, license.FindSales{PartnerID: h.tide.ID}), "license.refund", 2, 3},
		{bulk.Reverse, "", bulk.OfRefunds(h.Licenses, bulk.Licenses, all), "license.refund_reversed", 2, 3},
		{bulk.Pause, "", bulk.OfPartners(h.Partners, bulk.NamedLike("tid")), "partner.pause", 2, 2},
		{bulk.Resume, "", bulk.OfPartners(h.Partners, bulk.NamedLike("tid")), "partner.resume", 2, 2},
	} {
		j, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: c.act, Kind: c.kind, Reason: map[bulk.Act]string{bulk.Pause: "a reason"}[c.act], Select: c.selects})
		h.Must(err)
		_, err = h.Bulk.Start(t.Context(), confirms, j.ID)
		h.Must(err)
		if j = h.finish(j); j.Succeeded != c.rows {
			t.Errorf("%s: %+v", c.act, j)
		}
		if n, of := h.Count(`SELECT count(*) FROM audit_entries WHERE action = $1`, c.action),
			h.Count(`SELECT count(*) FROM audit_entries WHERE action = $1 AND actor_name = $2`, c.action, confirms.Name); n != c.entries || of != c.entries {
			t.Errorf("%s: %d entries, %d of them with who confirmed; want %d", c.act, n, of, c.entries)
		}
	}
}

// TestPaidHereIsNotRecorded: a bulk act records no refund without a movement of money.
func TestPaidHereIsNotRecorded(t *testing.T) {
	h := newHarness(t)
	h.sell(2)
	*h.Bulk.PaidHere() = func(context.Context, license.RefundOrder) (bool, error) { return true, nil }
	j := h.prepare(bulk.Refund, "")
	if j.Skipped != j.Total || j.Total == 0 {
		t.Errorf("of %d rows %d are skipped", j.Total, j.Skipped)
	}
}

// TestRefundWithoutPayments: without a payment provider, each refund is only recorded.
func TestRefundWithoutPayments(t *testing.T) {
	h := newHarness(t)
	h.sell(2)
	h.Bulk.Payments = nil
	j := h.prepare(bulk.Refund, "")
	h.start(j)
	if j = h.finish(j); j.Succeeded != 2 || h.Count(`SELECT count(*) FROM licenses WHERE ended`) != 2 {
		t.Errorf("refunded: %+v", j)
	}
}

// TestUnreadableVersion: a row is not done if nobody knows how its license was when it was
// checked.
func TestUnreadableVersion(t *testing.T) {
	h := newHarness(t)
	h.sell(2)
	j := h.prepare(bulk.Refund, "")
	h.Exec(`UPDATE bulk_rows SET seen = '{' WHERE position = 1`)
	h.start(j)
	if j = h.waitsOut(j); j.Succeeded != 1 || j.Failed != 1 || h.Count(`SELECT count(*) FROM refunds`) != 1 {
		t.Errorf("%+v", j)
	}
}
