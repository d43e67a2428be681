package payment

import (
	"errors"
	"testing"

	"github.com/stripe/stripe-go/v85"

	"claviger/internal/ledger"
)

// TestRates: a fee has the price of one unit of its currency in the currency of the sale, as Stripe
// converted the payment. Stripe counts some currencies in other units than we do.
func TestRates(t *testing.T) {
	for name, of := range map[string]struct {
		amount   int64
		currency stripe.Currency
		movement stripe.BalanceTransaction
		want     ledger.Ratio
		fee      int64
	}{
		"the same currency": {
			5900, "usd", stripe.BalanceTransaction{Amount: 5900, Fee: 201, Currency: "usd"}, ledger.Ratio{Num: 1, Den: 1}, 201,
		},
		"the same currency, without an amount": {
			5900, "usd", stripe.BalanceTransaction{Fee: 201, Currency: "usd"}, ledger.Ratio{Num: 1, Den: 1}, 201,
		},
		"another one": {
			5900, "usd", stripe.BalanceTransaction{Amount: 5428, Fee: 187, Currency: "eur"}, ledger.Ratio{Num: 5900, Den: 5428}, 187,
		},
		"taken from us": {
			5900, "usd", stripe.BalanceTransaction{Amount: -5428, Fee: 1500, Currency: "eur"}, ledger.Ratio{Num: 5900, Den: 5428}, 1500,
		},
		"returned": {
			5900, "usd", stripe.BalanceTransaction{Amount: 5428, Fee: -1500, Currency: "eur"}, ledger.Ratio{Num: 5900, Den: 5428}, -1500,
		},
		"without hundredths": {
			5900, "usd", stripe.BalanceTransaction{Amount: 8850, Fee: 286, Currency: "jpy"}, ledger.Ratio{Num: 5900, Den: 8850}, 286,
		},
		"of crowns, which Stripe counts in hundredths": {
			5900, "usd", stripe.BalanceTransaction{Amount: 813100, Fee: 26400, Currency: "isk"}, ledger.Ratio{Num: 5900, Den: 8131}, 264,
		},
		"of a payment in crowns": {
			813100, "isk", stripe.BalanceTransaction{Amount: 5900, Fee: 201, Currency: "usd"}, ledger.Ratio{Num: 8131, Den: 5900}, 201,
		},
		"no rate: no money moved": {5900, "usd", stripe.BalanceTransaction{Fee: 187, Currency: "eur"}, ledger.Ratio{}, 0},
		"no rate: no amount":      {0, "usd", stripe.BalanceTransaction{Amount: 1, Fee: 187, Currency: "eur"}, ledger.Ratio{}, 0},
	} {
		of.movement.ID = "txn_1"
		fact, known := feeOf(&of.movement, of.amount, of.currency)
		fee, err := fact.posting(fact.of.Currency, true)
		switch {
		case !known:
			t.Errorf("%s: it is not known", name)
		case of.want == ledger.Ratio{}:
			if !errors.Is(err, errNoRate) {
				t.Errorf("%s: %+v, %v", name, fee, err)
			}
		case err != nil || fee.Rate != of.want || fee.Amount != of.fee || fee.Source != "txn_1" || !fee.Dispute:
			t.Errorf("%s: %+v, %v", name, fee, err)
		}
	}
	fact, _ := feeOf(&stripe.BalanceTransaction{ID: "txn_1", Amount: 5428, Fee: 187, Currency: "eur"}, 5900, "usd")
	if _, err := fact.posting("GBP", true); !errors.Is(err, errNoRate) {
		t.Errorf("a dispute in another currency than the sale: %v", err)
	}
	for name, movement := range map[string]*stripe.BalanceTransaction{
		"none": nil, "an id": {ID: "txn_1"}, "no id": {Currency: "usd"},
	} {
		if fact, known := feeOf(movement, 5900, "usd"); known {
			t.Errorf("%s: %+v", name, fact)
		}
	}
}
