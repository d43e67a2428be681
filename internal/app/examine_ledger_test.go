package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/job"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestExamineLedger: doctor names a mistake in the ledger of a partner, and balances that do not sum to
// zero.
func TestExamineLedger(t *testing.T) {
	h := apptest.New(t)
	cfg := apptest.Config(t, func(c *app.Config) { c.DB = h.Database })
	want := func(result app.Result, text string) {
		t.Helper()
		f, _ := found(t, cfg, "ledger")
		advised := strings.Contains(f.Do, "Pay no partner") && strings.Contains(f.Do, "runbooks.md")
		if f.Result != result || f.Text != text || advised != (result == app.Failed) {
			t.Errorf("%+v, want %s: %s", f, result, text)
		}
	}
	want(app.Passed, "nothing is posted yet")
	var partners []int64
	for i := range 2 {
		p, _ := h.Partner(fmt.Sprint("Planner ", i), profile.URLs{})
		h.Plans(p.ID, 1, partner.Plan{PriceCents: 4900, Currency: "USD"})
		h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 1, AmountCents: 4900, Currency: "USD"})
		partners = append(partners, p.ID)
	}
	const all = "2 of 2 partners were checked here; claviger serve checks all once a day"
	want(app.Passed, "the balances sum to zero; "+all)
	h.Exec(`UPDATE ledger_sales SET gross = 5000 WHERE partner_id = $1`, partners[1])
	first := fmt.Sprintf("The ledger of partner %d has 3 mistakes: ", partners[1])
	sale := h.Count(`SELECT purchase_id FROM ledger_sales WHERE partner_id = $1`, partners[1])
	want(app.Failed, first+fmt.Sprintf("external of purchase %d differs by 100 USD from its postings. ", sale)+all)
	h.Exec(`UPDATE ledger_sales SET gross = 4900`)
	h.Exec(`UPDATE ledger_balances SET amount = amount + 1 WHERE partner_id = $1 AND account = 'external'`, partners[0])
	want(app.Failed, "The balances sum to $0.01 instead of zero. "+fmt.Sprintf("The ledger of partner %d has 1 mistake: "+
		"The balance external in USD differs by -1 from the sum of its postings. ", partners[0])+all)
	h.Exec(`UPDATE ledger_postings SET lines = 'x'`)
	f, _ := found(t, cfg, "ledger")
	if f.Result != app.Failed || !strings.Contains(f.Text, "instead of zero. 0 of 2 partners were") {
		t.Errorf("postings that cannot be read: %+v", f)
	}
	h.Exec(`UPDATE ledger_balances SET amount = 0`)
	if f, _ := found(t, cfg, "ledger"); f.Result != app.Failed || !strings.Contains(f.Text, "invalid character") {
		t.Errorf("postings that cannot be read: %+v", f)
	}
	h.Exec(`ALTER TABLE ledger_balances RENAME TO away`)
	if f, _ := found(t, cfg, "ledger"); f.Result != app.Failed || !strings.Contains(f.Text, "add up the balances") {
		t.Errorf("without the table: %+v", f)
	}
}

// TestLedgerIsChecked: a service that starts checks the ledger, and the mistake is on its list of jobs.
func TestLedgerIsChecked(t *testing.T) {
	h := apptest.New(t)
	h.Exec(`INSERT INTO ledger_balances (partner_id, account, currency, amount) VALUES (7, 'share', 'USD', 5)`)
	h.Run()
	for {
		r, err := job.Last(t.Context(), h.DB, "check of the ledger")
		if err != nil {
			t.Fatal(err)
		}
		if r.Job == "" {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		const want = "the check of 1 partner failed, and the log has each mistake; " +
			"partner 7: The balance share in USD differs "
		if !strings.HasPrefix(r.Error, want) || r.NextAt.Sub(r.BeganAt).Hours() < 24 {
			t.Errorf("the first run: %+v", r)
		}
		return
	}
}
