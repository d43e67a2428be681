package license

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Standing adds to a license's own fields whether and since when it is blocked.
type Standing struct {
	EndedAt time.Time // time of the last refund; zero: it has not ended
	HeldAt  time.Time // zero: it is not held
	Given   bool      // its owner got it by a transfer and has not used it yet
}

// Standing reads the standing of a license.
func (r *Store) Standing(ctx context.Context, l License) (Standing, error) {
	all, err := r.Standings(ctx, []License{l})
	return all[l.ID], err
}

// Standings reads the standings of licenses, by license id.
func (r *Store) Standings(ctx context.Context, list []License) (map[int64]Standing, error) {
	all := make(map[int64]Standing, len(list))
	ids := make([]int64, len(list))
	var gone []int64
	for i, l := range list {
		ids[i] = l.ID
		if l.Ended {
			gone = append(gone, l.ID)
		}
	}
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		refunds := sqldb.QueueQuery(tx, scanStanding, `SELECT k.license_id, max(f.created_at)
			FROM purchase_links AS k JOIN refunds AS f ON f.id = k.refund_id WHERE k.license_id = ANY($1)
			GROUP BY k.license_id`, gone)
		holds := sqldb.QueueQuery(
			tx,
			scanStanding,
			`SELECT license_id, min(created_at) FROM license_holds WHERE license_id = ANY($1) GROUP BY license_id`,
			ids,
		)
		reasons, err := event.LatestReasons(ctx, tx, ids)
		if err != nil {
			return err
		}
		for id, reason := range reasons {
			all[id] = Standing{Given: reason == event.Transferred}
		}
		closed, err := refunds.All(ctx)
		if err != nil {
			return err
		}
		for _, f := range closed {
			s := all[f.licenseID]
			s.EndedAt = f.at
			all[f.licenseID] = s
		}
		held, err := holds.All(ctx)
		for _, h := range held {
			s := all[h.licenseID]
			s.HeldAt = h.at
			all[h.licenseID] = s
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read how licenses stand: %w", err)
	}
	return all, nil
}

// standingRow is one reason why a license does not work.
type standingRow struct {
	licenseID int64
	at        time.Time
}

func scanStanding(r *sqldb.Row, s *standingRow) error { return r.Scan(&s.licenseID, &s.at) }

// mostOwned limits how many licenses of one person are read.
const mostOwned = 1000

// Owned returns the licenses of a user, of every partner, newest first.
func (r *Store) Owned(ctx context.Context, userID int64) ([]License, error) {
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
func (r *Store) Redeemable(ctx context.Context, userID, partnerID int64) ([]License, error) {
	owned, err := r.Owned(ctx, userID)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(owned, func(l License) bool {
		return l.PartnerID != partnerID || l.Erased || l.Ended || l.Held != 0
	}), nil
}

// Receipt is a purchase in the form shown to its buyer.
type Receipt struct {
	ID          int64
	PartnerID   int64
	BuyerID     int64 // 0: the buyer is unknown
	At          time.Time
	Kind        PurchaseKind
	Tier        int
	AmountCents int64 // of the whole purchase, which may have been of several licenses
	Currency    string
	Hundredths  bool // AmountCents counts hundredths in every currency: it is an old sale
	Quantity    int
	ExternalID  string
	Shop        bool // sold by the pages of this service
	Refunded    bool // of a license: this license's part of it; of a purchase: all of it
	Partly      bool // of a purchase: some of its licenses were refunded

	Part Part // of a license: its part of the amount
}

// Part is a license's part of the price of a purchase, in the smallest unit of the currency.
type Part struct {
	Units    int64
	Currency string
}

func (c *Receipt) dest() []any {
	return []any{
		&c.ID,
		&c.PartnerID,
		&c.BuyerID,
		&c.At,
		(*int)(&c.Kind),
		&c.Tier,
		&c.AmountCents,
		&c.Currency,
		&c.Hundredths,
		&c.Quantity,
		&c.ExternalID,
		&c.Shop,
	}
}

// scanPart reads the receipt of a license's part of a purchase.
func scanPart(r *sqldb.Row, c *Receipt) error {
	var credit int64
	return r.Scan(append(c.dest(), &c.Refunded, &c.Part.Units, &credit, &c.Part.Currency)...)
}

const receiptColumns = `p.id, p.partner_id, p.user_id, p.created_at, p.kind, p.tier, p.amount_cents, p.currency,
	p.id <= ` + lastOldAmount + `, p.quantity, p.external_id, p.shop`

// Payments returns all purchases of a license by any buyer, oldest first. The price of another plan
// depends on them. They are not for display.
func (r *Store) Payments(ctx context.Context, licenseID int64) ([]Receipt, error) {
	list, err := sqldb.All(ctx, r.reader(), scanPart, `SELECT `+receiptColumns+`, k.refund_id <> 0, `+linkMoney+`
		FROM purchase_links k JOIN purchases p ON p.id = k.purchase_id WHERE k.license_id = $1
		ORDER BY k.seq`, licenseID)
	if err != nil {
		return nil, fmt.Errorf("read what was paid for a license: %w", err)
	}
	return list, nil
}

// Receipts returns the purchases of a license that its owner may see, oldest first. Purchases by
// other buyers, from before a transfer, are left out.
func (r *Store) Receipts(ctx context.Context, licenseID, ownerID int64) ([]Receipt, error) {
	list, err := sqldb.All(ctx, r.DB, scanPart, `SELECT `+receiptColumns+`, k.refund_id <> 0, `+linkMoney+`
		FROM purchase_links k JOIN purchases p ON p.id = k.purchase_id
		WHERE k.license_id = $1 AND (p.user_id = 0 OR p.user_id = $2) ORDER BY k.seq`, licenseID, ownerID)
	if err != nil {
		return nil, fmt.Errorf("list the receipts of a license: %w", err)
	}
	return list, nil
}

// ReceiptOf returns the receipt of a purchase for its buyer. Another buyer's purchase is reported
// as unknown.
func (r *Store) ReceiptOf(ctx context.Context, saleID, buyerID int64) (Receipt, error) {
	var open, closed int64
	c, err := sqldb.One(
		ctx,
		r.DB,
		func(r *sqldb.Row, c *Receipt) error { return r.Scan(append(c.dest(), &open, &closed)...) },
		`SELECT `+receiptColumns+`,
			(SELECT count(*) FROM purchase_links k WHERE k.purchase_id = p.id AND k.refund_id = 0),
			(SELECT count(*) FROM purchase_links k WHERE k.purchase_id = p.id AND k.refund_id <> 0)
		FROM purchases p WHERE p.id = $1 AND p.user_id = $2 AND p.user_id <> 0`,
		saleID,
		buyerID,
	)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Receipt{}, fault.New(fault.Missing, CodeUnknownPurchase, "There is no such purchase.")
	case err != nil:
		return Receipt{}, fmt.Errorf("read a receipt: %w", err)
	}
	c.Refunded = open == 0
	c.Partly = open > 0 && closed > 0
	return c, nil
}

// Payer returns the buyer of a purchase, 0 if the purchase or its buyer is unknown.
func (r *Store) Payer(ctx context.Context, saleID int64) (int64, error) {
	id, err := sqldb.One(ctx, r.DB, sqldb.Value[int64], `SELECT user_id FROM purchases WHERE id = $1`, saleID)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return 0, fmt.Errorf("find the buyer of a purchase: %w", err)
	}
	return id, nil
}
