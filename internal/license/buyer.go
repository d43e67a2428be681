package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Get returns the license with this id. Ids are internal: no API shows them.
func Get(ctx context.Context, r sqldb.Reader, id int64) (License, error) {
	l, err := sqldb.One(ctx, r, scan, `SELECT `+columns+` FROM licenses WHERE id = $1`, id)
	if errors.Is(err, sqldb.ErrNone) {
		return License{}, errUnknown()
	}
	if err != nil {
		return License{}, fmt.Errorf("get a license: %w", err)
	}
	return l, nil
}

// Standing is what follows from a license's chain of purchases.
type Standing struct {
	Refunded bool // all of its purchases are
}

// Standing reads the chain of a license.
func (r *Registry) Standing(ctx context.Context, l License) (Standing, error) {
	chain, err := sqldb.All(ctx, r.DB, scanLink, chainOf, l.ID)
	if err != nil {
		return Standing{}, fmt.Errorf("read the purchases of a license: %w", err)
	}
	return Standing{Refunded: refunded(chain)}, nil
}

// Refunded returns the ids of a user's licenses whose purchases are all refunded.
func (r *Registry) Refunded(ctx context.Context, userID int64) (map[int64]bool, error) {
	ids, err := sqldb.All(ctx, r.DB, sqldb.Value[int64], `SELECT k.license_id FROM purchase_links k JOIN licenses l ON l.id = k.license_id
		WHERE l.owner_id = $1 AND l.owner_id <> 0 AND l.status = $2 GROUP BY k.license_id HAVING min(k.refund_id) <> 0`,
		userID, int(event.Deactivated))
	if err != nil {
		return nil, fmt.Errorf("list the refunded licenses of a user: %w", err)
	}
	refunded := make(map[int64]bool, len(ids))
	for _, id := range ids {
		refunded[id] = true
	}
	return refunded, nil
}

// mostOwned bounds what is read of one person's licenses at once.
const mostOwned = 1000

// Owned returns the licenses of a user, of every partner, newest first.
func (r *Registry) Owned(ctx context.Context, userID int64) ([]License, error) {
	if userID == 0 {
		return nil, nil
	}
	list, err := sqldb.All(ctx, r.DB, scan, `SELECT `+columns+` FROM licenses WHERE owner_id = $1 AND owner_id <> 0
		ORDER BY id DESC LIMIT $2`, userID, mostOwned)
	if err != nil {
		return nil, fmt.Errorf("list the licenses of a user: %w", err)
	}
	return list, nil
}

// Redeemable returns the licenses of a user for one partner that Redeem would
// accept, newest first.
func (r *Registry) Redeemable(ctx context.Context, userID, partnerID int64) ([]License, error) {
	owned, err := r.Owned(ctx, userID)
	if err != nil {
		return nil, err
	}
	var list []License
	for _, l := range owned {
		if l.PartnerID != partnerID || l.Erased || l.Held != 0 {
			continue
		}
		standing, err := r.Standing(ctx, l)
		if err != nil {
			return nil, err
		}
		if !standing.Refunded {
			list = append(list, l)
		}
	}
	return list, nil
}

// Receipt is a purchase as its buyer sees it.
type Receipt struct {
	ID          int64
	PartnerID   int64
	BuyerID     int64 // 0: nobody is known to have paid
	At          time.Time
	Kind        PurchaseKind
	Tier        int
	AmountCents int64 // of the whole purchase, which may have been of several licenses
	Currency    string
	Quantity    int
	ExternalID  string
	Refunded    bool // of a license's: this license's part of it; of a purchase's: all of it
	Partly      bool // of a purchase's: some of its licenses were refunded
}

func (c *Receipt) dest() []any {
	return []any{&c.ID, &c.PartnerID, &c.BuyerID, &c.At, (*int)(&c.Kind), &c.Tier, &c.AmountCents, &c.Currency, &c.Quantity, &c.ExternalID}
}

const receiptColumns = `p.id, p.partner_id, p.user_id, p.created_at, p.kind, p.tier, p.amount_cents, p.currency, p.quantity, p.external_id`

// Receipts returns the purchases of a license that its owner may see, oldest first: what
// somebody else paid before the license was transferred is none of theirs.
func (r *Registry) Receipts(ctx context.Context, licenseID, ownerID int64) ([]Receipt, error) {
	list, err := sqldb.All(ctx, r.DB, func(r *sqldb.Row, c *Receipt) error { return r.Scan(append(c.dest(), &c.Refunded)...) },
		`SELECT `+receiptColumns+`, k.refund_id <> 0
		FROM purchase_links k JOIN purchases p ON p.id = k.purchase_id
		WHERE k.license_id = $1 AND (p.user_id = 0 OR p.user_id = $2) ORDER BY k.seq`, licenseID, ownerID)
	if err != nil {
		return nil, fmt.Errorf("list the receipts of a license: %w", err)
	}
	return list, nil
}

// ReceiptOf returns the receipt of a purchase for its buyer. Somebody else's is as unknown
// as one that does not exist.
func (r *Registry) ReceiptOf(ctx context.Context, saleID, buyerID int64) (Receipt, error) {
	var open, closed int64
	c, err := sqldb.One(ctx, r.DB, func(r *sqldb.Row, c *Receipt) error { return r.Scan(append(c.dest(), &open, &closed)...) },
		`SELECT `+receiptColumns+`,
			(SELECT count(*) FROM purchase_links k WHERE k.purchase_id = p.id AND k.refund_id = 0),
			(SELECT count(*) FROM purchase_links k WHERE k.purchase_id = p.id AND k.refund_id <> 0)
		FROM purchases p WHERE p.id = $1 AND p.user_id = $2 AND p.user_id <> 0`, saleID, buyerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Receipt{}, fault.New(fault.Missing, CodeUnknownPurchase, "There is no such purchase.")
	case err != nil:
		return Receipt{}, fmt.Errorf("read a receipt: %w", err)
	}
	c.Refunded, c.Partly = open == 0, open > 0 && closed > 0
	return c, nil
}
