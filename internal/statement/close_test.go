package statement_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
	"claviger/internal/statement"
)

// TestCutOff: the job is cut off before each of its statements, and the next run closes each month once,
// with one email.
func TestCutOff(t *testing.T) {
	var left atomic.Int64
	h := newHarness(t, sqldb.Options{Cut: func(string) error {
		if left.Add(-1) == 0 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}})
	if _, err := h.profile.AddContact(t.Context(), tester, h.partner, "Ann", "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	h.sell(h.partner, 10_000, "USD")
	h.sell(h.other, 10_000, "USD")
	h.to(2026, 4, 2)
	cuts := 0
	for n := int64(1); n < 1000; n++ {
		left.Store(n)
		err := h.store.CloseMonths(context.WithoutCancel(t.Context()))
		if left.Load() > 0 && err == nil {
			break
		}
		if err != nil {
			cuts++
			if !sqldb.IsUnavailable(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("cut off before statement %d: %v", n, err)
			}
		}
	}
	left.Store(0)
	if cuts < 10 {
		t.Errorf("%d cuts", cuts)
	}
	for _, id := range []int64{h.partner, h.other} {
		if list := h.list(id); len(list) != 3 || list[2].Closing != 7000 {
			t.Errorf("%+v", list)
		}
	}
	if n := h.count(`SELECT count(*) FROM mails`); n != 1 {
		t.Errorf("%d emails", n)
	}
}

// TestTwoNodes: nodes close months at the same time, with clocks that differ by a month, while sales go on.
func TestTwoNodes(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.sell(h.partner, 10_000, "USD")
	node := func(at time.Time) *statement.Store {
		return &statement.Store{DB: h.db, Now: func() time.Time { return at }, Zone: time.UTC, Log: h.store.Log}
	}
	h.to(2026, 6, 2)
	var all sync.WaitGroup
	for i := range 4 {
		s := node(time.Date(2026, time.Month(4+i%2), 2, 0, 0, 0, 0, time.UTC))
		all.Go(func() {
			if err := s.CloseMonths(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		h.sell(h.partner, 1000, "USD")
	}
	all.Wait()
	if list := h.list(h.partner); len(list) != 4 {
		t.Errorf("%d statements", len(list))
	}
	h.to(2026, 7, 2)
	h.close()
	list := h.list(h.partner)
	if last := list[len(list)-1]; last.Closing != 7000+20*700 || len(h.lines(last, 7)) != 20 {
		t.Errorf("%+v", last)
	}
}

// TestModel: random lives of several months in two currencies, closed at random times, agree with a fold
// that only knows the balances at the end of each month.
func TestModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHarness(t, sqldb.Options{})
			m := &life{harness: h, random: rand.New(rand.NewPCG(seed, 7)), ends: map[string]int64{}} //nolint:gosec // a test
			for range 300 {
				m.step()
			}
			m.at = m.at.AddDate(0, 1, 0)
			m.noteEnds()
			m.close()
			m.compare()
		})
	}
}

// life is the random life of a partner.
type life struct {
	*harness
	random    *rand.Rand
	purchases []int64
	month     statement.Month // of the last step
	ends      map[string]int64
}

// owed sums up the stored balances.
func (m *life) owed(currency string) (sum int64) {
	m.Helper()
	list, err := m.store.Balances(m.Context(), m.partner)
	if err != nil {
		m.Fatal(err)
	}
	for _, b := range list {
		if b.Currency == currency {
			sum = b.Pending + b.Payable + b.InPayout
		}
	}
	return sum
}

// noteEnds notes the balances at the end of months that are over.
func (m *life) noteEnds() {
	now := statement.MonthOf(m.at, time.UTC)
	for ; m.month != 0 && m.month < now; m.month++ {
		for _, currency := range []string{"EUR", "USD"} {
			m.ends[m.month.String()+" "+currency] = m.owed(currency)
		}
	}
	m.month = now
}

func (m *life) step() {
	m.at = m.at.Add(time.Duration(m.random.IntN(24)) * time.Hour)
	if m.random.IntN(40) == 0 {
		m.at = m.at.AddDate(0, 2, 0)
	}
	m.noteEnds()
	currency := []string{"USD", "EUR"}[m.random.IntN(2)]
	if len(m.purchases) == 0 || m.random.IntN(3) == 0 {
		m.purchases = append(m.purchases, m.sell(m.partner, 1+m.random.Int64N(20_000), currency))
		return
	}
	id := m.purchases[m.random.IntN(len(m.purchases))]
	switch m.random.IntN(7) {
	case 0:
		m.refund(m.partner, id, 1+m.random.Int64N(500))
	case 1, 2:
		state := []ledger.State{ledger.UnderReview, ledger.NoMoney, ledger.MoneyLost}[m.random.IntN(3)]
		m.follow(m.partner, id, ledger.Fact{Source: fmt.Sprintf("dp_%d", id), State: state, Amount: 300})
	case 3:
		m.post(m.partner, func(ctx context.Context, j *ledger.Journal) error {
			return errors.Join(j.MakePayable(ctx, id), j.TakeFee(ctx, id, ledger.Fee{
				Source: fmt.Sprintf("txn_%d", id), Amount: 30, Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}, At: m.at,
			}))
		})
	case 4:
		m.adjust(m.partner, 1+m.random.Int64N(1000), currency)
	case 5:
		m.post(m.partner, func(ctx context.Context, j *ledger.Journal) error { return j.Settle(ctx, m.at.AddDate(1, 0, 0), id) })
	case 6:
		m.close()
	}
}

// compare compares the statements with the noted balances. A month without a statement has a balance of 0.
func (m *life) compare() {
	m.Helper()
	got := map[string]int64{}
	for key := range m.ends {
		got[key] = 0
	}
	for _, s := range m.list(m.partner) {
		got[s.Month.String()+" "+s.Currency] = s.Closing
		m.lines(s, 1+m.random.IntN(20))
	}
	if diff := cmp.Diff(m.ends, got); diff != "" || len(got) < 10 {
		m.Errorf("closing balances of %d months (-want +got)\n%s", len(got)/2, diff)
	}
}
