package bulk_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/webhook/history"
)

// TestScopes: an act on many rows needs the same scope as on one, and applies only to its kinds.
func TestScopes(t *testing.T) {
	want := map[bulk.Act]struct {
		scope account.Scope
		kinds []bulk.Kind
	}{
		bulk.Hold:      {account.Support, []bulk.Kind{bulk.Licenses}},
		bulk.Reinstate: {account.Support, []bulk.Kind{bulk.Licenses}},
		bulk.Redeliver: {account.Support, []bulk.Kind{bulk.Events}},
		bulk.Refund:    {account.Sell, []bulk.Kind{bulk.Licenses, bulk.Purchases}},
		bulk.Reverse:   {account.Sell, []bulk.Kind{bulk.Licenses, bulk.Purchases}},
		bulk.Pause:     {account.Admin, []bulk.Kind{bulk.Partners}},
		bulk.Resume:    {account.Admin, []bulk.Kind{bulk.Partners}},
	}
	for _, act := range bulk.Acts {
		if act.Scope() != want[act].scope || !slices.Equal(act.Kinds(), want[act].kinds) {
			t.Errorf("%s needs %s, of %v", act, act.Scope(), act.Kinds())
		}
	}
	if len(bulk.Acts) != len(want) || bulk.Act("erase").Kinds() != nil || bulk.Act("erase").Scope() != account.Admin {
		t.Errorf("acts: %v", bulk.Acts)
	}
	for field, o := range map[string]bulk.Order{
		"act must be one of hold, reinstate, refund, reverse, redeliver, pause, resume.": {Act: "erase"},
		"kind must be licenses or purchases for the act refund.":                         {Act: bulk.Refund, Kind: bulk.Partners},
	} {
		if f := fault.Of(o.Check()); f == nil || f.Text != field {
			t.Errorf("%+v: %v, want %q", o, o.Check(), field)
		}
	}
}

// TestScopeStopsAnAct: a token without the scope of an act does no row of it.
func TestScopeStopsAnAct(t *testing.T) {
	for act, scope := range map[bulk.Act]account.Scope{bulk.Hold: account.Sell, bulk.Refund: account.Support} {
		h := newHarness(t)
		h.sell(1)
		j := h.prepare(act, "")
		h.start(j)
		h.Exec(`UPDATE operator_tokens SET scopes = $1`, string(scope))
		if j = h.finish(j); j.Succeeded != 0 || j.Stopped == "" {
			t.Errorf("%s with the scope %s: %+v", act, scope, j)
		}
	}
}

// TestShownBeforeConfirmed: the effects on events and partners are shown.
func TestShownBeforeConfirmed(t *testing.T) {
	h := newHarness(t)
	h.sell(1)
	events := func() bulk.Job {
		return h.of(bulk.Redeliver, bulk.Events, bulk.OfDeliveries(h.History, h.tide.ID, history.Filter{}))
	}
	partners := func(act bulk.Act, reason string) bulk.Job {
		j, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: act, Reason: reason, Select: bulk.OfPartners(h.Partners, bulk.NamedLike(""))})
		h.Must(err)
		return j
	}
	const sent = "It is sent again, and after it the newest event of its license."
	h.wantEffects(events(), bulk.Effect{Will: sent, Rows: 1})
	h.Exec(`DELETE FROM outbox`)
	h.wantEffects(events(), bulk.Effect{Will: "The partner has accepted it before. " + sent, Rows: 1})
	h.wantEffects(partners(bulk.Pause, "fraud"), bulk.Effect{
		Will: "Nothing of it is sold, redeemed or authorized any more, and its events wait.", Rows: 1,
	})
	_, _, err := h.Profiles.Pause(t.Context(), apptest.Tester, h.tide.ID, "fraud")
	h.Must(err)
	h.wantEffects(partners(bulk.Resume, ""), bulk.Effect{
		Will: "It is sold, redeemed and authorized again, and the events that waited are sent.", Rows: 1,
	})
}

// TestLateCheck: a node that checks rows more slowly than another does not change the other's
// findings, which may be confirmed already.
func TestLateCheck(t *testing.T) {
	h := newHarness(t)
	h.sell(2)
	fast := *h.Bulk
	*fast.PaidHere() = nil
	*h.Bulk.PaidHere() = func(ctx context.Context, _ license.RefundOrder) (bool, error) {
		_, err := fast.Once(ctx)
		return true, err
	}
	j := h.prepare(bulk.Refund, "")
	if j.Checked != 2 || j.Skipped != 0 || len(h.rows(j, bulk.Skipped)) != 0 {
		t.Errorf("%+v: skipped %+v", j, h.rows(j, bulk.Skipped))
	}
	for _, row := range h.rows(j, bulk.Open) {
		if row.Will == "" || !row.DoneAt.IsZero() {
			t.Errorf("%+v", row)
		}
	}
	*h.Bulk.PaidHere() = nil
	h.start(j)
	if j = h.finish(j); j.Succeeded != 2 {
		t.Errorf("%+v", j)
	}
}

// TestRemovedPartner: nothing is done to a partner that was deleted after its selection.
func TestRemovedPartner(t *testing.T) {
	h := newHarness(t)
	one := func(context.Context, int) ([]bulk.Target, error) {
		return []bulk.Target{{ID: h.tide.ID + 1000, Subject: "Gone"}}, nil
	}
	j, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: bulk.Pause, Reason: "fraud", Select: one})
	h.Must(err)
	if rows := h.rows(j, bulk.Skipped); len(rows) != 1 || rows[0].Code != partner.CodeUnknownPartner {
		t.Errorf("%+v: %+v", j, rows)
	}
	if _, err := h.Bulk.Start(t.Context(), h.by, j.ID); !fault.Is(err, "nothing_selected") {
		t.Errorf("with nothing to do: %v", err)
	}
}

// TestResumedPartnerIsSentTo: its endpoint is no longer parked.
func TestResumedPartnerIsSentTo(t *testing.T) {
	h := newHarness(t)
	_, _, err := h.Profiles.Pause(t.Context(), apptest.Tester, h.tide.ID, "fraud")
	h.Must(err)
	h.Exec(`DELETE FROM endpoints`)
	h.Exec(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at)
		VALUES ($1, 1, 1, 1, 2, 0, 1)`, h.tide.ID)
	j, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: bulk.Resume, Select: bulk.OfPartners(h.Partners, bulk.NamedLike(""))})
	h.Must(err)
	h.start(j)
	h.finish(j)
	if n := h.Count(`SELECT count(*) FROM endpoints WHERE parked_at <> 0`); n != 0 {
		t.Errorf("%d endpoints are parked", n)
	}
}

// TestOneRefundIsReversedOnce: a refund of many selected licenses is one row, and the rows are in
// the order of the refunds.
func TestOneRefundIsReversedOnce(t *testing.T) {
	h := newHarness(t)
	sales := make([]license.Sale, 2)
	for i := range sales {
		var err error
		sales[i], err = h.Licenses.Purchase(t.Context(), apptest.Tester, license.Purchase{
			PartnerID: h.tide.ID, Tier: 1, Quantity: 2, Currency: "USD", Buyer: &account.Person{Email: "ann@example.com"},
		})
		h.Must(err)
		_, err = h.Licenses.Refund(t.Context(), apptest.Tester, license.RefundOrder{PurchaseID: sales[i].ID})
		h.Must(err)
	}
	const many = 600 // more than are read at a time
	targets := make([]bulk.Target, many)
	targets[0].ID, targets[1].ID = sales[1].Licenses[0].ID, sales[1].Licenses[1].ID
	targets[many-2].ID, targets[many-1].ID = sales[0].Licenses[0].ID, sales[1].Licenses[1].ID
	selected := func(context.Context, int) ([]bulk.Target, error) { return targets, nil }
	found, err := bulk.OfRefunds(h.Licenses, bulk.Licenses, selected)(t.Context(), many+1)
	if err != nil || len(found) != 2 || found[0].ID >= found[1].ID || found[0].PartnerID != h.tide.ID {
		t.Errorf("selected %+v, %v", found, err)
	}
	for _, most := range []int{many, many - 99} { // lists are read in batches, so one may end beyond most
		found, err = bulk.OfRefunds(h.Licenses, bulk.Licenses, selected)(t.Context(), most)
		if err != nil || len(found) < most {
			t.Errorf("of more than %d, %d are left, %v", most-1, len(found), err)
		}
	}
}

// TestBusyIsNoRefusal: a row that cannot be done now is not given up.
func TestBusyIsNoRefusal(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Busy, fault.Throttled} {
		h := newHarness(t)
		h.sell(1)
		j := h.prepare(bulk.Refund, "")
		h.start(j)
		*h.Bulk.PaidHere() = func(context.Context, license.RefundOrder) (bool, error) {
			return false, fault.New(kind, "busy", "Try again later.")
		}
		if _, err := h.Bulk.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		*h.Bulk.PaidHere() = nil
		if j = h.waitsOut(j); j.Succeeded != 1 || j.Refused != 0 || j.Failed != 0 {
			t.Errorf("%v: %+v", kind, j)
		}
	}
}

// TestActsOnJobsAreAudited: confirming, pausing, resuming and cancelling are each audited once.
func TestActsOnJobsAreAudited(t *testing.T) {
	h := newHarness(t)
	h.sell(30)
	j := h.prepare(bulk.Hold, "")
	started, err := h.Bulk.Start(t.Context(), h.by, j.ID)
	if err != nil || started.By != h.by || !started.StartedAt.Equal(h.clock.Now()) || !started.UpdatedAt.Equal(h.clock.Now()) {
		t.Errorf("started %+v, %v", started, err)
	}
	for _, act := range []func(context.Context, audit.Actor, int64) (bulk.Job, error){
		h.Bulk.Pause, h.Bulk.Pause, h.Bulk.Resume, h.Bulk.Resume, h.Bulk.Cancel,
	} {
		_, err := act(t.Context(), h.by, j.ID)
		h.Must(err)
	}
	for _, action := range []string{"bulk.start", "bulk.pause", "bulk.resume", "bulk.cancel"} {
		n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = $1 AND actor_kind = 'token' AND actor_id = $2`, action, h.by.ID)
		if n != 1 {
			t.Errorf("%d audit entries of %s", n, action)
		}
	}
}

// TestConfirmedAsShown: the same number of different rows does not count as shown.
func TestConfirmedAsShown(t *testing.T) {
	h := newHarness(t)
	h.sell(3)
	j := h.prepare(bulk.Hold, "")
	shown, err := h.Bulk.LeaveOut(t.Context(), h.by, j.ID, []int64{1})
	if err != nil || shown.Skipped != 1 || shown.Left() != 2 || len(h.rows(j, bulk.Skipped)) != 1 {
		t.Fatalf("one row is left out: %+v, %v", shown, err)
	}
	h.clock.Advance(time.Second)
	_, err = h.Bulk.PutBack(t.Context(), h.by, j.ID, []int64{1})
	h.Must(err)
	now, err := h.Bulk.LeaveOut(t.Context(), h.by, j.ID, []int64{2})
	if err != nil || now.Left() != shown.Left() {
		t.Fatalf("%+v, %v", now, err)
	}
	if _, err := h.Bulk.StartAs(t.Context(), h.by, shown); !fault.Is(err, "changed_since") {
		t.Errorf("confirmed what was not shown: %v", err)
	}
	confirms := audit.Actor{Kind: audit.ByUser, ID: 9, Name: "Bea"}
	if j, err := h.Bulk.StartAs(t.Context(), confirms, now); err != nil || j.By != confirms {
		t.Errorf("confirmed what was shown: by %+v, %v", j.By, err)
	}
}

func TestReadJobs(t *testing.T) {
	h := newHarness(t)
	h.sell(1)
	j := h.prepare(bulk.Hold, "")
	if _, err := h.Bulk.Get(t.Context(), j.ID+1); !fault.Is(err, "unknown_bulk") {
		t.Errorf("an unknown job: %v", err)
	}
	list, err := h.Bulk.List(t.Context(), 0, 10)
	if err != nil || len(list) != 1 || list[0].ID != j.ID {
		t.Errorf("listed %+v, %v", list, err)
	}
	before, err := h.Bulk.Versions(t.Context(), []int64{j.ID})
	h.Must(err)
	h.start(j)
	h.clock.Advance(time.Second)
	h.finish(j)
	after, err := h.Bulk.Versions(t.Context(), []int64{j.ID})
	h.Must(err)
	if before[j.ID] == "" || before[j.ID] == after[j.ID] {
		t.Errorf("versions %v and %v", before, after)
	}
	for text, want := range map[string]struct {
		result bulk.Result
		ok     bool
	}{"open": {bulk.Open, true}, "refused": {bulk.Refused, true}, "skipped": {bulk.Skipped, true}, "": {bulk.Open, false}} {
		if r, ok, err := bulk.ParseResult(text); r != want.result || ok != want.ok || err != nil {
			t.Errorf("%q: %v, %v, %v", text, r, ok, err)
		}
	}
	if _, ok, err := bulk.ParseResult("done"); ok || fault.Of(err) == nil {
		t.Errorf("an unknown result: %v, %v", ok, err)
	}
}
