// Package license owns licenses, the chain of purchases of each, and refunds. It
// stores facts; status and tier are derived from them and written in the same
// transaction. Every command on a license is here, and the rule which of them
// makes an event. It knows no wire format.
package license

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Registry reads and changes licenses.
type Registry struct {
	DB     *sqldb.DB
	Now    func() time.Time
	Events *event.Log   // nil: deliveries wait for a dispatcher of another node
	Gather *Gatherer    // nil: each purchase has a transaction of its own
	Log    *slog.Logger // nil: slog.Default()

	// CountRefund is told, in the transaction, when a license becomes wholly refunded (1) or
	// stops being so (-1): stats.CountRefund. Nil: nobody counts.
	CountRefund func(tx *sqldb.Tx, partnerID int64, soldAt time.Time, change int64)

	// Record queues, in the transaction of their sales, that payments were made:
	// payment.Book.Record. It may be called again, since the transaction may; then only the
	// last call counts. Nil: no order has a payment.
	Record func(tx *sqldb.Tx, list []*Payment)

	// EraseAddress removes what other packages have under the email address of a
	// user who is erased, as they were before: profile.EraseContacts. Nil: nobody has
	// anything.
	EraseAddress func(ctx context.Context, tx *sqldb.Tx, by audit.Actor, was account.User, at time.Time) error

	// Tell is told, in the transaction, of what owners of licenses may be told of:
	// notice.Desk.Tell. Nil: nobody is.
	Tell func(ctx context.Context, tx *sqldb.Tx, news []News) error

	effects *[]Effect         // of a preview; nil: acts are carried out
	tx      *sqldb.Tx         // that acts are part of; nil: each has one of its own; see Within
	seen    map[string]string // versions by license key that acts require; see IfUnchanged
}

// License is one license. Status and Tier follow from the other facts and the
// chain of purchases; see derive.
type License struct {
	ID           int64
	PartnerID    int64
	Ord          int64 // dense within the partner, in order of creation
	Key          string
	RedemptionID string
	Status       event.Status
	Tier         int
	OwnerID      int64 // 0 until somebody claims it
	Redeemed     bool
	Released     bool
	Held         Hold
	Erased       bool  // its owner was erased: nobody can redeem it
	Epoch        int64 // raised by release, transfer and erase; invalidates codes and tokens
	CreatedAt    time.Time
	UpdatedAt    time.Time // moves with Status and Tier only

	eventAt time.Time // of its latest event
}

// link is one purchase in a license's chain.
type link struct {
	seq        int
	purchaseID int64
	tier       int
	refundID   int64 // 0: not refunded
}

// derive computes the status and tier of a license. It is the only place that does.
func derive(l License, chain []link) (event.Status, int) {
	entitled, tier := false, l.Tier // when all is refunded, the last tier stays
	for _, k := range chain {
		if k.refundID == 0 {
			entitled, tier = true, k.tier
		}
	}
	switch {
	case !entitled, l.Held != 0, l.Released:
		return event.Deactivated, tier
	case l.Redeemed:
		return event.Active, tier
	default:
		return event.Inactive, tier
	}
}

// refunded reports whether every purchase in the chain is.
func refunded(chain []link) bool {
	for _, k := range chain {
		if k.refundID == 0 {
			return false
		}
	}
	return true
}

const columns = `id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed, released, held, erased, epoch,
	event_ms, created_at, updated_at`

func scan(r *sqldb.Row, l *License) error {
	var ms int64
	err := r.Scan(&l.ID, &l.PartnerID, &l.Ord, &l.Key, &l.RedemptionID, (*int)(&l.Status), &l.Tier, &l.OwnerID, &l.Redeemed,
		&l.Released, (*int)(&l.Held), &l.Erased, &l.Epoch, &ms, &l.CreatedAt, &l.UpdatedAt)
	l.eventAt = time.UnixMilli(ms).UTC()
	return err
}

func scanLink(r *sqldb.Row, k *link) error {
	return r.Scan(&k.seq, &k.purchaseID, &k.tier, &k.refundID)
}

const chainOf = `SELECT seq, purchase_id, tier, refund_id FROM purchase_links WHERE license_id = $1 ORDER BY seq`

// keyForm matches license keys and redemption ids. Anything else is not looked up:
// it may hold bytes that a text column refuses.
var keyForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func errUnknown() error {
	return fault.New(fault.Missing, CodeUnknownLicense,
		"There is no such license. Check the license key; keys are in the list of licenses.")
}

func errUnknownPartner(id int64) error {
	return fault.New(fault.Missing, partner.CodeUnknownPartner, "There is no partner %d.", id).On("partner_id")
}

// ByKey returns the license with this key.
func (r *Registry) ByKey(ctx context.Context, key string) (License, error) {
	return r.find(ctx, `license_key`, key)
}

// ByRedemption returns the license whose redeem page has this id.
func (r *Registry) ByRedemption(ctx context.Context, id string) (License, error) {
	return r.find(ctx, `redemption_id`, id)
}

func (r *Registry) find(ctx context.Context, column, value string) (License, error) {
	if !keyForm.MatchString(value) {
		return License{}, errUnknown()
	}
	l, err := sqldb.One(ctx, r.reader(), scan, `SELECT `+columns+` FROM licenses WHERE `+column+` = $1`, value)
	if errors.Is(err, sqldb.ErrNone) {
		return License{}, errUnknown()
	}
	if err != nil {
		return License{}, fmt.Errorf("find a license: %w", err)
	}
	return l, nil
}

// OfPartner returns the partner's license with this key. Another partner's is
// as unknown as one that does not exist.
func (r *Registry) OfPartner(ctx context.Context, partnerID int64, key string) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err == nil && l.PartnerID != partnerID {
		return License{}, errUnknown()
	}
	return l, err
}

// ledger waits for the lock of the partner's ledger.
func ledger(ctx context.Context, a *sqldb.Result[partner.Ledger], partnerID int64) (partner.Ledger, error) {
	l, err := a.One(ctx)
	if errors.Is(err, sqldb.ErrNone) {
		return l, errUnknownPartner(partnerID)
	}
	if err != nil {
		return l, fmt.Errorf("lock the ledger of partner %d: %w", partnerID, err)
	}
	return l, nil
}
