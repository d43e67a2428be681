package license_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// longAgo is before everything.
var longAgo = time.Unix(1, 0)

// walk reads a list page by page, each from the end of the previous one.
func (h *harness) walk(partnerID int64, f license.Filter, p paging.Page, each func([]license.License)) {
	h.Helper()
	for {
		list, err := h.licenses.List(h.Context(), partnerID, f, p)
		if err != nil {
			h.Fatal(err)
		}
		each(list.Licenses)
		if list.More != (list.Next != license.Position{}) {
			h.Fatalf("more is %v and goes on at %+v", list.More, list.Next)
		}
		if !list.More {
			return
		}
		f.After = list.Next
	}
}

// TestChangesByPosition walks the list of changes in both orders, including many licenses with the
// same time.
func TestChangesByPosition(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 3})
	all := h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 30})
	ann := person("ann")
	all = append(all, h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 15, Buyer: &ann})...)
	for i, l := range all {
		if i%4 == 0 {
			if _, err := h.licenses.Hold(t.Context(), tester, l.Key, license.HoldOther); err != nil {
				t.Fatal(err)
			}
		}
	}
	middle := h.license(all[20].Key).UpdatedAt
	for _, status := range []event.Status{0, event.Inactive, event.Active, event.Deactivated} {
		for _, since := range []time.Time{longAgo, middle} {
			for order, direction := range map[paging.Order]string{paging.NewestFirst: "DESC", paging.OldestFirst: "ASC"} {
				want, err := sqldb.All(t.Context(), h.db, sqldb.Value[string], `SELECT license_key FROM licenses
					WHERE partner_id = $1 AND (status = $2 OR $2 = 0) AND updated_at >= $3
					ORDER BY updated_at `+direction+`, ord `+direction, p, int(status), since)
				if err != nil {
					t.Fatal(err)
				}
				got := []string{}
				h.walk(p, license.Filter{Status: status, UpdatedSince: since}, paging.Page{Number: 1, Limit: 4, Order: order},
					func(list []license.License) { got = append(got, keys(list)...) })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("status %v, since %v, %s (-stored +walked)\n%s", status, since, direction, diff)
				}
			}
		}
	}
}

// TestNoChangeIsMissed changes licenses, some repeatedly, and sells new ones while a reader walks
// the list from the oldest change, and then again from the newest one seen. At the end the reader
// has the current state of every license.
func TestNoChangeIsMissed(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	all := h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 40})
	change := func(l license.License) {
		t.Helper()
		command := h.licenses.Reinstate
		if h.license(l.Key).Status != event.Deactivated {
			command = func(ctx context.Context, who audit.Actor, key string) (license.License, error) {
				return h.licenses.Hold(ctx, who, key, license.HoldOther)
			}
		}
		if _, err := command(t.Context(), tester, l.Key); err != nil {
			t.Fatal(err)
		}
	}
	known := map[string]event.Status{}
	since, left := longAgo, 30 // number of changes after a page was read
	read := func(list []license.License) {
		for _, l := range list {
			known[l.Key], since = l.Status, l.UpdatedAt
		}
		if left--; left < 0 {
			return
		}
		for range 1 + rand.IntN(2) {
			change(all[rand.IntN(len(all))])
		}
		if left%5 == 0 {
			all = append(all, h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 2})...)
		}
	}
	for left >= 0 {
		h.walk(p, license.Filter{UpdatedSince: since}, paging.Page{Number: 1, Limit: 3, Order: paging.OldestFirst}, read)
	}
	want := map[string]event.Status{}
	for _, l := range all {
		want[l.Key] = h.license(l.Key).Status
	}
	if diff := cmp.Diff(want, known); diff != "" {
		t.Errorf("(-stored +known)\n%s", diff)
	}
}

// TestPositionsThatNobodyWasGiven uses arbitrary positions. They cause no error, and return nothing
// from before UpdatedSince.
func TestPositionsThatNobodyWasGiven(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 3})
	last := h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 3})
	since := h.license(last[0].Key).UpdatedAt
	for _, after := range []license.Position{{longAgo, 1}, {since, 0}, {since.Add(-1), math.MaxInt64}, {since, 5}, {time.Unix(0, math.MaxInt64), math.MaxInt64}} {
		for _, order := range []paging.Order{paging.NewestFirst, paging.OldestFirst} {
			list, err := h.licenses.List(t.Context(), p, license.Filter{UpdatedSince: since, After: after}, paging.Page{Number: 1, Limit: 100, Order: order})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys(list.Licenses) {
				if !slices.Contains(keys(last), key) {
					t.Errorf("%+v, order %d: %s is from before", after, order, key)
				}
			}
		}
	}
}

// TestPageBehindTheLastIsNotSearchedFor asks for pages past the end according to the counts of
// licenses. With counts that are too low, the list shows whether it read the licenses anyway.
func TestPageBehindTheLastIsNotSearchedFor(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 9})
	read := func(f license.Filter) int {
		t.Helper()
		list, err := h.licenses.List(t.Context(), p, f, paging.Page{Number: 2, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Licenses)
	}
	filters := []license.Filter{{UpdatedSince: longAgo}, {UpdatedSince: longAgo, Status: event.Inactive}}
	for want, n := range map[int]int64{3: 4, 0: 3} {
		err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			tx.Queue(`UPDATE license_blocks SET n = $2 WHERE partner_id = $1`, p, n)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range filters {
			if got := read(f); got != want {
				t.Errorf("%+v, counted %d: page 2 has %d, want %d", f, n, got, want)
			}
		}
	}
}
