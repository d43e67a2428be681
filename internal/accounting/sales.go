package accounting

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// postSales posts some sales of one partner, with all their refunds and disputes.
func (s *Store) postSales(ctx context.Context) (n int, err error) {
	partnerID, err := license.UnpostedPartner(ctx, s.DB)
	if err != nil || partnerID == 0 {
		return 0, err
	}
	err = s.DB.Write(sqldb.InJob(ctx), func(tx *sqldb.Tx) error {
		p := posting{}
		if p.from, err = ledger.HoldFrom(ctx, tx); err != nil {
			return err
		}
		if err := ledger.Lock(ctx, tx, partnerID); err != nil {
			return err
		}
		sales, err := license.Unposted(ctx, tx, partnerID, salesAtOnce)
		if err != nil {
			return err
		}
		n = len(sales)
		ids := make([]int64, n)
		for i, u := range sales {
			ids[i] = u.ID
		}
		if p.taken, err = payment.TakenFor(ctx, tx, ids); err != nil {
			return err
		}
		if p.journal, err = ledger.Queue(tx, partnerID, s.Defaults).Open(ctx, s.Now()); err != nil {
			return err
		}
		var checkouts []int64
		for _, u := range sales {
			if err := p.post(ctx, u); err != nil {
				return fmt.Errorf("purchase %d: %w", u.ID, err)
			}
			if t, ok := p.taken[u.ID]; ok {
				checkouts = append(checkouts, t.CheckoutID)
			}
		}
		license.MarkPosted(tx, ids)
		payment.MarkPosted(tx, checkouts)
		return p.journal.Save()
	})
	if err != nil {
		return 0, fmt.Errorf("post sales of partner %d: %w", partnerID, err)
	}
	return n, nil
}

// posting posts sales of one partner.
type posting struct {
	journal *ledger.Journal
	from    time.Time
	taken   map[int64]payment.Taken // by purchase
}

// post posts a sale with its refunds and disputes. One from before the ledger is settled with its earlier
// refunds, so that only later ones count.
func (p *posting) post(ctx context.Context, u license.UnpostedSale) error {
	amount := money.Units(u.AmountCents, u.Currency, u.Hundredths)
	if amount == 0 || u.Currency == "" {
		return nil
	}
	taken, paidHere := p.taken[u.ID]
	collected := cmp.Or(u.Collected, ledger.ByMarketplace)
	if paidHere {
		collected = ledger.ByProvider
	}
	p.journal.Sell(ledger.Purchase{
		ID: u.ID, Tier: u.Tier, Amount: amount, Currency: u.Currency, Collected: collected, SoldAt: u.CreatedAt,
	})
	if err := p.journal.Follow(ctx, u.ID, taken.Facts); err != nil {
		return err
	}
	// Each refund has a posting of its own, so that the ledger knows how much was back at any time.
	for i, step := range u.Steps {
		source := fmt.Sprintf("returned:%d:%d", u.ID, i+1)
		if err := p.journal.Return(ctx, u.ID, step.Links, u.Links, source, step.At); err != nil {
			return err
		}
	}
	return p.journal.Settle(ctx, p.from, u.ID)
}
