package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// OpenDispute is an open dispute or inquiry with what was paid for.
type OpenDispute struct {
	Dispute
	PartnerID  int64
	Item       string // as the buyer saw it
	PurchaseID int64  // 0: nothing was sold
	Sending    bool   // evidence is on its way
}

// Sentence describes the state of an open dispute for operators.
func (o *OpenDispute) Sentence(now time.Time) string {
	what := "The buyer's bank waits for your evidence."
	if o.Inquiry() {
		what = "The buyer's bank asks about the payment, which may become a dispute; nothing is on hold."
	}
	switch {
	case o.Submitted():
		return "The evidence was sent, and the bank decides."
	case o.Sending:
		return "The evidence is on its way to Stripe."
	case o.overdue(now):
		return "The deadline has passed without evidence."
	}
	return what
}

// QueueOpenDisputes queues the query for open disputes and inquiries: those without an answer
// first, and the nearest deadline first.
func QueueOpenDisputes(tx *sqldb.Tx, most int) *sqldb.Result[OpenDispute] {
	return sqldb.QueueQuery(
		tx,
		scanOpenDispute,
		`SELECT d.*, c.partner_id, c.item, c.purchase_id, coalesce(e.state, 0)
		FROM (SELECT `+disputeColumns+` FROM payment_disputes WHERE `+isOpen+`) AS d
		JOIN checkouts AS c ON c.id = d.checkout_id LEFT JOIN payment_evidence AS e ON e.dispute_id = d.provider_id
		ORDER BY CASE WHEN `+isUnanswered+` THEN 0 ELSE 1 END, CASE WHEN d.due_by = 0 THEN 1 ELSE 0 END, d.due_by,
			d.provider_id LIMIT $1`,
		most,
	)
}

func scanOpenDispute(r *sqldb.Row, o *OpenDispute) error {
	var state EvidenceState
	err := r.Scan(append(o.into(), &o.PartnerID, &o.Item, &o.PurchaseID, (*int)(&state))...)
	o.Sending = state == EvidenceAsked
	return err
}

// maxDisputes is the maximum length of the list.
const maxDisputes = 500

// OpenDisputes returns the open disputes and inquiries, those without an answer first.
func (b *Store) OpenDisputes(ctx context.Context) (list []OpenDispute, err error) {
	err = b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		list, err = QueueOpenDisputes(tx, maxDisputes).All(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list open disputes: %w", err)
	}
	return list, nil
}

// DisputeDetail is a dispute with its payment and the evidence that an operator saved.
type DisputeDetail struct {
	Dispute
	Checkout Checkout
	Saved    SavedEvidence
}

// Dispute returns a dispute by the provider's id.
func (b *Store) Dispute(ctx context.Context, id string) (DisputeDetail, error) {
	var d DisputeDetail
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		d.Dispute, err = sqldb.One(
			ctx, tx, scanDispute, `SELECT `+disputeColumns+` FROM payment_disputes WHERE provider_id = $1`, id,
		)
		if err != nil {
			return err
		}
		d.Checkout, err = sqldb.One(
			ctx, tx, scanCheckout, `SELECT `+checkoutColumns+` FROM checkouts WHERE id = $1`, d.CheckoutID,
		)
		if err != nil {
			return err
		}
		d.Saved, err = readEvidence(ctx, tx, id)
		return err
	})
	if errors.Is(err, sqldb.ErrNone) {
		return d, fault.New(fault.Missing, codeUnknownDispute, "There is no dispute %s.", id)
	}
	if err != nil {
		return d, fmt.Errorf("read a dispute: %w", err)
	}
	return d, nil
}

// DisputesOf returns the disputes of payments of a user, oldest first, without their checkouts.
func (b *Store) DisputesOf(ctx context.Context, userID int64) ([]DisputeDetail, error) {
	var list []DisputeDetail
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		disputes, err := sqldb.All(ctx, tx, scanDispute, `SELECT `+disputeColumns+` FROM payment_disputes
			WHERE checkout_id IN (SELECT id FROM checkouts WHERE user_id = $1)
			ORDER BY created_at, provider_id`, userID)
		if err != nil {
			return err
		}
		list = make([]DisputeDetail, len(disputes))
		for i, d := range disputes {
			list[i].Dispute = d
			if list[i].Saved, err = readEvidence(ctx, tx, d.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find the disputes of a user: %w", err)
	}
	return list, nil
}

// Closed returns the reason that no evidence can be edited or sent, nil if it can.
func (d *DisputeDetail) Closed(now time.Time) error {
	switch {
	case d.Ended():
		return fault.New(fault.Conflict, codeDisputeEnded,
			"The dispute has ended (%s), so Stripe accepts no more evidence.", d.Status)
	case d.Submitted():
		return fault.New(fault.Conflict, codeEvidenceSubmitted,
			"Stripe already has evidence for this dispute. It is final.")
	case d.overdue(now):
		return fault.New(fault.Conflict, codeEvidenceOverdue,
			"The deadline was %s. Stripe accepts no evidence after it.", moment(d.DueBy))
	}
	return nil
}

// moment formats a time for people whose time zone is unknown.
func moment(t time.Time) string {
	if t.IsZero() {
		return "some time ago"
	}
	return t.UTC().Format("2 January 2006, 15:04 UTC")
}
