package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/prune"
	"claviger/internal/webhook/history"
)

// perBatch is the number of rows between two checks of the role.
const perBatch = 25

// harness is an application with a partner and a token with all scopes.
type harness struct {
	*apptest.Harness
	clock *apptest.Clock
	tide  partner.Partner
	by    audit.Actor
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{clock: apptest.StoppedClock(time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC))}
	h.Harness = apptest.New(t, h.clock.Set)
	h.tide = h.enrol("Tide Planner")
	token, _, err := h.Accounts.AddToken(t.Context(), apptest.Tester, "back office", []account.Scope{account.Admin}, time.Time{}, "")
	h.Must(err)
	h.by = audit.Actor{Kind: audit.ByToken, ID: token.ID, Name: token.Name}
	return h
}

func (h *harness) enrol(name string) partner.Partner {
	h.Helper()
	p, _ := h.Partner(name, profile.URLs{})
	h.Plans(p.ID, 2, partner.Plan{PriceCents: 100, Currency: "USD"})
	return p
}

// sell sells licenses.
func (h *harness) sell(n int) license.License {
	h.Helper()
	return h.Buy(license.Purchase{PartnerID: h.tide.ID, Tier: 1, Quantity: n, Buyer: &account.Person{Email: "ann@example.com"}})
}

// prepare prepares an act on all licenses of the partner.
func (h *harness) prepare(act bulk.Act, reason string) bulk.Job {
	h.Helper()
	j, err := h.Bulk.Prepare(h.Context(), h.by, bulk.Order{Act: act, Reason: reason, Selected: "all", Select: bulk.OfLicenses(h.Licenses, license.FindAny{PartnerID: h.tide.ID})})
	h.Must(err)
	return j
}

func (h *harness) start(j bulk.Job) {
	h.Helper()
	_, err := h.Bulk.Start(h.Context(), h.by, j.ID)
	h.Must(err)
}

// once runs a batch and returns the job.
func (h *harness) once(j bulk.Job) bulk.Job {
	h.Helper()
	_, err := h.Bulk.Once(h.Context())
	h.Must(err)
	j, err = h.Bulk.Get(h.Context(), j.ID)
	h.Must(err)
	return j
}

// finish works until nothing is left to do.
func (h *harness) finish(j bulk.Job) bulk.Job {
	h.Helper()
	for {
		more, err := h.Bulk.Once(h.Context())
		h.Must(err)
		if !more {
			return h.once(j)
		}
	}
}

func (h *harness) rows(j bulk.Job, of bulk.Result) []bulk.Row {
	h.Helper()
	rows, err := h.Bulk.Rows(h.Context(), j.ID, 0, of, true, bulk.MaxRows)
	h.Must(err)
	return rows
}

// TestHold: the selected licenses are held, row by row, each with its audit entry. An impossible
// row is skipped with a reason, and licenses sold since are not affected.
func TestHold(t *testing.T) {
	h := newHarness(t)
	held := h.sell(40)
	_, err := h.Licenses.Hold(t.Context(), apptest.Tester, held.Key, license.HoldOther)
	h.Must(err)
	before := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'license.hold'`)
	j := h.prepare(bulk.Hold, "chargeback")
	if j.Total != 40 || j.Skipped != 1 || j.Left() != 39 || j.Status() != bulk.Prepared {
		t.Fatalf("prepared %+v", j)
	}
	h.sell(1)
	if more, err := h.Bulk.Once(t.Context()); more || err != nil {
		t.Fatalf("a job that nobody confirmed: %v, %v", more, err)
	}
	h.start(j)
	if j = h.once(j); j.Succeeded+j.Refused != perBatch || j.Status() != batch.Running {
		t.Errorf("after a batch: %+v", j)
	}
	if j = h.finish(j); j.Succeeded != 39 || j.Refused != 0 || j.Status() != batch.Done {
		t.Errorf("at the end: %+v", j)
	}
	if rows := h.rows(j, bulk.Skipped); len(rows) != 1 || rows[0].Subject != held.Key || rows[0].Code != "license_held" || rows[0].Message == "" || rows[0].Was != "deactivated, on hold" {
		t.Errorf("refused: %+v", rows)
	}
	if n := h.Count(`SELECT count(*) FROM licenses WHERE held <> 0`); n != 40 {
		t.Errorf("%d licenses are held", n)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'license.hold' AND actor_kind = 'token'`); n != 39 || before != 1 {
		t.Errorf("%d audit entries", n)
	}
	if _, err := h.Bulk.Start(t.Context(), h.by, j.ID); !fault.Is(err, "bulk_started") {
		t.Errorf("confirmed again: %v", err)
	}
}

// TestRowsAreDoneOnce: nodes that run the same job concurrently refund each license once.
func TestRowsAreDoneOnce(t *testing.T) {
	h := newHarness(t)
	h.sell(60)
	j := h.prepare(bulk.Refund, "a note")
	h.start(j)
	var nodes sync.WaitGroup
	for range 3 {
		nodes.Go(func() {
			for more := true; more; {
				var err error
				if more, err = h.Bulk.Once(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	nodes.Wait()
	if j = h.finish(j); j.Succeeded != 60 || j.Refused != 0 || j.Status() != batch.Done {
		t.Errorf("at the end: %+v; refused %+v", j, h.rows(j, bulk.Refused))
	}
	if n := h.Count(`SELECT count(*) FROM refunds`); n != 60 {
		t.Errorf("%d refunds", n)
	}
}

// TestPauseAndCancel: both apply from the next row on, and finished rows stay done.
func TestPauseAndCancel(t *testing.T) {
	h := newHarness(t)
	h.sell(60)
	j := h.prepare(bulk.Hold, "")
	if _, err := h.Bulk.Pause(t.Context(), h.by, j.ID); !fault.Is(err, "bulk_not_started") {
		t.Errorf("paused before it began: %v", err)
	}
	h.start(j)
	h.once(j)
	_, err := h.Bulk.Pause(t.Context(), h.by, j.ID)
	h.Must(err)
	if j = h.once(j); j.Succeeded != perBatch || j.Status() != batch.Paused {
		t.Errorf("paused: %+v", j)
	}
	_, err = h.Bulk.Resume(t.Context(), h.by, j.ID)
	h.Must(err)
	if j = h.once(j); j.Succeeded != 2*perBatch {
		t.Errorf("resumed: %+v", j)
	}
	_, err = h.Bulk.Cancel(t.Context(), h.by, j.ID)
	h.Must(err)
	if j = h.finish(j); j.Succeeded != 2*perBatch || j.Status() != batch.Stopped || len(h.rows(j, bulk.Open)) != 10 {
		t.Errorf("cancelled: %+v", j)
	}
	if _, err := h.Bulk.Resume(t.Context(), h.by, j.ID); !fault.Is(err, "bulk_done") {
		t.Errorf("resumed when it was over: %v", err)
	}
	if _, err := h.Bulk.Cancel(t.Context(), h.by, j.ID+1); !fault.Is(err, "unknown_bulk") {
		t.Errorf("cancelled what does not exist: %v", err)
	}
}

// TestCancelWithinABatch: a job that is cancelled after a node has read it does no row.
func TestCancelWithinABatch(t *testing.T) {
	h := newHarness(t)
	h.sell(3)
	j := h.prepare(bulk.Hold, "")
	h.start(j)
	// Called between reading the job and its rows.
	*h.Bulk.May() = func(ctx context.Context, _ audit.Actor, _ account.Scope) (bool, error) {
		_, err := h.Bulk.Cancel(ctx, h.by, j.ID)
		return true, err
	}
	if j = h.once(j); j.Succeeded != 0 || j.Status() != batch.Stopped || h.Count(`SELECT count(*) FROM licenses WHERE held <> 0`) != 0 {
		t.Errorf("%+v", j)
	}
}

// TestRoleIsCheckedPerBatch: a revoked token, or a person without the role, does no further row.
func TestRoleIsCheckedPerBatch(t *testing.T) {
	h := newHarness(t)
	h.sell(60)
	j := h.prepare(bulk.Hold, "")
	h.start(j)
	h.once(j)
	_, err := h.Accounts.RevokeToken(t.Context(), apptest.Tester, h.by.ID)
	h.Must(err)
	if j = h.finish(j); j.Succeeded != perBatch || j.Status() != batch.Stopped || j.Stopped == "" {
		t.Errorf("%+v", j)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'bulk.stop'`); n != 1 {
		t.Errorf("%d audit entries", n)
	}
	for by, want := range map[audit.Actor]bool{
		h.by: false, {Kind: audit.ByUser, ID: h.User("ann@example.com").ID}: false, {Kind: audit.ByUser, ID: 99}: false, {Kind: audit.ByPartner, ID: 1}: false, apptest.Tester: true,
	} {
		if may, err := h.Accounts.MayStill(t.Context(), by, account.Support); may != want || err != nil {
			t.Errorf("%+v: %v, %v", by, may, err)
		}
	}
}

// TestRedeliver: events are made due in order, each marked with the person.
func TestRedeliver(t *testing.T) {
	h := newHarness(t)
	h.sell(3)
	h.Exec(`DELETE FROM outbox`)
	for _, id := range []int64{h.tide.ID, 0} {
		j, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: bulk.Redeliver, Select: bulk.OfDeliveries(h.History, id, history.Filter{State: history.Delivered})})
		h.Must(err)
		var ids []string
		for _, row := range h.rows(j, bulk.Open) {
			ids = append(ids, row.Subject)
		}
		if fmt.Sprint(ids) != "[1 2 3]" {
			t.Errorf("selected %v", ids)
		}
		h.start(j)
		if j = h.finish(j); j.Succeeded != 3 || j.Refused != 0 || h.Count(`SELECT count(*) FROM outbox WHERE state = 1`) != 3 {
			t.Errorf("%+v: %+v", j, h.rows(j, bulk.Refused))
		}
		h.Exec(`DELETE FROM outbox`)
		h.clock.Advance(time.Second)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'event.redeliver'`); n != 6 {
		t.Errorf("%d audit entries", n)
	}
}

// TestPausePartners: paused partners are skipped; all are resumed again.
func TestPausePartners(t *testing.T) {
	h := newHarness(t)
	other := h.enrol("Tidal")
	h.enrol("Another")
	_, _, err := h.Profiles.Pause(t.Context(), apptest.Tester, other.ID, "before")
	h.Must(err)
	j, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: bulk.Pause, Reason: "an investigation", Select: bulk.OfPartners(h.Partners, bulk.NamedLike("tid"))})
	h.Must(err)
	h.start(j)
	if j = h.finish(j); j.Total != 2 || j.Succeeded != 1 || j.Skipped != 1 {
		t.Errorf("%+v", j)
	}
	if n := h.Count(`SELECT count(*) FROM partners WHERE paused_at <> 0 AND pause_reason <> ''`); n != 2 {
		t.Errorf("%d partners are paused", n)
	}
	j, err = h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: bulk.Resume, Select: bulk.OfPartners(h.Partners, bulk.NamedLike(""))})
	h.Must(err)
	_, _, err = h.Profiles.Pause(t.Context(), apptest.Tester, other.ID, "another reason")
	h.Must(err)
	h.start(j)
	if j = h.finish(j); j.Total != 3 || j.Skipped != 1 || j.Succeeded != 1 || j.Refused != 1 {
		t.Errorf("resumed: %+v", j)
	}
	if rows := h.rows(j, bulk.Refused); len(rows) != 1 || rows[0].ID != other.ID || rows[0].Code != "changed_since" {
		t.Errorf("a pause that changed: %+v", rows)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'partner.resume'`); n != 1 {
		t.Errorf("%d were resumed", n)
	}
}

// TestPauseTwice: a partner that somebody paused after it was checked keeps that pause.
func TestPauseTwice(t *testing.T) {
	h := newHarness(t)
	all := bulk.OfPartners(h.Partners, bulk.NamedLike(""))
	j, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: bulk.Pause, Reason: "a reason", Select: all})
	h.Must(err)
	_, _, err = h.Profiles.Pause(t.Context(), apptest.Tester, h.tide.ID, "before")
	h.Must(err)
	h.start(j)
	if rows := h.rows(h.finish(j), bulk.Refused); len(rows) != 1 || rows[0].Code != "partner_already_paused" {
		t.Errorf("refused: %+v", rows)
	}
	if n := h.Count(`SELECT count(*) FROM partners WHERE paused_at <> 0 AND pause_reason = 'before'`); n != 1 {
		t.Error("the pause was changed")
	}
}

// TestSelection: nothing, too much and a reason that no row can have are refused before
// anything is written.
func TestSelection(t *testing.T) {
	h := newHarness(t)
	of := func(n int) bulk.Selection {
		return func(_ context.Context, most int) ([]bulk.Target, error) {
			return make([]bulk.Target, min(n, most)), nil
		}
	}
	for name, c := range map[string]struct {
		order bulk.Order
		code  string
	}{
		"nothing":       {bulk.Order{Act: bulk.Hold, Select: of(0)}, "nothing_selected"},
		"too much":      {bulk.Order{Act: bulk.Hold, Select: of(bulk.MaxRows + 5)}, "too_many_selected"},
		"no reason":     {bulk.Order{Act: bulk.Pause, Select: of(1)}, "invalid_field"},
		"a wrong one":   {bulk.Order{Act: bulk.Hold, Reason: "dislike", Select: of(1)}, "invalid_field"},
		"an odd act":    {bulk.Order{Act: "erase", Select: of(1)}, "invalid_field"},
		"an odd kind":   {bulk.Order{Act: bulk.Hold, Kind: bulk.Partners, Select: of(1)}, "invalid_field"},
		"the very most": {bulk.Order{Act: bulk.Redeliver, Select: of(bulk.MaxRows)}, ""},
	} {
		if _, err := h.Bulk.Prepare(t.Context(), h.by, c.order); c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	half := func(context.Context, int) ([]bulk.Target, error) { return make([]bulk.Target, 1), errBroken }
	_, err := h.Bulk.Prepare(t.Context(), h.by, bulk.Order{Act: bulk.Hold, Select: half})
	if !errors.Is(err, errBroken) {
		t.Errorf("a selection that fails: %v", err)
	}
	if n := h.Count(`SELECT count(*) FROM bulk_jobs`); n != 1 {
		t.Errorf("%d jobs", n)
	}
	h.clock.Advance(48 * time.Hour)
	if n, err := prune.Rows(t.Context(), h.DB, h.clock.Now(), bulk.Expiring(time.Hour)); n != 1 || err != nil || h.Count(`SELECT count(*) FROM bulk_rows`) != 0 {
		t.Errorf("pruned %d, %v", n, err)
	}
}
