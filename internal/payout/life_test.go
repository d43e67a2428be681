package payout_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/payout"
	"claviger/internal/sqldb"
)

// TestCutOff: a run is cut off before each of its statements. In the end, each partner is paid once.
func TestCutOff(t *testing.T) {
	var left atomic.Int64
	h := newHarness(t, sqldb.Options{Cut: func(string) error {
		if left.Add(-1) == 0 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}}, 2)
	for i, p := range h.partners {
		h.details(p, "IBAN DE02 1203 0000 0000 2020 51")
		h.earn(p, int64(10_000*(i+1)), "USD")
	}
	cuts := 0
	// until repeats an act, cut off one statement later each time, until it succeeds.
	until := func(act func() error) {
		t.Helper()
		for n := int64(1); n < 500; n++ {
			left.Store(n)
			err := act()
			left.Store(0)
			if err == nil {
				return
			}
			if fault.Is(err, "idempotency_key_in_use") { // the server did not notice yet that it was cut off
				time.Sleep(10 * time.Millisecond)
				n--
				continue
			}
			cuts++
			if !sqldb.IsUnavailable(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("cut off before statement %d: %v", n, err)
			}
		}
		t.Fatal("the act never succeeds")
	}
	order := h.order("USD")
	var run payout.Run
	until(func() (err error) {
		run, err = h.payouts.Prepare(t.Context(), tester, order)
		return err
	})
	for _, s := range []payout.Settlement{
		{State: payout.Sent},
		{State: payout.LineFailed, Reason: "no such account", Partners: h.partners[1:]},
		{State: payout.Released, Reason: "no such account", Partners: h.partners[1:]},
		{State: payout.Paid, Reference: "BANK 1", Partners: h.partners[:1]},
	} {
		s.RunID = run.ID
		until(func() error {
			_, err := h.payouts.Settle(t.Context(), tester, s)
			return err
		})
	}
	if cuts < 30 {
		t.Errorf("%d cuts", cuts)
	}
	h.want("after all cuts", h.partners[0], 0, 0, 7000)
	h.want("after all cuts", h.partners[1], 14_000, 0, 0)
}

// TestAdminsAtTheSameTime: admins prepare and settle runs at the same time, while sales are refunded. Nobody
// is paid twice.
func TestAdminsAtTheSameTime(t *testing.T) {
	h := newHarness(t, sqldb.Options{}, 3)
	var sales []license.Sale
	for _, p := range h.partners {
		h.details(p, "IBAN DE02 1203 0000 0000 2020 51")
		for range 4 {
			sales = append(sales, h.earn(p, 10_000, "USD"))
		}
	}
	var wait sync.WaitGroup
	var made atomic.Int64
	for range 4 {
		order := h.order("USD")
		wait.Go(func() {
			run, err := h.payouts.Prepare(t.Context(), tester, order)
			if err == nil {
				made.Add(1)
				_, err = h.payouts.Settle(t.Context(), tester, payout.Settlement{
					RunID: run.ID, State: payout.Paid, Reference: "BANK",
				})
			}
			if err != nil && !fault.Is(err, "payout_prepared") && !fault.Is(err, "nothing_due") {
				t.Error(err)
			}
		})
	}
	for _, s := range sales[:6] {
		wait.Go(func() { h.refund(s) })
	}
	wait.Wait()
	if made.Load() == 0 {
		t.Error("no run was prepared")
	}
	for i, p := range h.partners {
		kept := []int64{0, 14_000, 28_000}[i]
		b := h.balance(p, "USD")
		if b[0]+b[1]+b[2] != kept || b[1] != 0 {
			t.Errorf("partner %d has %v, and %d are kept", p, b, kept)
		}
	}
}

// TestLives: random sales, refunds, runs and settlements agree with a model that only counts.
func TestLives(t *testing.T) {
	for seed := range uint64(4) {
		l := life{harness: newHarness(t, sqldb.Options{}, 3), rand: rand.New(rand.NewPCG(seed, 36))}
		for _, p := range l.partners {
			l.details(p, "IBAN DE02 1203 0000 0000 2020 51")
		}
		l.model = map[int64][3]int64{}
		for range 60 {
			l.step()
		}
		for _, p := range l.partners {
			if got := l.balance(p, "USD"); got != l.model[p] {
				t.Errorf("seed %d: partner %d has %v instead of %v\n%s", seed, p, got, l.model[p], strings.Join(l.acts, "\n"))
			}
		}
	}
}

// life is a random life of partners.
type life struct {
	*harness
	rand  *rand.Rand
	model map[int64][3]int64 // payable, in a run, paid
	sales []license.Sale
	lines []modelLine
	acts  []string
}

// modelLine is a line as the model knows it.
type modelLine struct {
	run, partner, amount int64
	state                payout.LineState
}

// add moves an amount in the model.
func (l *life) add(partnerID, payable, inRun, paid int64) {
	b := l.model[partnerID]
	l.model[partnerID] = [3]int64{b[0] + payable, b[1] + inRun, b[2] + paid}
}

func (l *life) step() {
	switch n := l.rand.IntN(10); {
	case n < 4:
		p := l.partners[l.rand.IntN(len(l.partners))]
		amount := int64(l.rand.IntN(90)+1) * 100
		l.sales = append(l.sales, l.earn(p, amount, "USD"))
		l.add(p, amount*7/10, 0, 0)
		l.acts = append(l.acts, "sell")
	case n < 6 && len(l.sales) > 0:
		i := l.rand.IntN(len(l.sales))
		sale := l.sales[i]
		l.sales = append(l.sales[:i], l.sales[i+1:]...)
		l.refund(sale)
		l.add(sale.PartnerID, -sale.AmountCents*7/10, 0, 0)
		l.acts = append(l.acts, "refund")
	case n < 7:
		l.prepareAny()
	case len(l.lines) > 0:
		l.settleAny()
	}
}

func (l *life) prepareAny() {
	run, err := l.payouts.Prepare(l.Context(), tester, l.order("USD"))
	if err != nil {
		if !fault.Is(err, "payout_prepared") && !fault.Is(err, "nothing_due") {
			l.Fatal(err)
		}
		return
	}
	l.acts = append(l.acts, "prepare")
	for _, p := range l.partners {
		if amount := l.model[p][0]; amount > 0 {
			l.add(p, -amount, amount, 0)
			l.lines = append(l.lines, modelLine{run.ID, p, amount, payout.Reserved})
		}
	}
}

func (l *life) settleAny() {
	line := &l.lines[l.rand.IntN(len(l.lines))]
	to := []payout.LineState{payout.Sent, payout.Paid, payout.LineFailed, payout.Released}[l.rand.IntN(4)]
	s := payout.Settlement{RunID: line.run, State: to, Partners: []int64{line.partner}}
	if to == payout.Paid {
		s.Reference = "BANK"
	} else if to != payout.Sent {
		s.Reason = "no such account"
	}
	allowed := map[payout.LineState]string{
		payout.Sent: "reserved failed", payout.Paid: "reserved sent failed", payout.LineFailed: "sent",
		payout.Released: "reserved failed",
	}[to]
	_, err := l.payouts.Settle(l.Context(), tester, s)
	if may := strings.Contains(allowed, string(line.state)) || line.state == to; may != (err == nil) {
		l.Fatalf("from %s to %s: %v", line.state, to, err)
	}
	if err != nil || line.state == to {
		return
	}
	l.acts = append(l.acts, string(to))
	line.state = to
	switch to {
	case payout.Paid:
		l.add(line.partner, 0, -line.amount, line.amount)
	case payout.Released:
		l.add(line.partner, line.amount, -line.amount, 0)
	case payout.Reserved, payout.Sent, payout.LineFailed:
	}
}
