package ledger_test

import (
	"slices"
	"testing"

	"claviger/internal/ledger"
)

// TestPartners: each partner with a posting or a balance is listed once.
func TestPartners(t *testing.T) {
	b := newBooks(t)
	partners := func() []int64 {
		t.Helper()
		list, err := ledger.Partners(t.Context(), b.db)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := partners(); len(list) > 0 {
		t.Errorf("an empty ledger has the partners %v", list)
	}
	b.exec(`INSERT INTO ledger_balances (partner_id, account, currency, amount) VALUES
		(3, 'share', 'EUR', -5), (3, 'margin', 'EUR', 5), (9, 'share', 'USD', 0)`)
	if list := partners(); !slices.Equal(list, []int64{3, 9}) {
		t.Errorf("without postings: %v", list)
	}
	b.exec(`INSERT INTO ledger_postings
			(partner_id, kind, source, purchase_id, tier, gross, currency, lines, reason, at, created_at)
		VALUES (2, 'sale', 'a', 1, 1, 0, 'USD', '[]', '', 1, 1), (2, 'sale', 'b', 2, 1, 0, 'USD', '[]', '', 1, 1),
			(3, 'sale', 'c', 3, 1, 0, 'USD', '[]', '', 1, 1), (400, 'sale', 'd', 4, 1, 0, 'USD', '[]', '', 1, 1)`)
	if list := partners(); !slices.Equal(list, []int64{2, 3, 9, 400}) {
		t.Errorf("with postings: %v", list)
	}
}

// TestUnbalanced: the balances of a sound ledger sum to zero in each currency. Partners do not make up for
// each other in different currencies.
func TestUnbalanced(t *testing.T) {
	b := lived(t)
	want := func(want ...ledger.Sum) {
		t.Helper()
		list, err := ledger.Unbalanced(t.Context(), b.db)
		if err != nil || !slices.Equal(list, want) {
			t.Errorf("%+v, %v; want %+v", list, err, want)
		}
	}
	want()
	b.exec(`INSERT INTO ledger_balances (partner_id, account, currency, amount) VALUES
		(3, 'share', 'EUR', -5), (4, 'margin', 'CHF', 5), (3, 'share', 'JPY', -5), (4, 'margin', 'JPY', 5)`)
	want(ledger.Sum{Currency: "CHF", Amount: 5}, ledger.Sum{Currency: "EUR", Amount: -5})
}
