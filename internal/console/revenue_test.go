package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html/atom"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// pay sells a plan for an amount.
func (h *harness) pay(partnerID int64, tier int, amount int64, currency string, by ledger.Collector) license.Sale {
	h.Helper()
	sale, err := h.Licenses.Purchase(h.Context(), apptest.Tester, license.Purchase{
		PartnerID: partnerID, Tier: tier, Quantity: 1, Buyer: &account.Person{Email: buyer}, ExternalID: h.unique("order"),
		AmountCents: amount, Currency: currency, Collected: by,
	})
	h.Must(err)
	return sale
}

// fee posts a fee that Stripe took in euros.
func (h *harness) fee(partnerID, purchaseID, amount int64) {
	h.Helper()
	now := h.Accounts.Now()
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		j := ledger.New(tx, partnerID, now)
		err := j.TakeFee(h.Context(), purchaseID, ledger.Fee{
			Source: h.unique("txn"), Amount: amount, Currency: "EUR", Rate: ledger.Ratio{Num: 1, Den: 1}, At: now,
		})
		if err != nil {
			return err
		}
		return j.Save()
	}))
}

// cells returns the text of a row of a table.
func cells(page *pagetest.Page, id string) string {
	for _, row := range page.All(atom.Tr) {
		if pagetest.Attr(row, "id") == id {
			return pagetest.Words(row)
		}
	}
	return ""
}

// TestRevenue: Today and Numbers have the money of each currency, of all partners and of one.
func TestRevenue(t *testing.T) {
	h := start(t)
	wantsNone(t, h.as(viewer).Get(path("")), "Revenue")
	wants(t, h.as(viewer).Get(path("/numbers")), http.StatusOK, "Nothing was paid in this time.")
	other, _ := h.Partner("Reef Maps", profile.URLs{})
	h.Plans(other.ID, 1, partner.Plan{PriceCents: 100, Currency: "USD"})
	first := h.pay(h.tide.ID, 1, 10_000, "USD", ledger.ByMarketplace)
	h.pay(h.tide.ID, 2, 5000, "USD", ledger.ByPartner)
	h.pay(other.ID, 1, 2000, "JPY", ledger.ByMarketplace)
	h.fee(h.tide.ID, first.ID, 123)
	back := h.pay(h.tide.ID, 1, 1000, "USD", ledger.ByMarketplace).Licenses[0]
	_, err := h.Licenses.Refund(t.Context(), apptest.Tester, license.RefundOrder{LicenseKey: back.Key})
	h.Must(err)

	today := h.as(viewer).Get(path(""))
	wants(t, today, http.StatusOK, "Partners collected $50.00 of this month's revenue.")
	for id, want := range map[string]string{
		"revenue-USD-0": "Today, USD Yesterday 3 0 $160.00 $0.00 $10.00 $0.00 $0.00 $0.00 " +
			"$150.00 $0.00 $105.00 $0.00 $45.00 $0.00",
		"revenue-JPY-0": "Today, JPY Yesterday 1 0 2,000 JPY 0 JPY 0 JPY 0 JPY 0 JPY 0 JPY " +
			"2,000 JPY 0 JPY 1,400 JPY 0 JPY 600 JPY 0 JPY",
	} {
		if got := cells(today, id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
	if got := cells(today, "revenue-EUR-2"); !strings.Contains(got, "0.00 EUR 1.23 EUR 0.00 EUR −1.23 EUR") {
		t.Errorf("a fee without sales in its currency: %q", got)
	}

	page := h.as(viewer).Get(path("/numbers"))
	wants(t, page, http.StatusOK, "Partners collected $50.00 of the revenue.", "Revenue by day (UTC), USD",
		"Revenue by day (UTC), JPY", "/operator/v1/revenue?from=")
	usd := fmt.Sprintf("revenue-partners-%d-0-USD", h.tide.ID)
	if got := cells(page, usd); got != "Tide Planner 3 $160.00 $10.00 $0.00 $150.00 $105.00 $45.00" {
		t.Errorf("of one partner: %q", got)
	}
	plan := cells(page, fmt.Sprintf("revenue-plans-%d-2-USD", h.tide.ID))
	if !strings.Contains(plan, "Tide Planner 1 $50.00 $0.00 $0.00 $50.00 $35.00 $15.00") {
		t.Errorf("of one plan: %q", plan)
	}
	one := h.as(viewer).Get(path("/numbers?partner_id=%d", other.ID))
	wants(t, one, http.StatusOK, "2,000 JPY")
	wantsNone(t, one, "$160.00", "Tide")
	if got := cells(one, fmt.Sprintf("revenue-plans-%d-1-JPY", other.ID)); !strings.Contains(got, "1 2,000 JPY") {
		t.Errorf("of the plan of one partner: %q", got)
	}
	if to := links(page); !strings.Contains(to, "/console/exports?from=") || !strings.Contains(to, "list=revenue") {
		t.Error("nothing leads to the export")
	}
}

// TestRevenuePages: tables of many partners have pages.
func TestRevenuePages(t *testing.T) {
	h := start(t)
	day := h.Accounts.Now().Unix() / 86400
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		for id := range 60 {
			for _, row := range [][]any{{0, 1, day, 0}, {id + 1000, 1, day, 1}, {id + 1000, 8, day - day%8, 1}} {
				tx.Queue(`INSERT INTO revenue_sums (partner_id, days, day, tier, currency, sales, revenue, direct, refunds,
						fees, borne, share, undivided) VALUES ($1, $2, $3, $4, 'USD', 1, $5, 0, 0, 0, 0, 0, 0)
					ON CONFLICT (partner_id, days, day, tier, currency)
					DO UPDATE SET revenue = revenue_sums.revenue + excluded.revenue`, append(row, int64(id+1)*100)...)
			}
		}
		return nil
	}))
	page := h.as(viewer).Get(path("/numbers"))
	wants(t, page, http.StatusOK, "$1,830.00", "1 to 50 of 60", "Partner 1059 (deleted)",
		"Revenue by plan: the first 50 of 60")
	wantsNone(t, page, "Partner 1009 (deleted)")
	next := h.as(viewer).Get(path("/numbers?days=30&sellers=2"))
	wants(t, next, http.StatusOK, "51 to 60 of 60", "Partner 1009 (deleted)")
}

// TestRevenueExport: the file of revenue counts sales that are not counted yet, and the one of the ledger
// has a row for each line.
func TestRevenueExport(t *testing.T) {
	h := start(t)
	h.pay(h.tide.ID, 1, 10_000, "USD", ledger.ByMarketplace)
	day := h.Accounts.Now().UTC().Format(time.DateOnly)
	for list, want := range map[string]string{
		"revenue": fmt.Sprintf("%s,%d,1,USD,1,10000,0,0,0,10000,0,7000,0,3000\n#complete,1,", day, h.tide.ID),
		"ledger":  fmt.Sprintf(",%d,sale,1,1,1,10000,USD,share,-7000,USD,,", h.tide.ID),
	} {
		_, text := h.download(path("/exports?list=%s", list), "csv")
		if !strings.Contains(text, want) || strings.Contains(text, buyer) {
			t.Errorf("%s:\n%s", list, text)
		}
	}
	page := h.as(viewer).Get(path("/exports?list=revenue"))
	wants(t, page, http.StatusOK, "By partner, day, plan and currency, as it is")
	if _, text := h.download(path("/exports?list=ledger&kind=refund"), "csv"); !strings.Contains(text, "#complete,0") {
		t.Error(text)
	}
}
