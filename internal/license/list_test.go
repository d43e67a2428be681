package license_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

func keys(list []license.License) []string {
	out := []string{}
	for _, l := range list {
		out = append(out, l.Key)
	}
	return out
}

// TestListsAgreeWithTheTable compares every page of every list with the same part of the stored
// licenses, selected in a simple way.
func TestListsAgreeWithTheTable(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 3})
	ann := person("ann")
	all := h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 45, Buyer: &ann})
	var since time.Time
	for i, l := range all {
		var err error
		switch i % 3 {
		case 0:
			_, err = h.licenses.Activate(t.Context(), tester, l.Key, nil)
		case 1:
			_, err = h.licenses.Hold(t.Context(), tester, l.Key, license.HoldOther)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 21 {
			since = h.license(l.Key).UpdatedAt
		}
	}
	for _, status := range []event.Status{0, event.Inactive, event.Active, event.Deactivated} {
		for _, since := range []time.Time{{}, since, time.Unix(1, 0), now().Add(time.Hour)} {
			for _, order := range []paging.Order{paging.NewestFirst, paging.OldestFirst} {
				h.compare(p, license.Filter{Status: status, UpdatedSince: since}, order)
			}
		}
	}
}

func (h *harness) compare(partnerID int64, f license.Filter, order paging.Order) {
	h.Helper()
	direction := map[paging.Order]string{paging.NewestFirst: "DESC", paging.OldestFirst: "ASC"}[order]
	by := ` ORDER BY ord ` + direction
	if !f.UpdatedSince.IsZero() {
		by = ` ORDER BY updated_at ` + direction + `, ord ` + direction
	}
	want, err := sqldb.All(h.Context(), h.db, sqldb.Value[string], `SELECT license_key FROM licenses
		WHERE partner_id = $1 AND (status = $2 OR $2 = 0) AND updated_at >= $3`+by, partnerID, int(f.Status), f.UpdatedSince)
	if err != nil {
		h.Fatal(err)
	}
	const limit = 7
	for n := range len(want)/limit + 2 {
		got, err := h.licenses.List(h.Context(), partnerID, f, paging.Page{Number: int64(n + 1), Limit: limit, Order: order})
		if err != nil {
			h.Fatal(err)
		}
		from, to := min(n*limit, len(want)), min((n+1)*limit, len(want))
		if diff := cmp.Diff(want[from:to], keys(got.Licenses)); diff != "" {
			h.Errorf("%+v, order %d, page %d (-stored +listed)\n%s", f, order, n+1, diff)
		}
		total := int64(len(want))
		if !f.UpdatedSince.IsZero() {
			total = -1
			if got.More != (to < len(want)) {
				h.Errorf("%+v, page %d: more is %v", f, n+1, got.More)
			}
		}
		if got.Total != total {
			h.Errorf("%+v: total %d, want %d", f, got.Total, total)
		}
	}
}

func TestListShowsTheLicenseAsItIs(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	l := h.buy(license.Purchase{PartnerID: p, Tier: 2})[0]
	want := license.License{
		Key: l.Key, RedemptionID: l.RedemptionID, Status: event.Inactive, Tier: 2, CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
	}
	for _, f := range []license.Filter{{}, {Status: event.Inactive}, {UpdatedSince: l.UpdatedAt}} {
		list, err := h.licenses.List(t.Context(), p, f, paging.First())
		if err != nil || len(list.Licenses) != 1 || list.Licenses[0] != want {
			t.Errorf("%+v: got %+v, %v, want %+v", f, list.Licenses, err, want)
		}
		list, err = h.licenses.List(t.Context(), p, f, paging.Page{Number: math.MaxInt64, Limit: 100})
		if err != nil || len(list.Licenses) != 0 {
			t.Errorf("%+v, far past the end: %+v, %v", f, list, err)
		}
	}
}

func TestForeignAndUnknownLicensesAreTheSame(t *testing.T) {
	h := newHarness(t)
	p, other := h.partner(), h.partner()
	foreign := h.buy(license.Purchase{PartnerID: other, Tier: 1})[0].Key
	var want error
	for _, key := range []string{foreign, "00000000-0000-4000-8000-000000000000", "", "x", "\x00", "' OR 1=1 --", foreign + "\n", "\xff"} {
		_, err := h.licenses.OfPartner(t.Context(), p, key)
		if code(err) != "unknown_license" || want != nil && err.Error() != want.Error() {
			t.Errorf("%q: got %v, want %v", key, err, want)
		}
		want = err
	}
}

func TestSearch(t *testing.T) {
	h := newHarness(t)
	p, q := h.partner(), h.partner()
	ann := person("ann")
	a := h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann, ExternalID: "one"})[0]
	b := h.buy(license.Purchase{PartnerID: q, Tier: 1, Buyer: &ann, ExternalID: "one"})[0]
	c := h.buy(license.Purchase{PartnerID: q, Tier: 1})[0]
	s := &script{harness: h, l: c}
	for _, command := range []string{"plan 2 two", "redeem bob"} {
		if got := s.run(command); got != "" {
			t.Fatal(got)
		}
	}
	owner := h.user("ann").ID
	for name, test := range map[string]struct {
		search license.Search
		want   []string
	}{
		"everything":              {license.Search{}, []string{c.Key, b.Key, a.Key}},
		"by key":                  {license.Search{Key: b.Key}, []string{b.Key}},
		"by what is no key":       {license.Search{Key: "x\x00"}, []string{}},
		"by owner":                {license.Search{Owners: []int64{owner}}, []string{b.Key, a.Key}},
		"by external id":          {license.Search{ExternalID: "one"}, []string{b.Key, a.Key}},
		"by that of a plan":       {license.Search{ExternalID: "two"}, []string{c.Key}},
		"by partner":              {license.Search{PartnerID: q}, []string{c.Key, b.Key}},
		"by status":               {license.Search{Status: event.Active}, []string{c.Key}},
		"by owner and partner":    {license.Search{Owners: []int64{owner}, PartnerID: p}, []string{a.Key}},
		"by what does not concur": {license.Search{Status: event.Active, Owners: []int64{owner}}, []string{}},
	} {
		got, err := h.licenses.Search(t.Context(), test.search, paging.First())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, keys(got.Licenses)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	sales, more, err := h.licenses.Purchases(t.Context(), license.SaleFilter{PartnerID: q}, paging.Page{Number: 1, Limit: 2})
	if err != nil || !more || fmt.Sprint(sales[0].Kind, sales[1].Kind) != "plan_change purchase" {
		t.Errorf("purchases: %+v, %v, %v", sales, more, err)
	}
}
