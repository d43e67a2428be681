package license

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// News is what became of a purchase or of a license, of which its owner may be told. It
// is about one owner, who was not erased.
type News struct {
	What     Happening
	At       time.Time
	OwnerID  int64
	License  License // as it is now; of Sold: the first of Sale.Licenses
	PlanName string  // of the plan that the license has now; "": it has no name, or is no longer sold

	Sale     Sale    // of Sold, with its licenses, and of PlanChanged
	Before   int     // of PlanChanged: the tier that the license had
	RefundID int64   // of Refunded and RefundReversed
	Closed   []int64 // of Refunded: the purchases
	Whole    bool    // of Refunded: nothing of the license is left

	chain []int64 // the purchases of the license
}

// Happening is what became of it.
type Happening int

// What may happen. Given is a license that its owner got from somebody else.
const (
	Sold Happening = iota + 1
	PlanChanged
	Refunded
	RefundReversed
	OnHold
	Reinstated
	Given
)

// addNews notes what a change means to the owner of the license. An erased owner is told
// nothing, and a license that stays as it was is no news.
func (t *partnerTx) addNews(s *state, reason event.Reason) {
	if t.tellOwner == nil || s.OwnerID == 0 || s.Erased {
		return
	}
	n := News{At: t.now, OwnerID: s.OwnerID, License: s.License, PlanName: t.plans[s.Tier]}
	for i, k := range s.chain {
		n.chain = append(n.chain, k.purchaseID)
		switch {
		case i >= len(s.seen):
		case s.seen[i].refundID == 0 && k.refundID != 0:
			n.Closed, n.RefundID = append(n.Closed, k.purchaseID), k.refundID
		case s.seen[i].refundID != 0 && k.refundID == 0:
			n.RefundID = s.seen[i].refundID
		}
	}
	n.Whole = refunded(s.chain)
	if n.What = s.happened(reason, n.RefundID != 0); n.What != 0 {
		t.news = append(t.news, n)
	}
}

// happened is what a change with a reason means; 0: nothing that anybody is told.
func (s *state) happened(reason event.Reason, refund bool) Happening {
	works := s.Held == 0 && !refunded(s.chain)
	switch {
	case reason == event.Refunded && refund:
		return Refunded
	case reason == event.RefundReversed && refund && works:
		return RefundReversed
	case s.was.Held == 0 && s.Held != 0 && !refunded(s.chain):
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
			What: PlanChanged, At: t.now, OwnerID: s.OwnerID, License: s.License, PlanName: t.plans[s.Tier], Sale: sale, Before: s.was.Tier,
		})
	}
}

// saleNews are the sales that were made for somebody.
func (s *saleSet) saleNews() {
	if s.tellOwner == nil {
		return
	}
	for _, sale := range s.made {
		if sale.UserID != 0 {
			s.news = append(s.news, News{
				What: Sold, At: s.now, OwnerID: sale.UserID, License: sale.Licenses[0], PlanName: s.plans[sale.Tier], Sale: sale,
			})
		}
	}
}

// tell has owners told of what was noted. A preview tells nobody.
func (t *partnerTx) tell(ctx context.Context) error {
	if len(t.news) == 0 || t.effects != nil {
		return nil
	}
	if err := t.tellOwner(ctx, t.tx, t.news); err != nil {
		return fmt.Errorf("tell the owners of licenses: %w", err)
	}
	t.news = nil
	return nil
}

// SalesOf returns the purchases and plan changes that news are about, without their
// licenses, by their ids: of Sold and PlanChanged that one, of all others each of the
// license.
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

// ByShop reports whether the shop sold what the news are about, or something of the
// license before.
func (n News) ByShop(sales map[int64]Sale) bool {
	for _, id := range n.chain {
		if sales[id].Shop {
			return true
		}
	}
	return n.Sale.Shop
}
