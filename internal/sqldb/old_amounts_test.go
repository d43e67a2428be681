package sqldb_test

import (
	"fmt"
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

// paid is a purchase, and what its receipt prints.
type paid struct {
	units    int64
	currency string
	printed  string
	id       int64
}

// sellOld stores purchases of a user as a program before migration 0051 did, which counted
// hundredths in every currency.
func sellOld(t *testing.T, url string, list []paid) *sqldb.DB {
	t.Helper()
	db := sqldbtest.OpenWith(t, url, sqldb.Options{})
	if err := db.MigrateBefore(t.Context(), "0051"); err != nil {
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

// TestOldAmounts: after an upgrade over migration 0051, receipts from before it print what
// they printed, and new ones print the digits of their currency.
func TestOldAmounts(t *testing.T) {
	old := []paid{{590000, "JPY", "5,900.00 JPY", 0}, {5900, "USD", "$59.00", 0}, {5900, "KWD", "59.00 KWD", 0}}
	sold := []paid{{5900, "JPY", "5,900 JPY", 0}, {5900, "USD", "$59.00", 0}, {5900, "KWD", "5.900 KWD", 0}}
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
	for _, p := range append(old, sold...) {
		page := b.Get(fmt.Sprint("/receipts/", p.id))
		if want := ">" + strings.ReplaceAll(p.printed, " ", "\u00a0") + "<"; !strings.Contains(page.Body, want) {
			t.Errorf("the receipt of purchase %d does not print %q: %s", p.id, p.printed, page.Text())
		}
	}
}
