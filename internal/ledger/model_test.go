package ledger_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"

	"claviger/internal/ledger"
)

// model moves amounts from account to account, one fact after the other.
type model struct {
	random   *rand.Rand
	accounts map[string]int64
	sales    []*modelSale
	share    int64 // of the terms; 0: there are none
	bears    ledger.Bearer
	facts    int
}

// modelSale is a sale of the model.
type modelSale struct {
	ledger.Purchase
	divided  bool
	share    int64 // the partner's, at first
	bp       int64
	bears    ledger.Bearer
	earned   string // the account of the share
	back     int64
	reversed int64 // of the share
	dispute  *ledger.Fact
	moved    int64 // from the share to the disputed money
	fee      int64
}

// move moves an amount between two accounts in dollars.
func (m *model) move(from, to string, amount int64) {
	m.accounts[from] -= amount
	m.accounts[to] += amount
}

// written returns the accounts with balances that are not zero.
func (m *model) written() map[string]int64 {
	got := map[string]int64{}
	for account, amount := range m.accounts {
		if amount != 0 {
			got[account+" USD"] = amount
		}
	}
	return got
}

// part returns amount × numerator / denominator, rounded down.
func part(amount, numerator, denominator int64) int64 {
	r := new(big.Rat).Mul(big.NewRat(amount, 1), big.NewRat(numerator, denominator))
	return new(big.Int).Quo(r.Num(), r.Denom()).Int64()
}

// cash is the account of who took the money.
func (s *modelSale) cash() string {
	switch s.Collected {
	case ledger.ByProvider:
		return "provider"
	case ledger.ByMarketplace:
		return "external"
	default:
		return "held"
	}
}

func (m *model) sell(id int64) *modelSale {
	collected := []ledger.Collector{ledger.ByProvider, ledger.ByProvider, ledger.ByMarketplace, ledger.ByPartner}
	s := &modelSale{earned: "share", Purchase: ledger.Purchase{
		ID: id, Tier: 1, Amount: 1 + m.random.Int64N(20_000), Currency: "USD",
		Collected: collected[m.random.IntN(len(collected))], SoldAt: noon,
	}}
	m.sales = append(m.sales, s)
	m.move("undivided", s.cash(), s.Amount)
	if m.share > 0 {
		s.SoldAt = noon.AddDate(1, 0, 0) // after all terms have begun
		m.divide(s)
	}
	return s
}

// divide divides an undivided sale by the terms of now.
func (m *model) divide(s *modelSale) {
	if s.divided || m.share == 0 {
		return
	}
	s.divided = true
	s.bp = m.share
	s.bears = m.bears
	s.share = part(s.Amount, s.bp, 10_000)
	s.reversed = part(s.share, s.back, s.Amount)
	kept := s.Amount - s.back
	if s.Collected == ledger.ByPartner {
		m.move("held", "undivided", kept)
		m.move("margin", s.earned, kept-(s.share-s.reversed))
		return
	}
	m.move("margin", "undivided", kept-(s.share-s.reversed))
	if s.dispute != nil {
		m.move("undivided", "disputed", s.dispute.Amount)
		s.moved = s.share - s.reversed
		m.move("disputed", "undivided", s.moved)
	} else {
		m.move(s.earned, "undivided", s.share-s.reversed)
	}
	m.bear(s, s.fee)
}

// bear moves the partner's part of a fee from its share.
func (m *model) bear(s *modelSale, fee int64) {
	switch s.bears {
	case ledger.PartnerBears:
	case ledger.ByShare:
		fee = part(fee, s.bp, 10_000)
	default:
		return
	}
	m.move("fees", s.earned, fee)
}

// act does one random thing to a sale, and returns how it is posted; nil: it did nothing.
func (m *model) act(s *modelSale) func(context.Context, *ledger.Journal) error {
	paid := s.Collected == ledger.ByProvider
	switch m.random.IntN(6) {
	case 0:
		if paid && s.dispute == nil && s.back < s.Amount {
			return m.refund(s, 1+m.random.Int64N(s.Amount-s.back))
		}
	case 1:
		if paid && s.dispute == nil && s.back < s.Amount {
			return m.open(s)
		}
	case 2:
		if s.dispute != nil {
			return m.end(s, m.random.IntN(2) == 0)
		}
	case 3:
		if s.divided && s.earned == "share" {
			return m.payable(s)
		}
	case 4:
		if paid && s.fee == 0 {
			return m.takeFee(s)
		}
	case 5:
		if !paid && s.back == 0 {
			return m.giveBack(s)
		}
	}
	return nil
}

func follow(s *modelSale, f ledger.Fact) func(context.Context, *ledger.Journal) error {
	return func(ctx context.Context, j *ledger.Journal) error { return j.Follow(ctx, s.ID, []ledger.Fact{f}) }
}

// source names a new fact.
func (m *model) source(prefix string) string {
	m.facts++
	return fmt.Sprintf("%s_%d", prefix, m.facts)
}

// take takes money back from the share, the margin and the cash.
func (m *model) take(s *modelSale, amount int64) {
	s.back += amount
	if !s.divided {
		m.move(s.cash(), "undivided", amount)
		return
	}
	reversed := part(s.share, s.back, s.Amount)
	fromShare := reversed - s.reversed
	s.reversed = reversed
	if s.Collected == ledger.ByPartner {
		m.move(s.earned, "margin", amount-fromShare)
		return
	}
	m.move(s.cash(), s.earned, fromShare)
	m.move(s.cash(), "margin", amount-fromShare)
}

func (m *model) refund(s *modelSale, amount int64) func(context.Context, *ledger.Journal) error {
	m.take(s, amount)
	return follow(s, ledger.Fact{Source: m.source("re"), State: ledger.MoneyBack, Amount: amount})
}

// giveBack refunds a part of the licenses of a sale without a provider.
func (m *model) giveBack(s *modelSale) func(context.Context, *ledger.Journal) error {
	of := 1 + m.random.Int64N(5)
	back := 1 + m.random.Int64N(of)
	m.take(s, part(s.Amount, back, of))
	source := m.source("refund")
	return func(ctx context.Context, j *ledger.Journal) error { return j.Return(ctx, s.ID, back, of, source, noon) }
}

// open opens a dispute of all that is left.
func (m *model) open(s *modelSale) func(context.Context, *ledger.Journal) error {
	s.dispute = &ledger.Fact{Source: m.source("dp"), State: ledger.UnderReview, Amount: s.Amount - s.back}
	if s.divided {
		s.moved = s.share - s.reversed
		m.move("disputed", s.earned, s.moved)
	} else {
		m.move("disputed", "undivided", s.dispute.Amount)
	}
	return follow(s, *s.dispute)
}

// end ends a dispute.
func (m *model) end(s *modelSale, won bool) func(context.Context, *ledger.Journal) error {
	f := *s.dispute
	s.dispute = nil
	if s.divided {
		m.move(s.earned, "disputed", s.moved)
	} else {
		m.move("undivided", "disputed", f.Amount)
	}
	f.State = ledger.NoMoney
	if !won {
		f.State = ledger.MoneyLost
		m.take(s, f.Amount)
	}
	return follow(s, f)
}

func (m *model) payable(s *modelSale) func(context.Context, *ledger.Journal) error {
	owed := s.share - s.reversed
	switch {
	case s.Collected == ledger.ByPartner:
		owed -= s.Amount - s.back
	case s.dispute != nil:
		owed = 0
	}
	m.move("payable", "share", owed)
	m.bear(s, -s.fee)
	s.earned = "payable"
	m.bear(s, s.fee)
	return func(ctx context.Context, j *ledger.Journal) error { return j.MakePayable(ctx, s.ID) }
}

func (m *model) takeFee(s *modelSale) func(context.Context, *ledger.Journal) error {
	s.fee = 1 + m.random.Int64N(500)
	m.move("provider", "fees", s.fee)
	if s.divided {
		m.bear(s, s.fee)
	}
	fee := ledger.Fee{Source: m.source("txn"), Amount: s.fee, Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}}
	return func(ctx context.Context, j *ledger.Journal) error { return j.TakeFee(ctx, s.ID, fee) }
}
