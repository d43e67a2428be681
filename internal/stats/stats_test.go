package stats_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/stats"
)

var tester = apptest.Tester

// noon is the start of the tests.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// harness is an application with a stopped clock, and a partner that sells two tiers.
type harness struct {
	*apptest.Harness
	clock   *apptest.Clock
	partner partner.Partner
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	h := &harness{clock: apptest.StoppedClock(noon)}
	h.Harness = apptest.New(t, h.clock.Set)
	h.partner = h.enrol("Ours")
	return h
}

func (h *harness) enrol(name string) partner.Partner {
	h.Helper()
	p, _ := h.Partner(name, profile.URLs{})
	h.Plans(p.ID, 2, partner.Plan{PriceCents: 100, Currency: "USD"})
	return p
}

// sell sells licenses and returns the first.
func (h *harness) sell(p partner.Partner, quantity int) license.License {
	h.Helper()
	return h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: quantity, Buyer: &account.Person{Email: "ann@example.com"}})
}

// count counts everything.
func (h *harness) count() {
	h.Helper()
	for {
		more, err := h.Stats.Count(h.Context())
		h.Must(err)
		if !more {
			return
		}
	}
}

// read reads the numbers of our partner.
func (h *harness) read(days, hours int) stats.Numbers {
	h.Helper()
	n, err := h.Stats.Read(h.Context(), h.partner.ID, stats.Query{Days: days, Hours: hours})
	h.Must(err)
	return n
}

// attempt records an attempt to deliver the newest event of a license.
func (h *harness) attempt(l license.License, status int, took time.Duration) {
	h.Helper()
	id := h.Count(`SELECT max(id) FROM events WHERE license_id = $1`, l.ID)
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		insertAttempt(tx, id, status, took, h.clock.Now())
		return nil
	}))
}

func insertAttempt(tx *sqldb.Tx, eventID int64, status int, took time.Duration, at time.Time) {
	sqldb.MarkRows(tx, "webhook_responses")
	tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
		VALUES ($1, '', $2, '', $3, '', $4, $5, $5)`, eventID, status, took.Milliseconds(), status == 200, at)
}

// TestDays follows licenses through every change of their status. The numbers are the same before,
// during and after counting.
func TestDays(t *testing.T) {
	h := newHarness(t)
	other := h.enrol("Other")
	do := func(l license.License, err error) license.License {
		t.Helper()
		h.Must(err)
		return l
	}
	first, second := h.sell(h.partner, 3), h.sell(h.partner, 1)
	h.sell(other, 5)
	h.clock.Advance(day)
	do(h.Licenses.Activate(t.Context(), apptest.Tester, first.Key, nil))
	_, err := h.Licenses.ChangePlan(t.Context(), apptest.Tester, first.Key, license.PlanChange{Tier: 2})
	h.Must(err)
	h.clock.Advance(day)
	do(h.Licenses.Hold(t.Context(), apptest.Tester, first.Key, 1))
	do(h.Licenses.Reinstate(t.Context(), apptest.Tester, first.Key))
	h.clock.Advance(6 * day)
	do(h.Licenses.Activate(t.Context(), apptest.Tester, second.Key, nil)) // too late to be soon
	_, err = h.Licenses.Refund(t.Context(), apptest.Tester, license.RefundOrder{LicenseKey: second.Key})
	h.Must(err)

	begin := time.Date(2026, 11, 14, 0, 0, 0, 0, time.UTC)
	want := make([]stats.Day, 10)
	for i := range want {
		want[i].At = begin.Add(time.Duration(i) * day)
	}
	want[1] = stats.Day{At: want[1].At, Sold: 4, ActivatedSoon: 1}
	want[2].Activated = 1
	want[3].Deactivated, want[3].Activated = 1, 1
	want[9].Activated, want[9].Deactivated, want[9].Refunded = 1, 1, 1
	for _, when := range []string{"before", "after"} {
		got := h.read(10, 0)
		if diff := cmp.Diff(want, got.Days); diff != "" || !got.CountedTo.IsZero() {
			t.Errorf("%s they are counted, to %v (-want +got)\n%s", when, got.CountedTo, diff)
		}
		h.count()
	}
	if n := h.Count(`SELECT CAST(sum(sold) AS bigint) FROM stats_days`); n != 9 {
		t.Errorf("counted %d sales of all partners, want 9", n)
	}
}

// TestImports: licenses sold elsewhere count as neither sold nor activated here, until one is
// activated.
func TestImports(t *testing.T) {
	h := newHarness(t)
	var list []license.Import
	for i, status := range []event.Status{event.Inactive, event.Active, event.Deactivated} {
		list = append(list, license.Import{
			Key: fmt.Sprintf("3f2c1b4e-8a6d-4c7f-9b0e-%012d", i), PartnerID: h.partner.ID, Tier: 1, Status: status, Email: "ann@example.com", SoldAt: noon.Add(-day),
		})
	}
	_, err := h.Licenses.Import(t.Context(), apptest.Tester, list, license.ImportOptions{})
	h.Must(err)
	_, err = h.Licenses.Activate(t.Context(), apptest.Tester, list[0].Key, nil)
	h.Must(err)
	h.count()
	want := []stats.Day{{At: noon.Truncate(day), Activated: 1}}
	if diff := cmp.Diff(want, h.read(1, 0).Days); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestHours counts the results of attempts and the durations of answers.
func TestHours(t *testing.T) {
	h := newHarness(t)
	l := h.sell(h.partner, 1)
	for range 90 {
		h.attempt(l, 200, 40*time.Millisecond)
	}
	h.count()
	h.clock.Advance(time.Minute)
	for range 10 {
		h.attempt(l, 401, 900*time.Millisecond)
	}
	h.clock.Advance(time.Hour)
	h.attempt(l, 0, 10*time.Second)
	for _, when := range []string{"before", "after"} {
		got := h.read(0, 3)
		if len(got.Hours) != 3 {
			t.Fatalf("%d hours", len(got.Hours))
		}
		at := noon.Add(-time.Hour)
		for i, want := range []struct{ succeeded, failed int64 }{{0, 0}, {90, 10}, {0, 1}} {
			if g := got.Hours[i]; g.Succeeded != want.succeeded || g.Failed != want.failed || !g.At.Equal(at.Add(time.Duration(i)*time.Hour)) {
				t.Errorf("%s: hour %d is %+v", when, i, g)
			}
		}
		p50, ok := got.Hours[1].Latency.Quantile(0.5)
		p95, _ := got.Hours[1].Latency.Quantile(0.95)
		if !ok || p50 < 35*time.Millisecond || p50 > 50*time.Millisecond || p95 < 750*time.Millisecond || p95 > time.Second {
			t.Errorf("%s: p50 %v, p95 %v", when, p50, p95)
		}
		if _, ok := got.Hours[2].Latency.Quantile(0.5); ok {
			t.Errorf("%s: an attempt without an answer has a latency", when)
		}
		want := []stats.Failures{
			{Hour: noon, Status: 401, Count: 10, FirstAt: noon.Add(time.Minute), LastAt: noon.Add(time.Minute)},
			{Hour: noon.Add(time.Hour), Count: 1, FirstAt: noon.Add(61 * time.Minute), LastAt: noon.Add(61 * time.Minute)},
		}
		if diff := cmp.Diff(want, got.Failures); diff != "" {
			t.Errorf("%s: failures (-want +got)\n%s", when, diff)
		}
		h.count()
	}
}

func TestQuantiles(t *testing.T) {
	var h stats.Histogram
	if _, ok := h.Quantile(0.5); ok {
		t.Error("nothing has a median")
	}
	h[0] = 100 // within 5 ms
	if d, _ := h.Quantile(0.5); d != 3*time.Millisecond {
		t.Errorf("the median of 100 below 5 ms is %v", d)
	}
	h = stats.Histogram{}
	h[len(h)-1] = 3
	if d, _ := h.Quantile(0.95); d != 10*time.Second {
		t.Errorf("of what took longer than all bounds: %v", d)
	}
}

// TestOldHours: attempts older than the retention are not counted, and expired hours are pruned.
func TestOldHours(t *testing.T) {
	h := newHarness(t)
	l := h.sell(h.partner, 1)
	h.attempt(l, 401, time.Second)
	h.clock.Advance(stats.HoursKept + 2*time.Hour)
	h.attempt(l, 200, time.Second)
	h.count()
	if n := h.Count(`SELECT count(*) FROM stats_hours`); n != 1 {
		t.Errorf("%d hours, want the present one", n)
	}
	h.clock.Advance(stats.HoursKept + 2*time.Hour)
	if n, err := prune.Rows(t.Context(), h.DB, h.Stats.Now(), stats.Expiring()); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	if n := h.Count(`SELECT count(*) FROM stats_days`); n != 1 {
		t.Errorf("%d days; days stay", n)
	}
}
