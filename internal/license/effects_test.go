package license_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/license"
)

// TestNothingNewIsNotRecorded checks that a command without an effect writes nothing. The same plan
// again is a purchase only if it has an external id, by which it can be refunded.
func TestNothingNewIsNotRecorded(t *testing.T) {
	h := newHarness(t)
	s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, ExternalID: "base"})[0]}
	s.steps(t, []string{"hold"})
	before := h.everything()
	s.steps(t, []string{"hold", "plan 1"})
	if diff := cmp.Diff(before, h.everything()); diff != "" {
		t.Errorf("it changed (-before +after)\n%s", diff)
	}
	s.steps(t, []string{"plan 1 again", "reported base"})
	for open, action := range map[int]string{2: "license.plan", 1: "license.refund"} {
		after := fmt.Sprintf(`%%"open_purchases":%d,%%"purchases":2,%%`, open)
		if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = $1 AND after LIKE $2`, action, after); n != 1 {
			t.Errorf("%s: %d entries with %d open purchases", action, n, open)
		}
	}
}

// TestEventTimesRise checks that the events of a license have rising times, in milliseconds, also if
// the clock stands still.
func TestEventTimesRise(t *testing.T) {
	h := newHarness(t)
	at := now()
	h.licenses.Now = func() time.Time { return at }
	s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1})[0]}
	s.steps(t, []string{"hold", "reinstate", "plan 2"})
	for i, e := range h.history(s.l) {
		if want := event.Millis(at).Add(time.Duration(i) * time.Millisecond); !e.At.Equal(want) {
			t.Errorf("event %d is of %v, want %v", i, e.At, want)
		}
	}
}

// TestStandingRefunds checks that each refund is listed once, for its licenses and its purchases,
// until it is reversed.
func TestStandingRefunds(t *testing.T) {
	h := newHarness(t)
	sale, err := h.tryBuy(license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 2, ExternalID: "base"})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{harness: h, l: sale.Licenses[0]}
	check := func(name string, want ...int64) {
		t.Helper()
		of, err := h.licenses.StandingRefunds(t.Context(), []int64{sale.Licenses[0].ID, sale.Licenses[1].ID})
		ofSales, errSales := h.licenses.StandingRefundsOfSales(t.Context(), []int64{sale.ID})
		if err != nil || errSales != nil {
			t.Fatal(err, errSales)
		}
		for _, list := range [][]license.Refund{of, ofSales} {
			var ids []int64
			for _, f := range list {
				ids = append(ids, f.ID)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("%s: refunds %v, want %v", name, ids, want)
			}
		}
	}
	check("none")
	s.steps(t, []string{"refund-link base"})
	check("of both licenses", s.refunds[0].ID)
	s.steps(t, []string{"reverse"})
	check("reversed")
	s.steps(t, []string{"refund"})
	check("again", s.refunds[1].ID)
}
