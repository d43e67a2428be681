package statement_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
	"claviger/internal/statement"
)

// TestRunning: the open month is read from the last look on, begins with the balance of the month before
// whether that is closed or not, and becomes the statement.
func TestRunning(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	running := func() []statement.Statement {
		t.Helper()
		list, err := h.store.Running(t.Context(), h.partner)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := running(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	a := h.sell(h.partner, 10_000, "USD")
	if list := running(); len(list) != 1 || list[0].Sales != 7000 || list[0].Number != 0 {
		t.Errorf("%+v", list)
	}
	h.refund(h.partner, a, 1000)
	january := running()
	if january[0].Refunds != -700 || january[0].Closing != 6300 {
		t.Errorf("%+v", january)
	}
	h.to(2026, 2, 3)
	for range 2 { // before and after the closing
		if list := running(); len(list) != 1 || list[0].Opening != 6300 || list[0].Sales != 0 ||
			list[0].Month.String() != "2026-02" {
			t.Errorf("%+v", list)
		}
		h.close()
	}
	closed := h.list(h.partner)[0]
	if closed.Sums != january[0].Sums || closed.Closing != january[0].Closing {
		t.Errorf("%+v became %+v", january[0], closed)
	}
	h.sell(h.partner, 1000, "EUR")
	if list := running(); len(list) != 2 || list[0].Currency != "EUR" || list[1].Opening != 6300 {
		t.Errorf("%+v", list)
	}
}

// TestBalances: each account is shown as what the marketplace owes, and the next payout with its reason.
func TestBalances(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.sell(h.partner, 1000, "GBP")
	h.sell(h.partner, 10_000, "USD")
	disputed := h.sell(h.partner, 2000, "USD")
	h.follow(h.partner, disputed, ledger.Fact{State: ledger.UnderReview, Amount: 2000})
	h.adjust(h.partner, 4999, "USD")
	h.adjust(h.partner, -100, "EUR")
	h.adjust(h.partner, 300, "JPY")
	h.want(
		statement.Balance{Currency: "EUR", Payable: -100, Reason: statement.Negative},
		statement.Balance{Currency: "GBP", Pending: 700, Reason: statement.NothingDue},
		statement.Balance{Currency: "JPY", Payable: 300, Next: 300},
		statement.Balance{
			Currency: "USD", Pending: 7000, Disputed: 1400, Payable: 4999, Reason: statement.BelowSmallest, Smallest: 5000,
		},
	)
	h.adjust(h.partner, 1, "USD")
	h.adjust(h.partner, -200, "JPY")
	h.adjust(h.partner, 100, "EUR")
	h.want(
		statement.Balance{Currency: "GBP", Pending: 700, Reason: statement.NothingDue},
		statement.Balance{Currency: "JPY", Payable: 100, Next: 100},
		statement.Balance{
			Currency: "USD", Pending: 7000, Disputed: 1400, Payable: 5000, Next: 5000, Smallest: 5000,
		},
	)
	h.exec(`DELETE FROM ledger_terms`)
	list, err := h.store.Balances(t.Context(), h.partner)
	if err != nil || list[2].Reason != statement.NoTerms || list[2].Next != 0 {
		t.Errorf("without terms: %+v %v", list, err)
	}
	for _, b := range list {
		if (b.Sentence() == "") != (b.Next > 0) {
			t.Errorf("%+v has the sentence %q", b, b.Sentence())
		}
	}
}

func (h *harness) want(want ...statement.Balance) {
	h.Helper()
	got, err := h.store.Balances(h.Context(), h.partner)
	if err != nil {
		h.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("(-want +got)\n%s", diff)
	}
}
