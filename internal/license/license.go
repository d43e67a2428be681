// Package license owns licenses, the chain of purchases of each, and refunds. It stores facts;
// status and tier are derived from them and written in the same transaction. It contains every
// command on a license, and decides which commands make an event. It knows no wire format.
package license

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Store reads and changes licenses.
type Store struct {
	DB     *sqldb.DB
	Now    func() time.Time
	Events *event.Log   // nil: deliveries wait for a dispatcher of another node
	Gather *Gatherer    // nil: each purchase has its own transaction
	Log    *slog.Logger // nil: slog.Default()

	Defaults ledger.Defaults // terms of partners without their own

	Accounts *account.Store // confirms to people that they deleted their account; nil: does not

	// Record is a hook. Store calls it in the transaction of sales with payments, and again if the
	// transaction is retried; then only the last call counts. payment.Store.Record listens. Nil: no
	// order has a payment.
	Record func(tx *sqldb.Tx, list []*Payment)

	// OnUncovered is a hook. Store calls it in the transaction, with purchases whose open links
	// stopped standing, and with those that stand again or were refunded. payment.Store.Uncovered
	// listens. Nil: nothing is reported.
	OnUncovered func(ctx context.Context, tx *sqldb.Tx, at time.Time, lost, settled []int64) error

	// Tell is a hook. Store calls it in the transaction, with changes that owners may be notified
	// of. notice.Mailer.Tell listens. Nil: no one is notified.
	Tell func(ctx context.Context, tx *sqldb.Tx, news []News) error

	acts way               // of transactions; nil: commits
	seen map[string]string // versions by license key that acts require; see IfUnchanged
}

// License is one license. Status and Tier follow from the other facts and the chain of purchases;
// see derive.
type License struct {
	ID           int64
	PartnerID    int64
	Ord          int64 // dense within the partner, in order of creation
	Key          string
	RedemptionID string
	Status       event.Status
	Tier         int
	OwnerID      int64 // 0 until claimed
	Redeemed     bool
	Released     bool
	Held         Hold
	Erased       bool  // its owner was erased: it cannot be redeemed
	Ended        bool  // no link of its chain stands; see ended
	Epoch        int64 // raised by release, transfer and erase; invalidates codes and tokens
	CreatedAt    time.Time
	UpdatedAt    time.Time // changes only with Status and Tier

	eventAt time.Time // of its latest event
}

// link is one purchase in a license's chain.
type link struct {
	seq        int
	purchaseID int64
	tier       int
	refundID   int64  // 0: not refunded
	amount     int64  // the license's part of the price
	credit     int64  // money of earlier links that reduced its price
	currency   string // of both
}

// derive computes the status and tier of a license. No other function does.
func derive(l License, chain []link) (event.Status, int) {
	tier := l.Tier // stays when no link stands
	for i, k := range chain {
		if stands(chain, i) {
			tier = k.tier
		}
	}
	switch {
	case ended(chain), l.Held != 0, l.Released:
		return event.Deactivated, tier
	case l.Redeemed:
		return event.Active, tier
	default:
		return event.Inactive, tier
	}
}

const columns = `id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed, released, held,
	erased, ended, epoch,
	event_ms, created_at, updated_at`

func scan(r *sqldb.Row, l *License) error {
	var ms int64
	err := r.Scan(
		&l.ID,
		&l.PartnerID,
		&l.Ord,
		&l.Key,
		&l.RedemptionID,
		(*int)(&l.Status),
		&l.Tier,
		&l.OwnerID,
		&l.Redeemed,
		&l.Released,
		(*int)(&l.Held),
		&l.Erased,
		&l.Ended,
		&l.Epoch,
		&ms,
		&l.CreatedAt,
		&l.UpdatedAt,
	)
	l.eventAt = time.UnixMilli(ms).UTC()
	// Nodes of the release before, which run during an upgrade, do not write ended.
	if l.Held == 0 && !l.Released {
		l.Ended = l.Status == event.Deactivated
	}
	return err
}

// keyForm matches license keys and redemption ids. Other texts are not looked up: they may contain
// bytes that a text column refuses.
var keyForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func errUnknown() error {
	return fault.New(fault.Missing, CodeUnknownLicense,
		"There is no such license. Check the license key; keys are in the list of licenses.")
}

func errUnknownPartner(id int64) error {
	return fault.New(fault.Missing, partner.CodeUnknownPartner, "There is no partner %d.", id).On("partner_id")
}

// ByKey returns the license with this key.
func (r *Store) ByKey(ctx context.Context, key string) (License, error) {
	return r.find(ctx, `license_key`, key)
}

// ByRedemption returns the license with this redemption id.
func (r *Store) ByRedemption(ctx context.Context, id string) (License, error) {
	return r.find(ctx, `redemption_id`, id)
}

func (r *Store) find(ctx context.Context, column, value string) (License, error) {
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

// OfPartner returns the partner's license with this key. Another partner's license is reported as
// unknown.
func (r *Store) OfPartner(ctx context.Context, partnerID int64, key string) (License, error) {
	l, err := r.ByKey(ctx, key)
	if err == nil && l.PartnerID != partnerID {
		return License{}, errUnknown()
	}
	return l, err
}

// counters waits for the lock of the partner's counters.
func counters(ctx context.Context, a *sqldb.Result[partner.Counters], partnerID int64) (partner.Counters, error) {
	l, err := a.One(ctx)
	if errors.Is(err, sqldb.ErrNone) {
		return l, errUnknownPartner(partnerID)
	}
	if err != nil {
		return l, fmt.Errorf("lock the counters of partner %d: %w", partnerID, err)
	}
	return l, nil
}
