package ledger

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Settle posts that purchases sold before a moment were settled outside the ledger, together with the
// refunds and lost disputes of before it. Later sales are not settled, or not any more. A dispute that is
// open now is not settled.
func (j *Journal) Settle(ctx context.Context, from time.Time, purchases ...int64) error {
	if err := j.Load(ctx, purchases); err != nil {
		return err
	}
	back, err := j.backBefore(ctx, from, purchases)
	if err != nil {
		return err
	}
	for _, id := range purchases {
		s := j.sales[id]
		switch {
		case s == nil:
		case s.soldAt.Before(from):
			j.settle(s, back[id])
		case s.Settled != nil:
			j.unsettle(s)
		}
	}
	return nil
}

// settle posts that a sale was settled outside the ledger, when an amount was back.
func (j *Journal) settle(s *stored, back int64) {
	if s.Settled != nil && *s.Settled == back {
		return
	}
	s.lookAt = time.Time{}
	s.feeLookAt = time.Time{}
	j.change(s, Posting{Kind: WasSettled, Source: s.turn()}, func(s *Sale) {
		s.Settled = &back
		s.Payable = true
	})
}

// unsettle takes back settle.
func (j *Journal) unsettle(s *stored) {
	if s.Division != nil {
		s.lookAt = s.dueAt
	}
	if s.Collected == ByProvider {
		s.feeLookAt = j.now
	}
	j.change(s, Posting{Kind: NotSettled, Source: s.turn()}, func(s *Sale) {
		s.Settled = nil
		s.Payable = false
	})
}

// grossOf is a change of the payments for a purchase.
type grossOf struct{ purchaseID, gross int64 }

// backBefore returns the money that was refunded or lost in disputes before a moment, by purchase. Only
// postings know it: refunds and disputes are stored as they are now.
func (j *Journal) backBefore(ctx context.Context, at time.Time, purchases []int64) (map[int64]int64, error) {
	back := make(map[int64]int64, len(purchases))
	var stored []int64 // earlier, not in this transaction
	for _, id := range purchases {
		if s := j.sales[id]; s != nil && !s.isNew && s.soldAt.Before(at) {
			stored = append(stored, id)
		}
	}
	if stored != nil {
		list, err := sqldb.All(ctx, j.tx, func(r *sqldb.Row, g *grossOf) error {
			return r.Scan(&g.purchaseID, &g.gross)
		}, `SELECT purchase_id, CAST(sum(gross) AS bigint) FROM ledger_postings
			WHERE partner_id = $1 AND purchase_id = ANY($2) AND at < $3 AND kind <> $4 GROUP BY purchase_id`,
			j.partnerID, stored, at, string(Sold))
		if err != nil {
			return nil, fmt.Errorf("add up the refunds of partner %d: %w", j.partnerID, err)
		}
		for _, g := range list {
			back[g.purchaseID] = -g.gross
		}
	}
	for _, p := range j.postings {
		if p.Kind != Sold && p.At.Before(at) {
			back[p.PurchaseID] -= p.Gross
		}
	}
	return back, nil
}
