package ledger

import (
	"context"
	"fmt"
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
}

// kind returns what the posting of a change is about.
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

// Follow posts what is new in the refunds and disputes of a purchase. Facts may come in any order
// and more than once. A purchase that is not posted has none: whoever posts it follows its facts
// then.
func (b *Book) Follow(ctx context.Context, purchaseID int64, list []Fact) error {
	s, err := b.load(ctx, purchaseID)
	if err != nil || s == nil {
		return err
	}
	posted, err := readFacts(ctx, b.tx, purchaseID)
	if err != nil {
		return err
	}
	for _, f := range list {
		p := posted[f.Source]
		if p == nil {
			p = &fact{source: f.Source}
			posted[f.Source] = p
		}
		if p.state == f.State && p.amount == f.Amount || p.state == NoMoney && f.State == NoMoney {
			continue
		}
		kind := f.kind(p.state)
		p.state = f.State
		p.amount = f.Amount
		p.turns++
		source := f.Source
		if p.turns > 1 {
			source = fmt.Sprintf("%s#%d", f.Source, p.turns)
		}
		back, disputed := sums(posted)
		b.change(s, kind, source, func(s *Sale) {
			s.Back = back
			s.Disputed = disputed
		})
		p.save(b.tx, purchaseID)
	}
	return nil
}

// sums returns how much the facts returned, and how much they keep under review.
func sums(facts map[string]*fact) (back, disputed int64) {
	for _, f := range facts {
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
