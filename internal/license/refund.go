package license

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
)

// RefundOrder selects the refunded purchases: all of a license (LicenseKey), or one purchase on all
// its licenses (PurchaseID, or PartnerID and PurchaseExternalID), narrowed to one license by adding
// LicenseKey.
type RefundOrder struct {
	LicenseKey         string
	PartnerID          int64
	PurchaseID         int64
	PurchaseExternalID string
	ExternalID         string
	Reason             string // the operator's note; partners never see it
	Idempotency        idempotency.Request

	// Reported means that the money has already been returned. An older purchase is refunded even
	// if a newer one stands, and already refunded ones are left out. A refund of nothing has no id.
	Reported bool

	// Quiet means that the caller tells the owner about the refund.
	Quiet bool

	// FreeOnly refunds only the open links of the license that cost nothing.
	FreeOnly bool
}

// Refund is a refund with the licenses it concerns.
type Refund struct {
	ID         int64
	PartnerID  int64
	ExternalID string
	Reason     string
	CreatedAt  time.Time
	ReversedAt time.Time // zero unless it was reversed
	Licenses   []License
}

const refundColumns = `id, partner_id, external_id, reason, created_at, reversed_at`

func scanRefund(r *sqldb.Row, f *Refund) error {
	return r.Scan(&f.ID, &f.PartnerID, &f.ExternalID, &f.Reason, &f.CreatedAt, &f.ReversedAt)
}

// Refund refunds all purchases that the order names, or none. Each license whose status or tier
// changes gets one event. A repeat returns the first refund, with its licenses in their state after
// it. The functions in then run in the same transaction.
func (r *Store) Refund(
	ctx context.Context,
	by audit.Actor,
	o RefundOrder,
	then ...func(*sqldb.Tx, Refund) error,
) (Refund, error) {
	o, err := r.resolved(ctx, o)
	if err != nil {
		return Refund{}, err
	}
	var f Refund
	err = r.write(ctx, func(tx *sqldb.Tx) error {
		var earlier outcome
		found, err := idempotency.Lookup(ctx, tx, o.Idempotency, &earlier)
		if err != nil {
			return err
		}
		if found {
			f, err = earlier.readRefund(ctx, tx)
			return err
		}
		if f, err = r.refund(ctx, tx, by, o); err != nil {
			return err
		}
		for _, do := range then {
			if err := do(tx, f); err != nil {
				return err
			}
		}
		return idempotency.Store(tx, o.Idempotency, outcome{RefundID: f.ID, Licenses: left(f.Licenses...)}, r.Now())
	})
	if err != nil {
		return Refund{}, err
	}
	return f, nil
}

func (r *Store) refund(ctx context.Context, tx *sqldb.Tx, by audit.Actor, o RefundOrder) (Refund, error) {
	external := externalRequest("refund", o.PartnerID, o.ExternalID, o.content())
	pending := queueTx(tx, o.PartnerID, 0)
	lookup := idempotency.QueueLookup(tx, external)
	t, err := r.partnerTx(ctx, tx, by, pending)
	if err != nil {
		return Refund{}, err
	}
	var earlier outcome
	switch found, err := lookup.Read(ctx, &earlier); {
	case err != nil:
		return Refund{}, err
	case found:
		return earlier.readRefund(ctx, tx)
	}
	t.quiet = o.Quiet
	targets, purchaseID, err := t.refundTargets(ctx, o)
	if o.Reported {
		targets = slices.DeleteFunc(targets, func(s *state) bool { return !s.open(purchaseID) })
	}
	if err == nil {
		err = t.nextEventIDs(ctx, len(targets))
	}
	if err != nil || o.Reported && len(targets) == 0 {
		return Refund{}, err
	}
	f := Refund{PartnerID: o.PartnerID, ExternalID: o.ExternalID, Reason: o.Reason, CreatedAt: t.now}
	f.ID, err = sqldb.One(
		ctx,
		tx,
		sqldb.Value[int64],
		`INSERT INTO refunds (partner_id, external_id, reason, created_at, reversed_at, posted_at)
		VALUES ($1, $2, $3, $4, 0, $4) RETURNING id`,
		f.PartnerID,
		f.ExternalID,
		f.Reason,
		f.CreatedAt,
	)
	if err != nil {
		return Refund{}, fmt.Errorf("write the refund: %w", err)
	}
	for _, s := range targets {
		if err := t.close(s, f.ID, purchaseID, o); err != nil {
			return Refund{}, err
		}
		f.Licenses = append(f.Licenses, s.License)
	}
	if err := t.postReturned(ctx, f.ID, t.now); err != nil {
		return Refund{}, err
	}
	t.counters.Save(tx)
	t.recordRefund(f)
	if err := t.tell(ctx); err != nil {
		return Refund{}, err
	}
	return f, idempotency.Store(tx, external, outcome{RefundID: f.ID, Licenses: left(f.Licenses...)}, t.now)
}

func refundSubject(id int64) string { return "refund:" + strconv.FormatInt(id, 10) }

// recordRefund writes the audit entry of the refund itself; each license has its own. The entry has
// no reason: entries are never deleted, and a reason may be about a person.
func (t *partnerTx) recordRefund(f Refund) {
	keys := make([]string, len(f.Licenses))
	for i, l := range f.Licenses {
		keys[i] = l.Key
	}
	audit.Record(t.tx, t.now, t.by, "refund.create", refundSubject(f.ID), nil, audit.Facts{
		"partner_id": f.PartnerID, "external_id": f.ExternalID, "license_keys": keys,
	})
}

// refundTargets returns the licenses of an order, read under the partner's lock, and the purchase
// to close links of; 0 means all open links.
func (t *partnerTx) refundTargets(ctx context.Context, o RefundOrder) ([]*state, int64, error) {
	if o.PurchaseExternalID == "" && o.PurchaseID == 0 {
		l, err := sqldb.One(ctx, t.tx, scan, `SELECT `+columns+` FROM licenses WHERE license_key = $1`, o.LicenseKey)
		if err != nil {
			return nil, 0, fmt.Errorf("read the license to refund: %w", err)
		}
		states, err := t.readStates(ctx, []License{l})
		return states, 0, err
	}
	saleID, err := t.refundSale(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	list, err := sqldb.All(ctx, t.tx, scan, `SELECT `+columns+` FROM licenses
		WHERE id IN (SELECT license_id FROM purchase_links WHERE purchase_id = $1) AND ($2 = '' OR license_key = $2)
		ORDER BY ord`, saleID, o.LicenseKey)
	if err != nil {
		return nil, 0, fmt.Errorf("find the licenses to refund: %w", err)
	}
	states, err := t.readStates(ctx, list)
	return states, saleID, err
}

// refundSale returns the purchase that an order names by its id or its external id. A purchase and
// a plan change may have the same external id.
func (t *partnerTx) refundSale(ctx context.Context, o RefundOrder) (int64, error) {
	named := `partner_id = $1 AND external_id = $2 AND external_id <> ''`
	field := "purchase_external_id"
	args := []any{o.PartnerID, o.PurchaseExternalID, o.LicenseKey}
	if o.PurchaseID != 0 {
		named = `partner_id = $1 AND id = $2`
		field = "purchase_id"
		args[1] = o.PurchaseID
	}
	ids, err := sqldb.All(
		ctx,
		t.tx,
		sqldb.Value[int64],
		`SELECT id FROM purchases AS p WHERE `+named+` AND ($3 = '' OR EXISTS (
			SELECT 1 FROM purchase_links AS k JOIN licenses AS l ON l.id = k.license_id
			WHERE k.purchase_id = p.id AND l.license_key = $3))`,
		args...)
	if err != nil {
		return 0, fmt.Errorf("find the purchase to refund: %w", err)
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return 0, fault.New(fault.Missing, CodeUnknownPurchase,
			"This partner has no such purchase. Check %s, and license_key if there is one.", field).On(field)
	default:
		return 0, fault.New(
			fault.Conflict,
			codeAmbiguousPurchase,
			"A purchase and a plan change both have this external_id. Add license_key to say which license is "+
				"meant, or refund by license_key alone.",
		).On(field)
	}
}

// open reports whether the license has an open link of a purchase; 0 means any.
func (s *state) open(purchaseID int64) bool {
	return slices.ContainsFunc(s.chain, func(k link) bool {
		return k.refundID == 0 && (purchaseID == 0 || k.purchaseID == purchaseID)
	})
}

// close refunds a license's link of one purchase, or all its open links if purchaseID is 0. A newer
// link does not block a reported refund.
func (t *partnerTx) close(s *state, refundID, purchaseID int64, o RefundOrder) error {
	closed := false
	for i := range s.chain {
		k := &s.chain[i]
		if k.refundID != 0 || purchaseID != 0 && k.purchaseID != purchaseID || o.FreeOnly && k.amount != 0 {
			continue
		}
		if purchaseID != 0 && !o.Reported && laterOpen(s.chain, i) {
			return fault.New(
				fault.Conflict,
				codeLaterPurchaseExists,
				"A later plan change of license %s is not refunded. Refund that first, or the whole license by "+
					"license_key.",
				s.Key,
			)
		}
		k.refundID = refundID
		closed = true
		t.tx.Queue(
			`INSERT INTO refund_items (refund_id, license_id, seq, owner_id) VALUES ($1, $2, $3, $4)`,
			refundID,
			s.ID,
			k.seq,
			s.OwnerID,
		)
	}
	if !closed {
		return fault.New(
			fault.Conflict,
			codeAlreadyRefunded,
			"This purchase of license %s was refunded before. To refund other licenses of the purchase, name each "+
				"by license_key.",
			s.Key,
		)
	}
	if o.FreeOnly {
		dealtWith(t.tx, s.ID)
	}
	t.writeChange(s, "license.refund", event.Refunded)
	return nil
}

// ReverseRefund reopens the links that a refund closed. Held and released stay unchanged. Reversing
// again changes nothing.
func (r *Store) ReverseRefund(ctx context.Context, by audit.Actor, id int64) (Refund, error) {
	return r.reverse(ctx, by, id, nil)
}

// ReverseNew does the same as ReverseRefund, but refuses a refund that was already reversed. then
// runs in the same transaction, with the refund.
func (r *Store) ReverseNew(
	ctx context.Context,
	by audit.Actor,
	id int64,
	then func(*sqldb.Tx, Refund) error,
) (Refund, error) {
	return r.reverse(ctx, by, id, then)
}

// reverse implements both: without then, an already reversed refund stays unchanged.
func (r *Store) reverse(
	ctx context.Context,
	by audit.Actor,
	id int64,
	then func(*sqldb.Tx, Refund) error,
) (Refund, error) {
	f, err := sqldb.One(ctx, r.reader(), scanRefund, `SELECT `+refundColumns+` FROM refunds WHERE id = $1`, id)
	if errors.Is(err, sqldb.ErrNone) {
		return Refund{}, errUnknownRefund(id)
	}
	if err != nil {
		return Refund{}, fmt.Errorf("find refund %d: %w", id, err)
	}
	partnerID := f.PartnerID
	err = r.write(ctx, func(tx *sqldb.Tx) error {
		t, err := r.partnerTx(ctx, tx, by, queueTx(tx, partnerID, 0))
		if err != nil {
			return err
		}
		now := sqldb.QueueQuery(tx, scanRefund, `SELECT `+refundColumns+` FROM refunds WHERE id = $1`, id)
		list, err := refundedLicenses(ctx, tx, id)
		if err != nil {
			return err
		}
		if f, err = now.One(ctx); err != nil {
			return fmt.Errorf("read refund %d: %w", id, err)
		}
		switch {
		case f.ReversedAt.IsZero():
			if err := t.reopen(ctx, &f, list); err != nil || then == nil {
				return err
			}
			return then(tx, f)
		case then != nil:
			return fault.New(fault.Conflict, codeRefundReversed, "The refund was reversed before.")
		}
		f.Licenses = list
		return nil
	})
	return f, err
}

func (t *partnerTx) reopen(ctx context.Context, f *Refund, list []License) error {
	states, err := t.readStates(ctx, list)
	if err == nil {
		err = t.nextEventIDs(ctx, len(states))
	}
	if err != nil {
		return err
	}
	for _, s := range states {
		for i := range s.chain {
			if s.chain[i].refundID == f.ID {
				s.chain[i].refundID = 0
			}
		}
		t.writeChange(s, "license.refund_reversed", event.RefundReversed)
		f.Licenses = append(f.Licenses, s.License)
	}
	f.ReversedAt = t.now
	t.tx.Queue(`UPDATE refunds SET reversed_at = $2, posted_at = $2 WHERE id = $1`, f.ID, t.now)
	if err := t.postReturned(ctx, f.ID, t.now); err != nil {
		return err
	}
	t.counters.Save(t.tx)
	return t.tell(ctx)
}
