package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/visitor/pagetest"
)

// paid is a purchase with its receipt's text.
type paid struct {
	units    int64
	currency string
	printed  string
	smallest int64 // the paid amount in the currency's smallest unit
	id       int64
}

// sellOld stores purchases of a user as before migration 0051, with hundredths in every currency.
func sellOld(t *testing.T, url string, list []paid) *sqldb.DB {
	t.Helper()
	db := sqldbtest.OpenWith(t, url, sqldb.Options{})
	if _, err := db.MigrateBefore(t.Context(), "0051"); err != nil {
		t.Fatal(err)
	}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at) VALUES (1, 'Tide', '', 'c', FALSE, FALSE, 1, 1)`)
		tx.Queue(`INSERT INTO partner_counters (partner_id, turns, licenses, events, clock) VALUES (1, 0, $1, 0, 1)`, len(list))
		tx.Queue(`INSERT INTO plans (partner_id, tier, name, price_cents, currency, checkout_url, external_ref, created_at, updated_at)
			VALUES (1, 1, 'Solo', 5900, 'USD', '', '', 1, 1)`)
		tx.Queue(`INSERT INTO users (id, email, email_key, name, external_id, operator, password_hash, proven_at, created_at, updated_at, erased_at)
			VALUES (1, $1, $1, '', '', FALSE, '', 1, 1, 1, 0)`, pagetest.Ann)
		sales, err := sqldb.NextIDs(tx, "purchase_ids", len(list)).All(t.Context())
		if err != nil {
			return err
		}
		licenses, err := sqldb.NextIDs(tx, "license_ids", len(list)).All(t.Context())
		if err != nil {
			return err
		}
		for i := range list {
			p := &list[i]
			p.id = sales[i]
			tx.Queue(`INSERT INTO purchases (id, partner_id, kind, external_id, tier, quantity, amount_cents, currency, user_id, content, created_at)
				VALUES ($1, 1, 1, '', 1, 1, $2, $3, 1, '', 1)`, p.id, p.units, p.currency)
			tx.Queue(`INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed, released, held, erased, epoch, event_ms,
				created_at, updated_at) VALUES ($1, 1, $2, $3, $4, 1, 1, 1, FALSE, FALSE, 0, FALSE, 0, 1, 1, 1)`,
				licenses[i], i+1, fmt.Sprintf("00000000-0000-7000-8000-%012d", i), fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
			tx.Queue(`INSERT INTO purchase_links (license_id, seq, purchase_id, tier, refund_id) VALUES ($1, 1, $2, 1, 0)`, licenses[i], p.id)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestOldAmounts: after migration 0051, older receipts print the same text, and new ones the digits
// of their currency. APIs return the currency's smallest unit for both.
func TestOldAmounts(t *testing.T) {
	old := []paid{
		{units: 590000, currency: "JPY", printed: "5,900.00 JPY", smallest: 5900},
		{units: 5950, currency: "JPY", printed: "59.50 JPY", smallest: 59},
		{units: 5900, currency: "USD", printed: "$59.00", smallest: 5900},
		{units: 5900, currency: "KWD", printed: "59.00 KWD", smallest: 59000},
	}
	sold := []paid{
		{units: 5900, currency: "JPY", printed: "5,900 JPY", smallest: 5900},
		{units: 5900, currency: "USD", printed: "$59.00", smallest: 5900},
		{units: 5900, currency: "KWD", printed: "5.900 KWD", smallest: 5900},
	}
	url := sqldbtest.Empty(t)
	if _, err := sellOld(t, url, old).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := apptest.New(t, func(c *app.Config) { c.DB = url })
	h.Serve()
	for i := range sold {
		p := &sold[i]
		sale, err := h.Licenses.Purchase(t.Context(), apptest.Tester, license.Purchase{
			PartnerID: 1, Tier: 1, Quantity: 1, AmountCents: p.units, Currency: p.currency, Buyer: &account.Person{Email: pagetest.Ann},
		})
		h.Must(err)
		p.id = sale.ID
	}
	h.SetPassword(1, pagetest.Password)
	b := pagetest.At(t, h.App.URL(), h.DB).NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	all := slices.Concat(old, sold)
	for _, p := range all {
		page := b.Get(fmt.Sprint("/receipts/", p.id))
		if want := ">" + strings.ReplaceAll(p.printed, " ", "\u00a0") + "<"; !strings.Contains(page.Body, want) {
			t.Errorf("the receipt of purchase %d does not print %q: %s", p.id, p.printed, page.Text())
		}
	}
	wantPrograms(h, b, all)
}

// wantPrograms checks purchases in the APIs: the operator's list as JSON and CSV, and the buyer's
// own data.
func wantPrograms(h *apptest.Harness, b *pagetest.Browser, all []paid) {
	h.Helper()
	token := "Authorization: Bearer " + h.Token("reads", account.Read)
	var api struct {
		Items []struct {
			Amount   int64 `json:"amount_cents"`
			Currency string
		}
	}
	apptest.Send(h, http.DefaultClient, "GET", h.App.URL()+"/operator/v1/purchases?order=asc", "", token).Into(h, &api)
	file := apptest.Send(h, http.DefaultClient, "GET", h.App.URL()+"/operator/v1/exports/purchases", "", token)
	var data struct {
		Licenses []struct {
			Receipts []struct {
				Units    int64 `json:"amount_cents"`
				Currency string
				Amount   string
			}
		}
	}
	h.Must(json.Unmarshal([]byte(b.Get("/account/data").Body), &data))
	if len(api.Items) != len(all) || len(data.Licenses) != len(all) {
		h.Fatalf("%d purchases in the API, %d licenses in the buyer's data, want %d", len(api.Items), len(data.Licenses), len(all))
	}
	for i, p := range all {
		if got := api.Items[i]; got.Amount != p.smallest || got.Currency != p.currency {
			h.Errorf("the API has %+v for %+v", got, p)
		}
		own := data.Licenses[len(all)-1-i].Receipts // the newest first
		if len(own) != 1 || own[0].Units != p.smallest || own[0].Currency != p.currency || own[0].Amount != p.printed {
			h.Errorf("the buyer's data have %+v for %+v", own, p)
		}
		if want := fmt.Sprintf("\n%d,1,purchase,,1,1,%d,%s,", p.id, p.smallest, p.currency); !strings.Contains(file.Body, want) {
			h.Errorf("the file has no %q:\n%s", want, file.Body)
		}
	}
}
