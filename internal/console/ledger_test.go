package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/accounting"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// Values of the isolation test for the pages about the ledger.
func init() {
	registry.Forms["/ledger/from"] = form("from", "none") // refused: no seen field
	registry.Forms["/partners/{partner}/ledger/terms"] = form("share", "none")
	registry.Forms["/partners/{partner}/ledger/adjust"] = form("amount", "none")
}

// earn sells a license of Tide for 59 dollars.
func (h *harness) earn() license.Sale {
	h.Helper()
	sale, err := h.Licenses.Purchase(h.Context(), apptest.Tester, license.Purchase{
		PartnerID: h.tide.ID, Tier: 1, Quantity: 1, AmountCents: 5900, Currency: "USD",
	})
	h.Must(err)
	return sale
}

// TestPartnerLedger: the page of a partner has its balances, terms and postings. An admin adds terms and
// adjusts the balance.
func TestPartnerLedger(t *testing.T) {
	h := start(t)
	b, at := h.as(admin), path("/partners/%d/ledger", h.tide.ID)
	sale := h.earn()
	page := b.Get(at)
	wants(t, page, http.StatusOK, "Earned by the partner, and not payable yet $41.30", "Margin what you earned $17.70", "In your own checkout the money of buyers $59.00",
		"The setting default-share divides the sales: the partner earns 70 %.", "Sale Purchase 1 In your own checkout $59.00 · Earned $41.30 · Margin $17.70")
	wants(t, b.Get(path("/partners/%d", h.tide.ID)), http.StatusOK, "Ledger")
	form := b.Get(at+"/terms").Want(http.StatusOK, "Add terms of Tide Planner")
	done := b.Follow(b.Press(form, "Add terms", "share", "67.5", "plan_2", "50,25 %", "fees", "share", "payable_after", "14", "smallest_payout", "50.00 EUR\r\n\r\n5000 jpy\r\n"))
	wants(t, done, http.StatusOK, "The terms are added.", "counts now 67.5 % tier 2: 50.25 % By share After 14 days 50.00 EUR, 5000 JPY")
	wantsNone(t, done, "default-share")
	list, err := ledger.History(t.Context(), h.DB, h.tide.ID)
	h.Must(err)
	if len(list) != 1 || list[0].ShareBP != 6750 || list[0].Plans[2] != 5025 || len(list[0].Plans) != 1 || list[0].Days != 14 || list[0].Smallest["JPY"] != 5000 || list[0].Smallest["EUR"] != 5000 {
		t.Errorf("the terms are %+v", list)
	}
	wants(t, b.Press(form, "Add terms", "share", "60"), http.StatusConflict, "67.5 %")
	again := b.Get(at + "/terms")
	for name, value := range map[string]string{"share": "67.5", "plan_2": "50.25", "payable_after": "14"} {
		if got := again.Input(name); got == nil || pagetest.Attr(got, "value") != value {
			t.Errorf("%s is not suggested", name)
		}
	}
	h.Must(h.refund(sale))
	b.Follow(b.Press(b.Get(at+"/adjust"), "Adjust the balance", "direction", "down", "amount", "15.00", "currency", "usd", "reason", "A mistake"))
	wants(t, b.Get(at), http.StatusOK, "Payable to the partner −$15.00", "Adjustment A mistake Payable −\u2060$15.00 · Adjustments $15.00")
	wants(t, b.Get(at+"?kind=refund"), http.StatusOK, "Refund Purchase 1 In your own checkout −\u2060$59.00")
	wantsNone(t, b.Get(at+"?kind=refund"), "A mistake", "Sale Purchase")
	wants(t, b.Get(at+"?kind=gift"), http.StatusBadRequest, "must be one of")
	wants(t, h.as(viewer).Get(at), http.StatusOK, "Balances")
	wantsNone(t, h.as(viewer).Get(at), "Add terms…", "Adjust the balance…")
}

// refund refunds all of a sale.
func (h *harness) refund(sale license.Sale) error {
	_, err := h.Licenses.Refund(h.Context(), apptest.Tester, license.RefundOrder{PurchaseID: sale.ID})
	return err
}

// TestLedgerForms: each wrong value is refused at its field, and nothing changes.
func TestLedgerForms(t *testing.T) {
	h := start(t)
	b, at := h.as(admin), path("/partners/%d/ledger", h.tide.ID)
	for _, bad := range []struct{ page, button, name, value, says string }{
		{"/terms", "Add terms", "share", "101", "must be from 0 to 100 percent"},
		{"/terms", "Add terms", "share", "", "must be from 0 to 100 percent"},
		{"/terms", "Add terms", "share", "67.555", "must be from 0 to 100 percent"},
		{"/terms", "Add terms", "plan_3", "-1", "must be from 0 to 100 percent"},
		{"/terms", "Add terms", "payable_after", "-1", "must be a whole number of days"},
		{"/terms", "Add terms", "payable_after", "400", "must be from 0 to 365 days"},
		{"/terms", "Add terms", "smallest_payout", "50", "on each line"},
		{"/terms", "Add terms", "smallest_payout", "50 EUR\n60 EUR", "each currency once"},
		{"/terms", "Add terms", "smallest_payout", "50 ZZZ", "there is no ZZZ"},
		{"/terms", "Add terms", "begins_at", "2020-01-01T00:00", "must not be in the past"},
		{"/terms", "Add terms", "fees", "buyer", "must be marketplace, partner or share"},
		{"/adjust", "Adjust the balance", "amount", "0", "must not be 0"},
		{"/adjust", "Adjust the balance", "amount", "1.555", "must be an amount"},
		{"/adjust", "Adjust the balance", "currency", "ZZZ", "there is no ZZZ"},
		{"/adjust", "Adjust the balance", "reason", "", "is missing"},
		{"/adjust", "Adjust the balance", "direction", "away", "must be more or less"},
	} {
		values := map[string]string{"share": "70"}
		if bad.page == "/adjust" {
			values = map[string]string{"amount": "1", "currency": "USD", "reason": "A reason"}
		}
		values[bad.name] = bad.value
		var list []string
		for name, value := range values {
			list = append(list, name, value)
		}
		answer := b.Press(b.Get(at+bad.page), bad.button, list...)
		if answer.Status != http.StatusUnprocessableEntity || !strings.Contains(answer.Text(), bad.says) {
			t.Errorf("%s %s %q: %d %s", bad.page, bad.name, bad.value, answer.Status, answer.Text())
		}
	}
	if n := h.Count(`SELECT (SELECT count(*) FROM ledger_terms) + (SELECT count(*) FROM ledger_postings)`); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	form := b.Get(at + "/adjust")
	for range 2 { // the same form, sent twice
		b.Follow(b.Press(form, "Adjust the balance", "amount", "1", "currency", "USD", "reason", "A prize"))
	}
	if n := h.Count(`SELECT count(*) FROM ledger_postings`); n != 1 {
		t.Errorf("posted %d times", n)
	}
}

// TestLedgerPage: all postings are listed with their partners. An admin changes from when sales count, until
// the first payout run.
func TestLedgerPage(t *testing.T) {
	h := start(t)
	b, at := h.as(admin), path("/ledger")
	sale := h.earn()
	wants(t, b.Get(at), http.StatusOK, "Sales count from", "Sale Tide Planner Purchase 1")
	wants(t, b.Get(at+"?partner_id=77"), http.StatusOK, "Nothing matches")
	wantsNone(t, b.Get(at+"?partner_id=77"), "Purchase 1")
	wants(t, b.Get(at+"?from=soon"), http.StatusBadRequest, "must be a time")
	wantsNone(t, h.as(support).Get(at), "Change…")

	form := b.Get(at+"/from").Want(http.StatusOK, "Change from when sales count")
	wants(t, b.Press(form, "Change the moment", "from", "2200-01-01T00:00"), http.StatusUnprocessableEntity, "must not be in the future")
	wants(t, b.Press(form, "Change the moment", "from", ""), http.StatusUnprocessableEntity, "is missing")
	done := b.Follow(b.Press(form, "Change the moment", "from", "2026-02-03T04:05"))
	wants(t, done, http.StatusOK, "The moment is changed.", "3 Feb 2026, 04:05:00")
	wants(t, b.Press(form, "Change the moment", "from", "2026-02-04T04:05"), http.StatusConflict, "2026-02-03 04:05")
	began, err := ledger.From(t.Context(), h.DB)
	h.Must(err)
	if want := time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC); !began.Equal(want) || sale.ID == 0 {
		t.Errorf("sales count from %v, want %v", began, want)
	}
	for more := true; more; {
		more, err = (&accounting.Job{Store: h.Accounting}).Once(t.Context())
		h.Must(err)
	}
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error { return ledger.Freeze(t.Context(), tx, h.Accounts.Now()) }))
	page := b.Get(at)
	wants(t, page, http.StatusOK, "It is final since the first payout run")
	wantsNone(t, page, "Change…", "balances still follow")
	wants(t, b.Get(at+"/from"), http.StatusOK, "this moment is final")
}

// TestUndividedOnToday: sales without terms are on Today, with a link to the page that adds them.
func TestUndividedOnToday(t *testing.T) {
	h := start(t, func(cfg *app.Config) {
		cfg.Defaults = ledger.Defaults{}
		cfg.RequireSecondFactor = account.RequireNone
	})
	h.earn()
	at := path("/partners/%d/ledger", h.tide.ID)
	page := h.as(admin).Get(path(""))
	wants(t, page, http.StatusOK, "Sales that are not divided", "$59.00 is not divided.")
	if !strings.HasPrefix(page.Links(at)[at], "Add terms") {
		t.Errorf("nothing leads to %s: %v", at, page.Links(at))
	}
	wants(t, h.as(admin).Get(at), http.StatusOK, "the sales are undivided", "Undivided sales without terms $59.00")
}
