package license

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// collector returns the party that took the money of an order.
func collector(named ledger.Collector, paid bool) ledger.Collector {
	switch {
	case paid:
		return ledger.ByProvider
	case named == "":
		return ledger.ByMarketplace
	}
	return named
}

// earns reports whether a sale is posted. An amount without a currency is not.
func earns(amount int64, currency string) bool { return amount != 0 && currency != "" }

// queueTerms queues the queries for the posting of a sale. It returns nil if it is not posted.
func (r *Store) queueTerms(tx *sqldb.Tx, partnerID, amount int64, currency string) *ledger.Opening {
	if !earns(amount, currency) {
		return nil
	}
	return ledger.Queue(tx, partnerID, r.Defaults)
}

// postSales posts new sales. terms is nil if none of them is posted.
func (t *partnerTx) postSales(ctx context.Context, terms *ledger.Opening, sales ...Sale) error {
	if terms == nil {
		return nil
	}
	journal, err := terms.Open(ctx, t.now)
	if err != nil {
		return err
	}
	for _, s := range sales {
		if earns(s.AmountCents, s.Currency) {
			journal.Sell(ledger.Purchase{
				ID: s.ID, Tier: s.Tier, Amount: s.AmountCents, Currency: s.Currency, Collected: s.Collected,
				SoldAt: s.CreatedAt,
			})
		}
	}
	return journal.Save()
}

// parts counts the links of a purchase, and those that are refunded.
type parts struct{ purchaseID, links, back int64 }

// postReturned posts the purchases in t.returned: those with links that a refund closed, or opened again at
// a time.
func (t *partnerTx) postReturned(ctx context.Context, refundID int64, at time.Time) error {
	slices.Sort(t.returned)
	ids := slices.Compact(t.returned)
	t.returned = nil
	if len(ids) == 0 {
		return nil
	}
	// Counts in the database: other licenses of the purchases were not read.
	counts := sqldb.QueueQuery(t.tx, func(r *sqldb.Row, p *parts) error {
		return r.Scan(&p.purchaseID, &p.links, &p.back)
	}, `SELECT purchase_id, count(*), count(CASE WHEN refund_id <> 0 THEN 1 END) FROM purchase_links
		WHERE purchase_id = ANY($1) GROUP BY purchase_id ORDER BY purchase_id`, ids)
	journal := ledger.New(t.tx, t.counters.PartnerID, t.now)
	if err := journal.Load(ctx, ids); err != nil {
		return err
	}
	list, err := counts.All(ctx)
	if err != nil {
		return fmt.Errorf("count the refunded licenses of purchases: %w", err)
	}
	for _, p := range list {
		source := fmt.Sprintf("refund:%d:%d", refundID, p.purchaseID)
		if err := journal.Return(ctx, p.purchaseID, p.back, p.links, source, at); err != nil {
			return err
		}
	}
	return journal.Save()
}
