package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/event"
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

// Receipt is one purchase in a license's chain, as its buyer sees it.
type Receipt struct {
	At          time.Time
	Kind        PurchaseKind
	Tier        int
	AmountCents int64 // of the whole purchase, which may have been of several licenses
	Currency    string
	Quantity    int
	ExternalID  string
	Refunded    bool
}

func scanReceipt(r *sqldb.Row, c *Receipt) error {
	return r.Scan(&c.At, (*int)(&c.Kind), &c.Tier, &c.AmountCents, &c.Currency, &c.Quantity, &c.ExternalID, &c.Refunded)
}

// Receipts returns the purchases of a license, oldest first.
func (r *Registry) Receipts(ctx context.Context, licenseID int64) ([]Receipt, error) {
	list, err := sqldb.All(ctx, r.DB, scanReceipt, `SELECT p.created_at, p.kind, k.tier, p.amount_cents, p.currency, p.quantity,
			p.external_id, k.refund_id <> 0
		FROM purchase_links k JOIN purchases p ON p.id = k.purchase_id WHERE k.license_id = $1 ORDER BY k.seq`, licenseID)
	if err != nil {
		return nil, fmt.Errorf("list the receipts of a license: %w", err)
	}
	return list, nil
}
