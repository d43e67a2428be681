package license

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// News is a change of a purchase or a license that its owner may be notified of. Its owner is not
// erased.
type News struct {
	What     Happening
	At       time.Time
	OwnerID  int64
	License  License // its current state; for Sold: the first of Sale.Licenses
	PlanName string  // of the current plan; "": it has no name, or is no longer sold

	Sale     Sale    // for Sold, with its licenses, and for PlanChanged
	Before   int     // for PlanChanged: the previous tier
	RefundID int64   // for Refunded and RefundReversed
	Closed   []int64 // for Refunded: the purchases
	Whole    bool    // for Refunded: the license has ended

	chain []int64 // the purchases of the license
}

// Happening is the kind of the change.
type Happening int

// Kinds of changes. Given is a license that its owner got by a transfer.
const (
	Sold Happening = iota + 1
	PlanChanged
	Refunded
	RefundReversed
	OnHold
	Reinstated
	Given
)

// addNews adds the news of a change for the owner of the license. Erased owners get none, and an
// unchanged license makes none.
func (t *partnerTx) addNews(s *state, reason event.Reason) {
	if t.tellOwner == nil || s.OwnerID == 0 || s.Erased || t.quiet {
		return
	}
	n := News{At: t.now, OwnerID: s.OwnerID, License: s.License, PlanName: t.plans[s.Tier]}
	for i, k := range s.chain {
		n.chain = append(n.chain, k.purchaseID)
		switch {
		case i >= len(s.seen):
		case s.seen[i].refundID == 0 && k.refundID != 0:
			n.Closed = append(n.Closed, k.purchaseID)
			n.RefundID = k.refundID
		case s.seen[i].refundID != 0 && k.refundID == 0:
			n.RefundID = s.seen[i].refundID
		}
	}
	n.Whole = ended(s.chain)
	if n.What = s.happened(reason, n.RefundID != 0); n.What != 0 {
		t.news = append(t.news, n)
	}
}

// happened returns the kind of news for a change with a reason; 0: none.
func (s *state) happened(reason event.Reason, refund bool) Happening {
	works := s.Held == 0 && !ended(s.chain)
	switch {
	case reason == event.Refunded && refund:
		return Refunded
	case reason == event.RefundReversed && refund && works:
		return RefundReversed
	case s.was.Held == 0 && s.Held != 0 && !ended(s.chain):
		return OnHold
	case s.was.Held != 0 && works:
		return Reinstated
	case reason == event.Transferred && s.was.OwnerID != s.OwnerID && works:
		return Given
	}
	return 0
}

// addPlanNews notes that the plan of a license was changed.
func (t *partnerTx) addPlanNews(s *state, sale Sale) {
	if t.tellOwner != nil && s.OwnerID != 0 && !s.Erased {
		t.news = append(t.news, News{
			What: PlanChanged, At: t.now, OwnerID: s.OwnerID, License: s.License, PlanName: t.plans[s.Tier],
			Sale: sale, Before: s.was.Tier,
		})
	}
}

// saleNews adds the news of sales with a buyer.
func (s *saleSet) saleNews() {
	if s.tellOwner == nil {
		return
	}
	for _, sale := range s.made {
		if sale.UserID != 0 {
			s.news = append(s.news, News{
				What: Sold, At: s.now, OwnerID: sale.UserID, License: sale.Licenses[0],
				PlanName: s.plans[sale.Tier], Sale: sale,
			})
		}
	}
}

// tell reports the results of a command: purchases that no longer stand, and the news for owners.
// It runs last, after all rows of the command are queued.
func (t *partnerTx) tell(ctx context.Context) error {
	if t.onUncovered != nil && len(t.lost)+len(t.settled) > 0 {
		if err := t.onUncovered(ctx, t.tx, t.now, t.lost, t.settled); err != nil {
			return fmt.Errorf("report what payments buy: %w", err)
		}
		t.lost = nil
		t.settled = nil
	}
	if len(t.news) == 0 {
		return nil
	}
	if err := t.tellOwner(ctx, t.tx, t.news); err != nil {
		return fmt.Errorf("tell the owners of licenses: %w", err)
	}
	t.news = nil
	return nil
}

// SalesOf returns the purchases and plan changes that news are about, without their licenses, by
// id. For Sold and PlanChanged that is the sale, for all others each purchase of the license.
func SalesOf(ctx context.Context, tx *sqldb.Tx, news []News) (map[int64]Sale, error) {
	found := map[int64]Sale{}
	var ids []int64
	for _, n := range news {
		if n.Sale.ID != 0 {
			found[n.Sale.ID] = n.Sale
		}
		ids = append(ids, n.chain...)
	}
	if len(ids) == 0 {
		return found, nil
	}
	list, err := sqldb.All(ctx, tx, scanSale, `SELECT `+saleColumns+` FROM purchases WHERE id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the purchases of licenses: %w", err)
	}
	for _, sale := range list {
		found[sale.ID] = sale
	}
	return found, nil
}

// ByShop reports whether the shop made the sale of the news, or an earlier one of the license.
func (n News) ByShop(sales map[int64]Sale) bool {
	for _, id := range n.chain {
		if sales[id].Shop {
			return true
		}
	}
	return n.Sale.Shop
}
