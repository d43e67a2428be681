package payment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
)

// TestFacts: only refunds of the provider in the currency of the payment count. A dispute in another
// currency is about the whole payment, and a prevented one about the part that is left.
func TestFacts(t *testing.T) {
	paid := Amount{5900, "USD"}
	refunds := []*Refund{
		{ProviderID: "re_1", Amount: 1000, Currency: "USD", Status: RefundSucceeded},
		{ProviderID: "re_2", Amount: 900, Currency: "USD", Status: RefundPending},
		{ProviderID: "re_3", Amount: 800, Currency: "EUR", Status: RefundSucceeded},
		{Amount: 700, Currency: "USD", Status: RefundFailed},
	}
	disputes := []*Dispute{
		{ID: "dp_1", Amount: 300, Currency: "USD", Status: needsResponse},
		{ID: "dp_2", Amount: 5000, Currency: "EUR", Status: "lost"},
		{ID: "dp_3", Amount: 5900, Currency: "USD", Status: prevented},
		{ID: "dp_4", Amount: 200, Currency: "USD", Status: inquiryNeedsResponse},
	}
	want := []ledger.Fact{
		{Source: "re_1", State: ledger.MoneyBack, Amount: 1000},
		{Source: "re_2", Amount: 900},
		{Source: "dp_1", State: ledger.UnderReview, Amount: 300},
		{Source: "dp_2", State: ledger.MoneyLost, Amount: 5900},
		{Source: "dp_3", State: ledger.MoneyLost, Amount: 4900},
		{Source: "dp_4", Amount: 200},
	}
	if diff := cmp.Diff(want, facts(paid, refunds, disputes)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := disputes[2].takes(paid, 6000); got != 0 {
		t.Errorf("nothing is left, and it takes %d", got)
	}
}
