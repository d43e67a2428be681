package payout_test

import (
	"slices"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/payout"
	"claviger/internal/sqldb"
)

// refused checks that an act is refused with a code, and that the balances stay.
func (h *harness) refused(code string, act func() error) {
	h.Helper()
	before := h.balance(h.partners[0], "USD")
	err := act()
	if !fault.Is(err, code) {
		h.Errorf("%v instead of %s", err, code)
	}
	if after := h.balance(h.partners[0], "USD"); after != before {
		h.Errorf("%s changed the balances from %v to %v", code, before, after)
	}
}

func (h *harness) refusedRun(code, currency string) {
	h.Helper()
	h.refused(code, func() error {
		_, err := h.payouts.Prepare(h.Context(), tester, h.order(currency))
		return err
	})
}

func (h *harness) refusedSettlement(code string, s payout.Settlement) {
	h.Helper()
	h.refused(code, func() error {
		_, err := h.payouts.Settle(h.Context(), tester, s)
		return err
	})
}

// TestRun: a run reserves what is payable, is sent, and settled line by line. Each amount is paid once.
func TestRun(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 3)
	a, b, c := h.partners[0], h.partners[1], h.partners[2]
	for _, p := range h.partners {
		h.details(p, "IBAN DE02 1203 0000 0000 2020 51")
	}
	h.earn(a, 10_000, "USD")
	h.earn(a, 5_000, "EUR")
	h.earn(b, 2_000, "USD")
	h.earn(c, 3_000, "USD")
	run := h.prepare("USD")
	if run.State != payout.Prepared || run.Lines != 3 || run.Amount != 10_500 {
		t.Errorf("%+v", run)
	}
	h.earn(a, 1_000, "USD") // later money waits for the next run
	h.want("prepared", a, 700, 7000, 0)
	h.refusedRun("payout_prepared", "USD")

	run = h.settle(payout.Settlement{RunID: run.ID, State: payout.Sent})
	if run.State != payout.Paying {
		t.Errorf("sent: %+v", run)
	}
	h.refusedSettlement("payout_sent", payout.Settlement{RunID: run.ID, State: payout.Released, Reason: "wrong"})
	paid := payout.Settlement{RunID: run.ID, State: payout.Paid, Reference: "BANK 1", Partners: []int64{a}}
	h.settle(paid)
	h.settle(paid)
	h.want("paid", a, 700, 0, 7000)
	paid.Reference = "BANK 2"
	h.refusedSettlement("payout_settled", paid)

	h.settle(payout.Settlement{RunID: run.ID, State: payout.LineFailed, Reason: "no such account", Partners: []int64{b}})
	h.want("failed", b, 0, 1400, 0)
	h.settle(payout.Settlement{RunID: run.ID, State: payout.Released, Reason: "no such account", Partners: []int64{b}})
	h.want("released", b, 1400, 0, 0)
	h.refusedSettlement("payout_settled", payout.Settlement{
		RunID: run.ID, State: payout.Paid, Reference: "BANK 3", Partners: []int64{b},
	})
	run = h.settle(payout.Settlement{RunID: run.ID, State: payout.Paid, Reference: "BANK 4", Partners: []int64{c}})
	if run.State != payout.Done {
		t.Errorf("settled: %+v", run)
	}
	if next := h.prepare("USD"); next.Amount != 700+1400 || next.Lines != 2 {
		t.Errorf("the next run: %+v", next)
	}
	if eur := h.prepare("EUR"); eur.Amount != 3500 { // another currency is prepared beside it
		t.Errorf("euros: %+v", eur)
	}
}

// TestRestOfRun: after one line is paid with a reference of its own, the others are paid as a whole.
func TestRestOfRun(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 2)
	for _, p := range h.partners {
		h.details(p, "IBAN DE02 1203 0000 0000 2020 51")
		h.earn(p, 10_000, "USD")
	}
	run := h.prepare("USD")
	paid := payout.Settlement{RunID: run.ID, State: payout.Paid, Reference: "BANK 1", Partners: h.partners[:1]}
	h.settle(paid)
	rest := payout.Settlement{RunID: run.ID, State: payout.Paid, Reference: "BANK 2"}
	for range 2 {
		if run = h.settle(rest); run.State != payout.Done {
			t.Errorf("%+v", run)
		}
	}
	h.want("the first", h.partners[0], 0, 0, 7000)
	h.want("the rest", h.partners[1], 0, 0, 7000)
	rest.Reference = "BANK 3"
	h.refusedSettlement("payout_settled", rest)
}

// TestReleasedRun: all lines of a run are released before anything is sent.
func TestReleasedRun(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 1)
	h.details(h.partners[0], "IBAN DE02 1203 0000 0000 2020 51")
	h.earn(h.partners[0], 10_000, "USD")
	run := h.prepare("USD")
	run = h.settle(payout.Settlement{RunID: run.ID, State: payout.Released, Reason: "a mistake"})
	if run.State != payout.Failed {
		t.Errorf("%+v", run)
	}
	h.want("released", h.partners[0], 7000, 0, 0)
	h.settle(payout.Settlement{RunID: run.ID, State: payout.Released, Reason: "a mistake"})
	h.refusedSettlement("payout_settled", payout.Settlement{RunID: run.ID, State: payout.Sent})
	if again := h.prepare("USD"); again.Amount != 7000 {
		t.Errorf("%+v", again)
	}
}

// TestLeftOut: a run names the partners that it leaves out, and why.
func TestLeftOut(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 6)
	ready, small, owes, none, fresh, other := h.partners[0], h.partners[1], h.partners[2], h.partners[3], h.partners[4],
		h.partners[5]
	for _, p := range []int64{ready, small, owes, other} {
		h.details(p, "IBAN DE02 1203 0000 0000 2020 51")
	}
	_, err := h.books.AddTerms(t.Context(), tester, small, ledger.Terms{
		ShareBP: 7000, Bears: ledger.MarketplaceBears, Smallest: map[string]int64{"USD": 7001},
	})
	if err != nil {
		t.Fatal(err)
	}
	sale := h.earn(owes, 10_000, "USD")
	first := h.prepare("USD")
	h.settle(payout.Settlement{RunID: first.ID, State: payout.Paid, Reference: "BANK 1"})
	h.refund(sale)
	h.want("refunded after the payout", owes, -7000, 0, 7000)
	for _, p := range []int64{ready, small, none, fresh, other} {
		h.earn(p, 10_000, "USD")
	}
	if _, err := h.payouts.SetDetails(t.Context(), tester, fresh, h.admin, "a new account"); err != nil {
		t.Fatal(err)
	}
	h.at = h.at.Add(payout.DetailsRest - time.Second)
	run := h.prepare("USD", ready, small, owes, none, fresh)
	want := []payout.LeftOut{
		{PartnerID: small, Amount: 7000, Reason: payout.BelowSmallest},
		{PartnerID: owes, Amount: -7000, Reason: payout.Owes},
		{PartnerID: none, Amount: 7000, Reason: payout.NoDetails},
		{PartnerID: fresh, Amount: 7000, Reason: payout.NewDetails},
		{PartnerID: other, Amount: 7000, Reason: payout.NotChosen},
	}
	if run.Lines != 1 || run.Amount != 7000 || !slices.Equal(run.LeftOut, want) {
		t.Errorf("%+v", run)
	}
	h.settle(payout.Settlement{RunID: run.ID, State: payout.Sent})
	h.at = h.at.Add(time.Second)
	if later := h.prepare("USD"); later.Amount != 14_000 { // the fresh and the other one
		t.Errorf("%+v", later)
	}
	h.earn(owes, 20_000, "USD") // nets the debt
	h.want("netted", owes, 7000, 0, 7000)
}

// TestRefusedRuns: bad orders and settlements change nothing.
func TestRefusedRuns(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 1)
	p := h.partners[0]
	h.refusedRun("nothing_due", "USD")
	h.refusedRun("invalid_field", "XXY")
	h.earn(p, 10_000, "USD")
	h.refusedRun("nothing_due", "USD") // no details
	h.details(p, "IBAN DE02 1203 0000 0000 2020 51")
	order := h.order("USD")
	run, err := h.payouts.Prepare(t.Context(), tester, order)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := h.payouts.Prepare(t.Context(), tester, order); err != nil || again.ID != run.ID {
		t.Errorf("the order again: %+v %v", again, err)
	}
	h.refusedSettlement("unknown_payout", payout.Settlement{RunID: run.ID + 1, State: payout.Sent})
	h.refusedSettlement("unknown_payout_line", payout.Settlement{RunID: run.ID, State: payout.Sent, Partners: []int64{99}})
	h.refusedSettlement("payout_not_sent", payout.Settlement{RunID: run.ID, State: payout.LineFailed, Reason: "no"})
	for _, s := range []payout.Settlement{
		{State: payout.Reserved},
		{State: "lost"},
		{State: payout.Sent, Reference: "x"},
		{State: payout.Paid},
		{State: payout.LineFailed},
		{State: payout.Released},
	} {
		s.RunID = run.ID
		h.refusedSettlement("invalid_field", s)
	}
	h.want("in the end", p, 0, 7000, 0)
}

// TestWaitsForCatchUp: no run begins while something is not posted.
func TestWaitsForCatchUp(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 1)
	h.details(h.partners[0], "IBAN DE02 1203 0000 0000 2020 51")
	sale := h.earn(h.partners[0], 10_000, "USD")
	h.refund(sale)
	h.earn(h.partners[0], 20_000, "USD")
	for _, c := range []struct{ behind, posted string }{
		{`UPDATE purchases SET posted = FALSE`, `UPDATE purchases SET posted = TRUE`},
		{`UPDATE refunds SET posted_at = 0`, `UPDATE refunds SET posted_at = created_at`},
	} {
		h.exec(c.behind)
		h.refusedRun("ledger_behind", "USD")
		h.exec(c.posted)
	}
	h.prepare("USD")
}

func (h *harness) exec(sql string) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(sql)
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
}
