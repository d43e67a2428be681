package ledger

import (
	"context"
	"fmt"
	"math"
	"time"

	"claviger/internal/sqldb"
)

// Standing says what happens to the partner's part of a sale.
type Standing string

// The standings.
const (
	IsUndivided Standing = "undivided" // the partner has no terms yet
	IsSettled   Standing = "settled"   // outside the ledger
	IsPending   Standing = "pending"
	IsPayable   Standing = "payable" // a payout may include it, or has included it
	IsDisputed  Standing = "disputed"
	IsRefunded  Standing = "refunded" // the buyer got all of the money back
)

// Earned is a sale as its partner sees it. It has nothing about the buyer, and no figure of the
// marketplace.
type Earned struct {
	PurchaseID int64
	Tier       int
	SoldAt     time.Time
	Currency   string
	Collected  Collector
	Price      int64
	Returned   int64 // of the price: refunded, or lost in a dispute
	Share      int64 // the partner's share of the rest
	Fee        int64 // of the provider, as far as the partner bears it
	FeeUnknown bool  // the provider has not named it yet
	Net        int64 // earned; negative: owed to the marketplace
	Standing   Standing
	PayableAt  time.Time // zero: there is no such day
}

// earned returns a sale as its partner sees it.
func (s *stored) earned() Earned {
	back := min(s.Back, s.Gross)
	e := Earned{
		PurchaseID: s.purchaseID, Tier: s.tier, SoldAt: s.soldAt, Currency: s.Currency, Collected: s.Collected,
		Price: s.Gross, Returned: back, Standing: s.standing(),
	}
	for _, b := range s.Balances() {
		if (owed[b.Account] || b.Account == Disputed) && s.Division != nil {
			e.Net -= b.Amount
		}
	}
	if s.Division == nil {
		return e
	}
	e.Share = s.share(back)
	if s.Settled == nil {
		e.PayableAt = s.dueAt
	}
	if s.Collected == ByPartner {
		return e
	}
	for _, f := range s.Fees {
		if s.Settled == nil || f.Dispute {
			e.Fee += s.Division.bears(f)
		}
	}
	e.FeeUnknown = s.Collected == ByProvider && s.Division.Bears != MarketplaceBears && !s.feeLookAt.IsZero()
	return e
}

func (s *stored) standing() Standing {
	switch {
	case s.Back >= s.Gross:
		return IsRefunded
	case s.Disputed > 0:
		return IsDisputed
	case s.Settled != nil:
		return IsSettled
	case s.Division == nil:
		return IsUndivided
	case s.Payable:
		return IsPayable
	default:
		return IsPending
	}
}

// FindEarned returns a page of the sales of a partner, newest first, before a purchase; 0 starts with the
// newest. It costs the same at any depth. The result has the purchase before which the next page begins;
// 0: there is none.
func FindEarned(ctx context.Context, r sqldb.Reader, partnerID, before int64, limit int) ([]Earned, int64, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	fail := func(err error) ([]Earned, int64, error) {
		return nil, 0, fmt.Errorf("read the sales of partner %d: %w", partnerID, err)
	}
	rows, err := sqldb.All(ctx, r, scanStored, `SELECT `+storedColumns+` FROM ledger_sales
		WHERE (partner_id, purchase_id) >= ($1, 0) AND (partner_id, purchase_id) < ($1, $2)
		ORDER BY partner_id DESC, purchase_id DESC LIMIT $3`, partnerID, before, limit+1)
	if err != nil {
		return fail(err)
	}
	var next int64
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].purchaseID
	}
	ids := make([]int64, len(rows))
	of := make(map[int64]*stored, len(rows))
	for i := range rows {
		ids[i] = rows[i].purchaseID
		of[ids[i]] = &rows[i]
	}
	fees, err := sqldb.All(ctx, r, scanFee, `SELECT purchase_id, source, amount, currency, num, den, dispute, at
		FROM ledger_fees WHERE purchase_id = ANY($1) ORDER BY purchase_id, source`, ids)
	if err != nil {
		return fail(err)
	}
	for _, f := range fees {
		s := of[f.purchaseID]
		s.Fees = append(s.Fees, f.Fee)
	}
	list := make([]Earned, len(rows))
	for i := range rows {
		list[i] = rows[i].earned()
	}
	return list, next, nil
}

// CurrentTerms returns the terms that divide the sales of a partner at a time; nil: none do.
func CurrentTerms(ctx context.Context, r sqldb.Reader, partnerID int64, d Defaults, at time.Time) (*Terms, error) {
	list, err := History(ctx, r, partnerID)
	if err != nil {
		return nil, err
	}
	return Current(list, d, at), nil
}
