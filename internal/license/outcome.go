package license

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/event"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
)

// outcome is the result of an order, stored for its repeats. The names of the members are in the
// database: they never change.
type outcome struct {
	PurchaseID int64         `json:"purchase,omitempty"` // of new licenses, which follow from it
	RefundID   int64         `json:"refund,omitempty"`
	Licenses   []leftLicense `json:"licenses,omitempty"` // of a plan change or a refund
}

// leftLicense is the state of a license after an order: the fields that may change later.
type leftLicense struct {
	Key       string    `json:"license_key"`
	Status    string    `json:"status"`
	Tier      int       `json:"tier"`
	OwnerID   int64     `json:"owner_id"`
	Redeemed  bool      `json:"redeemed"`
	Released  bool      `json:"released"`
	Held      string    `json:"held"`
	UpdatedAt time.Time `json:"updated_at"`
}

func left(list ...License) []leftLicense {
	out := make([]leftLicense, len(list))
	for i, l := range list {
		out[i] = leftLicense{
			Key: l.Key, Status: l.Status.String(), Tier: l.Tier, OwnerID: l.OwnerID,
			Redeemed: l.Redeemed, Released: l.Released, Held: l.Held.String(), UpdatedAt: l.UpdatedAt,
		}
	}
	return out
}

// on returns the license l, read now, in the state after the order.
func (f leftLicense) on(l License) (License, error) {
	var err error
	if l.Status, err = event.ParseStatus(f.Status); err != nil {
		return License{}, fmt.Errorf("read a stored status: %w", err)
	}
	l.Held = 0
	if f.Held != "" {
		if l.Held, err = ParseHold(f.Held); err != nil {
			return License{}, fmt.Errorf("read a stored hold: %w", err)
		}
	}
	l.Tier = f.Tier
	l.OwnerID = f.OwnerID
	l.Redeemed = f.Redeemed
	l.Released = f.Released
	l.UpdatedAt = f.UpdatedAt
	return l, nil
}

// readLicenses returns the licenses of a plan change or a refund in their state after it.
func (o outcome) readLicenses(ctx context.Context, tx *sqldb.Tx) ([]License, error) {
	queued := make([]*sqldb.Result[License], len(o.Licenses))
	for i, f := range o.Licenses {
		queued[i] = sqldb.QueueQuery(tx, scan, `SELECT `+columns+` FROM licenses WHERE license_key = $1`, f.Key)
	}
	list := make([]License, len(queued))
	for i, q := range queued {
		l, err := q.One(ctx)
		if err != nil {
			return nil, fmt.Errorf("read a license of a repeated order: %w", err)
		}
		if list[i], err = o.Licenses[i].on(l); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readRefund returns the original refund, but without a reason that was erased since.
func (o outcome) readRefund(ctx context.Context, tx *sqldb.Tx) (Refund, error) {
	f, err := sqldb.One(ctx, tx, scanRefund, `SELECT `+refundColumns+` FROM refunds WHERE id = $1`, o.RefundID)
	if err != nil {
		return Refund{}, fmt.Errorf("read refund %d: %w", o.RefundID, err)
	}
	f.ReversedAt = time.Time{}
	if len(o.Licenses) == 0 { // stored before outcomes had them
		f.Licenses, err = refundedLicenses(ctx, tx, f.ID)
	} else {
		f.Licenses, err = o.readLicenses(ctx, tx)
	}
	return f, err
}

// readPlanChange returns the license l, read now, in its state after a plan change.
func (o outcome) readPlanChange(ctx context.Context, tx *sqldb.Tx, l License) (License, error) {
	if len(o.Licenses) == 0 { // stored before outcomes had them
		now, err := Get(ctx, tx, l.ID)
		return now, err
	}
	list, err := o.readLicenses(ctx, tx)
	if err != nil {
		return License{}, err
	}
	if len(list) != 1 {
		return License{}, errors.New("a plan change has the outcome of another order")
	}
	return list[0], nil
}

// externalRequest identifies an order by its external id.
func externalRequest(kind string, partnerID int64, externalID, content string) idempotency.Request {
	return idempotency.External(kind+":"+strconv.FormatInt(partnerID, 10), externalID, content)
}
