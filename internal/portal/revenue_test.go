package portal_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestRevenue: a partner sees its own sales and shares: no figures of others, no totals, no fees that
// others bear, and no buyer.
func TestRevenue(t *testing.T) {
	h := start(t, func(cfg *app.Config) { cfg.Defaults = ledger.Defaults{Set: true, ShareBP: 7000} })
	if page := h.as(viewer).Get(h.path("/overview")); strings.Contains(page.Text(), "You earn") {
		t.Errorf("nothing is sold: %s", page.Text())
	}
	sell := func(partnerID, amount int64) license.Sale {
		t.Helper()
		sale, err := h.Licenses.Purchase(t.Context(), apptest.Tester, license.Purchase{
			PartnerID: partnerID, Tier: 1, Quantity: 1, AmountCents: amount, Currency: "USD", ExternalID: secret.UUID(),
			Buyer: &account.Person{Email: buyer},
		})
		h.Must(err)
		return sale
	}
	ours := sell(h.tide.ID, 10_000)
	sell(h.reef.ID, 77_700)
	fee := ledger.Fee{
		Source: "txn_1", Amount: 432, Currency: "EUR", Rate: ledger.Ratio{Num: 1, Den: 1}, At: h.Accounts.Now(),
	}
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		j := ledger.New(tx, h.tide.ID, h.Accounts.Now())
		if err := j.TakeFee(t.Context(), ours.ID, fee); err != nil {
			return err
		}
		return j.Save()
	}))
	page := h.as(viewer).Get(h.path("/overview"))
	want := "Today Yesterday 1 0 $100.00 $0.00 $0.00 $0.00 $0.00 $0.00 $70.00 $0.00"
	rows := page.All(atom.Tr)
	if !slices.ContainsFunc(rows, func(row *html.Node) bool { return pagetest.Words(row) == want }) {
		t.Errorf("no %q in %s", want, page.Text())
	}
	status, file := h.file(viewer, "?list=revenue", "csv")
	if status != http.StatusOK || !strings.Contains(file, ",1,USD,1,10000,0,0,0,7000,0\n#complete,1,") {
		t.Errorf("%d\n%s", status, file)
	}
	for name, text := range map[string]string{"page": page.Text(), "file": file} {
		for _, secret := range []string{"777", "877", "EUR", "4.32", "432", "30.00", "3000", "Marketplace keeps", buyer} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s has %q: %s", name, secret, text)
			}
		}
	}
}
