package license_test

import (
	"fmt"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
)

// TestFailedReads checks that a query that fails is an error of its reader: neither a refusal nor a
// shorter answer. Each reader is tried without each of the tables.
func TestFailedReads(t *testing.T) {
	h := newHarness(t)
	list := h.readers()
	answer := func(name string) (string, error) {
		got, err := list[name]()
		return fmt.Sprintf("%+v", got), err
	}
	whole := map[string]string{}
	for name := range list {
		var err error
		if whole[name], err = answer(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	failed := map[string]bool{}
	for _, table := range []string{
		"licenses", "purchases", "purchase_links", "license_holds", "license_blocks", "refunds", "refund_items", "plans",
		"partner_counters", "events", "users", "refunded_but_working",
	} {
		h.exec(`ALTER TABLE ` + table + ` RENAME TO away`)
		for name := range list {
			got, err := answer(name)
			switch {
			case err == nil && got != whole[name]:
				t.Errorf("%s without the table %s:\n%s\nwith it:\n%s", name, table, got, whole[name])
			case fault.Of(err) != nil:
				t.Errorf("%s without the table %s is refused: %v", name, table, err)
			case err != nil:
				failed[name] = true
			}
		}
		h.exec(`ALTER TABLE away RENAME TO ` + table)
	}
	for name := range list {
		if !failed[name] {
			t.Errorf("%s reads none of the tables", name)
		}
	}
}

// readers returns all readers by name, for a license with a refund, a plan change and a hold.
func (h *harness) readers() map[string]func() (any, error) {
	h.Helper()
	ctx, r, p := h.Context(), h.licenses, h.partner()
	ann := h.user("ann").ID
	sale, err := h.tryBuy(license.Purchase{PartnerID: p, Tier: 1, BuyerID: ann, Quantity: 2, ExternalID: "base", AmountCents: 100, Currency: "USD"})
	if err != nil {
		h.Fatal(err)
	}
	s := &script{harness: h, l: sale.Licenses[0]}
	s.must("plan 2 up", "refund-link up")
	l := h.license(s.l.Key)
	other := &script{harness: h, l: sale.Licenses[1]}
	other.must("hold", "refund")
	all := []license.License{l, h.license(other.l.Key)}
	h.exec(`INSERT INTO refunded_but_working (license_id) VALUES ($1)`, l.ID)
	since := license.Filter{UpdatedSince: time.Unix(1, 0)}
	plans := []partner.Plan{{Tier: 1, MaxPerBuyer: partner.BuyerLimitOf(1)}}
	ids := []int64{l.ID}
	before := time.Now().Add(time.Hour)
	return map[string]func() (any, error){
		"get":              func() (any, error) { return license.Get(ctx, h.db, l.ID) },
		"by key":           func() (any, error) { return r.ByKey(ctx, l.Key) },
		"by redemption":    func() (any, error) { return r.ByRedemption(ctx, l.RedemptionID) },
		"of partner":       func() (any, error) { return r.OfPartner(ctx, p, l.Key) },
		"standings":        func() (any, error) { return r.Standings(ctx, all) },
		"owned":            func() (any, error) { return r.Owned(ctx, ann) },
		"redeemable":       func() (any, error) { return r.Redeemable(ctx, ann, p) },
		"payments":         func() (any, error) { return r.Payments(ctx, l.ID) },
		"receipts":         func() (any, error) { return r.Receipts(ctx, l.ID, ann) },
		"a receipt":        func() (any, error) { return r.ReceiptOf(ctx, sale.ID, ann) },
		"list":             func() (any, error) { return r.List(ctx, p, license.Filter{}, paging.First()) },
		"list by status":   func() (any, error) { return r.List(ctx, p, license.Filter{Status: l.Status}, paging.First()) },
		"list by time":     func() (any, error) { return r.List(ctx, p, since, paging.First()) },
		"explain":          func() (any, error) { return r.Explain(ctx, all[1]) },
		"sold elsewhere":   func() (any, error) { return r.SoldElsewhere(ctx, l) },
		"find":             func() (any, error) { return r.Find(ctx, p, license.Find{To: before}, 0, 10) },
		"find any":         func() (any, error) { return r.FindAny(ctx, license.FindAny{Find: license.Find{To: before}}, 0, 10) },
		"find by purchase": func() (any, error) { return r.FindAny(ctx, license.FindAny{ExternalID: "base"}, 0, 10) },
		"find by owner":    func() (any, error) { return r.FindAny(ctx, license.FindAny{Owners: []int64{ann}}, 0, 10) },
		"find sales":       func() (any, error) { return r.FindSales(ctx, license.FindSales{To: before}, 0, 10) },
		"references":       func() (any, error) { return r.RefundsByReference(ctx, "") },
		"versions":         func() (any, error) { return r.Versions(ctx, ids) },
		"inspect":          func() (any, error) { return r.Inspect(ctx, l.Key) },
		"a sale":           func() (any, error) { return r.Sale(ctx, sale.ID) },
		"a refund":         func() (any, error) { return r.RefundByID(ctx, s.refunds[0].ID) },
		"keys":             func() (any, error) { return r.Keys(ctx, ids) },
		"at the limit":     func() (any, error) { return r.AtLimit(ctx, ann, p, plans) },
		"the limit":        func() (any, error) { return nil, r.CheckLimit(ctx, p, 3, ann) },
		"refunds":          func() (any, error) { return r.StandingRefunds(ctx, ids) },
		"refunds of sales": func() (any, error) { return r.StandingRefundsOfSales(ctx, []int64{sale.ID}) },
		"of a sale":        func() (any, error) { return r.OfSale(ctx, sale.ID) },
		"named":            func() (any, error) { return r.Named(ctx, license.RefundOrder{PurchaseID: sale.ID}) },
		"suspects":         func() (any, error) { return license.Suspects(ctx, h.db, 10) },
		"search":           func() (any, error) { return r.Search(ctx, license.Search{ExternalID: "base"}, paging.First()) },
		"stats":            func() (any, error) { return r.Stats(ctx) },
		"unredeemed":       func() (any, error) { return license.Unredeemed(ctx, h.db, []int64{p}) },
		"counted":          func() (any, error) { return r.Counted(ctx, p, l.Status) },
		"purchases": func() (any, error) {
			list, more, err := r.Purchases(ctx, license.SaleFilter{}, paging.First())
			return fmt.Sprint(list, more), err
		},
		"sales counted": func() (any, error) {
			n, more, err := r.SalesCounted(ctx, p, 10)
			return fmt.Sprint(n, more), err
		},
		"all sales counted": func() (any, error) {
			n, more, err := r.SalesCounted(ctx, 0, 10)
			return fmt.Sprint(n, more), err
		},
		"preview": func() (any, error) {
			return r.Preview(func(dry *license.Store) error { return errOf(dry.Hold(ctx, tester, l.Key, license.HoldOther)) })
		},
	}
}
