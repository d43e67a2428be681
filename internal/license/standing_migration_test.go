package license_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// oldLink is a link in its form before links had amounts.
type oldLink struct {
	tier     int
	amount   int64
	currency string
	quantity int
	shop     bool
	refunded int // position in the order of purchases and refunds; 0: not refunded
}

// storeOld stores a license with a chain, one purchase after the other, starting at a time.
func storeOld(tx *sqldb.Tx, id, at int64, status int, chain []oldLink) {
	tier := chain[len(chain)-1].tier
	tx.Queue(`INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed, released, held, erased, epoch, event_ms,
		created_at, updated_at) VALUES ($1, 1, $1, $2, $3, $4, $5, 1, TRUE, FALSE, 0, FALSE, 0, 1, 1, 1)`,
		id, fmt.Sprintf("00000000-0000-7000-8000-%012d", id), fmt.Sprintf("00000000-0000-4000-8000-%012d", id), status, tier)
	for i, k := range chain {
		kind := 2
		if i == 0 {
			kind = 1
		}
		sale := id*100 + int64(i)
		tx.Queue(`INSERT INTO purchases (id, partner_id, kind, external_id, tier, quantity, amount_cents, currency, user_id, shop, content, created_at)
			VALUES ($1, 1, $2, '', $3, $4, $5, $6, 1, $7, '', $8)`, sale, kind, k.tier, max(k.quantity, 1), k.amount, k.currency, k.shop, at+int64(i)*10)
		refund := int64(0)
		if k.refunded > 0 {
			refund = sale
			tx.Queue(`INSERT INTO refunds (id, partner_id, external_id, reason, created_at, reversed_at) VALUES ($1, 1, '', '', $2, 0)`, refund, at+int64(k.refunded))
		}
		tx.Queue(`INSERT INTO purchase_links (license_id, seq, purchase_id, tier, refund_id) VALUES ($1, $2, $3, $4, $5)`, id, i+1, sale, k.tier, refund)
	}
}

// TestLinksGetAmounts checks that the migration gives links their amounts, and free plan changes of
// the shop their credits. It changes no status and no tier: a license that would change with the
// credits gets none, and is listed.
func TestLinksGetAmounts(t *testing.T) {
	const usd, yen, dinar = "USD", "JPY", "KWD"
	const hundredths = 10 // licenses below it were sold when amounts counted hundredths
	shop := func(tier int) oldLink { return oldLink{tier: tier, currency: usd, shop: true} }
	chains := map[int64]struct {
		chain []oldLink
		want  []string // amount and credit of each link
		ended bool
		list  bool
	}{
		1:  {[]oldLink{{tier: 1, amount: 590000, currency: yen}}, []string{"5900 JPY +0"}, false, false},
		2:  {[]oldLink{{tier: 1, amount: 5900, currency: dinar}}, []string{"59000 KWD +0"}, false, false},
		3:  {[]oldLink{{tier: 1, amount: 17701, currency: usd, quantity: 3}}, []string{"5900 USD +0"}, false, false},
		11: {[]oldLink{{tier: 1, amount: 5900, currency: yen}}, []string{"5900 JPY +0"}, false, false},
		12: {[]oldLink{{tier: 3, amount: 17900, currency: usd}, shop(1), shop(3)}, []string{"17900 USD +0", "0 USD +5900", "0 USD +17900"}, false, false},
		13: {[]oldLink{{tier: 3, amount: 17900, currency: usd, refunded: 25}, shop(1), shop(3)}, []string{"17900 USD +0", "0 USD +0", "0 USD +0"}, false, true},
		14: { // the refund came before the last change, which no money covered
			[]oldLink{{tier: 1, amount: 5900, currency: usd, refunded: 5}, {tier: 2, currency: usd}, shop(3)}, []string{"5900 USD +0", "0 USD +0", "0 USD +0"}, false, false,
		},
		15: {[]oldLink{{tier: 1, amount: 5900, currency: usd, refunded: 5}}, []string{"5900 USD +0"}, true, false},
		16: { // the first payment was lost, the upgrade was paid: unchanged, because paid links get no credit
			[]oldLink{{tier: 1, amount: 5900, currency: usd, refunded: 15}, {tier: 3, amount: 12000, currency: usd, shop: true}}, []string{"5900 USD +0", "12000 USD +0"}, false, false,
		},
		17: {[]oldLink{{tier: 1, amount: 5900, currency: usd}, shop(4)}, []string{"5900 USD +0", "0 USD +0"}, false, false},                         // a free plan
		18: {[]oldLink{{tier: 3, amount: 17900, currency: usd}, {tier: 1, currency: usd}}, []string{"17900 USD +0", "0 USD +0"}, false, false},      // by a program
		19: {[]oldLink{{tier: 1, amount: 5900, currency: usd, refunded: 15}, shop(3)}, []string{"5900 USD +0", "0 USD +0"}, false, true},            // the price has risen since
		20: {[]oldLink{{tier: 1, amount: 5900, currency: usd}, shop(3), shop(5)}, []string{"5900 USD +0", "0 USD +5900", "0 USD +0"}, false, false}, // tier 5 is no longer sold
	}
	db := sqldbtest.OpenWith(t, sqldbtest.Empty(t), sqldb.Options{})
	if _, err := db.MigrateBefore(t.Context(), "0060"); err != nil {
		t.Fatal(err)
	}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at) VALUES (1, 'Tide', '', 'c', FALSE, FALSE, 1, 1)`)
		for tier, price := range map[int]int{1: 5900, 2: 11900, 3: 17900, 4: 0} {
			tx.Queue(`INSERT INTO plans (partner_id, tier, name, price_cents, currency, checkout_url, external_ref, created_at, updated_at)
				VALUES (1, $1, '', $2, 'USD', '', '', 1, 1)`, tier, price)
		}
		tx.Queue(`UPDATE old_amounts SET last_purchase = $1`, hundredths*100-1)
		for id, c := range chains {
			status := 2
			if c.ended {
				status = 3
			}
			storeOld(tx, id, 1000, status, c.chain)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	statuses := readStatuses(t, db)
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(statuses, readStatuses(t, db)); diff != "" {
		t.Errorf("statuses and tiers changed (-before +after)\n%s", diff)
	}
	h := newHarnessOn(t, db)
	suspects, err := license.Suspects(t.Context(), db, 100)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, s := range suspects {
		listed[s.Key] = true
	}
	for id, c := range chains {
		d, err := h.licenses.Inspect(t.Context(), fmt.Sprintf("00000000-0000-7000-8000-%012d", id))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range d.Links {
			got = append(got, fmt.Sprintf("%d %s +%d", k.Amount, k.Sale.Currency, k.Credit))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || d.Ended != c.ended || listed[d.Key] != c.list {
			t.Errorf("license %d: ended: %t, listed: %t (-want +got)\n%s", id, d.Ended, listed[d.Key], diff)
		}
	}
}

// readStatuses returns the status and tier of each license.
func readStatuses(t *testing.T, db *sqldb.DB) []string {
	t.Helper()
	list, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT license_key || ' ' || CAST(status AS TEXT) || ' ' || CAST(tier AS TEXT) FROM licenses ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
