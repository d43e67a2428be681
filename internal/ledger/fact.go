package ledger

import (
	"context"
	"fmt"
	"time"
)

// State is how a refund or a dispute stands.
type State int

// The states.
const (
	NoMoney     State = iota // it took no money, or returned it
	MoneyBack                // refunded
	UnderReview              // a bank examines the payment
	MoneyLost                // the bank returned it to the buyer
)

// Fact is a refund or a dispute as the provider has it now.
type Fact struct {
	Source string // the provider's id
	State  State
	Amount int64 // in the currency of the sale
	At     time.Time
}

// kind returns the kind of posting for a change of the state.
func (f Fact) kind(was State) Kind {
	switch {
	case f.State == MoneyBack:
		return Refunded
	case f.State == UnderReview:
		return DisputeOpened
	case f.State == MoneyLost:
		return DisputeLost
	case was == MoneyBack:
		return RefundFailed
	default:
		return DisputeWon
	}
}

// Follow posts changes of the refunds and disputes of a purchase. Facts may come in any order and more
// than once. Follow skips a purchase that is not posted yet; the caller of Sell follows its facts.
func (j *Journal) Follow(ctx context.Context, purchaseID int64, list []Fact) error {
	s, err := j.load(ctx, purchaseID)
	if err != nil || s == nil {
		return err
	}
	for _, f := range list {
		p := s.facts[f.Source]
		if p == nil {
			p = &fact{source: f.Source}
		}
		if p.state == f.State && p.amount == f.Amount || p.state == NoMoney && f.State == NoMoney || f.Amount < 0 {
			continue
		}
		kind := f.kind(p.state)
		s.facts[f.Source] = p
		p.state = f.State
		p.amount = f.Amount
		p.turns++
		p.changed = true
		source := f.Source
		if p.turns > 1 {
			source = fmt.Sprintf("%s#%d", f.Source, p.turns)
		}
		j.change(s, Posting{Kind: kind, Source: source, At: f.At}, func(sale *Sale) {
			sale.Back, sale.Disputed = s.sums()
		})
	}
	return nil
}

// sums adds up the refunded and lost money, and the money under review.
func (s *stored) sums() (back, disputed int64) {
	for _, f := range s.facts {
		switch f.state {
		case MoneyBack, MoneyLost:
			back += f.amount
		case UnderReview:
			disputed += f.amount
		case NoMoney:
		}
	}
	return back, disputed
}
