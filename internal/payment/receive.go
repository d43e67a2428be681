package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// Receive handles an event of Stripe, given as the body and the signature header. It makes no
// calls: the job retrieves missing objects. If it returns an error that is no fault, a repeat may
// help.
func (b *Store) Receive(ctx context.Context, body []byte, signature string) error {
	if b.Stripe == nil {
		return fault.New(fault.Missing, codeNotPaidHere, "This marketplace takes no payments by Stripe.")
	}
	in, err := b.Stripe.verified(body, signature)
	if bad, ok := errors.AsType[*unreadable](err); ok {
		b.Log.Warn("an event of Stripe cannot be read", "event", bad.event, "err", bad.cause)
		return fault.New(
			fault.Invalid,
			codeEvent,
			"The event has a valid signature and cannot be read: it is not the JSON of an event as Stripe describes "+
				"it.",
		)
	}
	switch {
	case err != nil:
		return err
	case in.live != b.Stripe.live:
		b.Log.Warn(
			"an event of Stripe is of the other mode and was ignored; the key and the webhook secret must both be "+
				"live or both be for tests",
			"event",
			in.id,
			"live",
			in.live,
		)
		return nil
	case in.foreign:
		b.Log.Warn(
			"an event of Stripe is in another version; its object is looked up instead; run claviger stripe setup "+
				"for an endpoint in the right one",
			"event",
			in.id,
			"kind",
			in.kind,
		)
		return b.lookUp(ctx, in.id, in.objectID)
	case in.session != nil:
		return b.receiveSession(ctx, in)
	case in.refund != nil, in.dispute != nil:
		return b.receiveLater(ctx, in)
	}
	return nil // not needed
}

func (b *Store) receiveSession(ctx context.Context, in incoming) error {
	f := *in.session
	c, found, err := b.findRef(ctx, f.ref)
	switch {
	case err != nil:
		return err
	case found:
		_, err = b.applySession(ctx, c, f, in.id)
		return err
	case f.paid && b.ours(f.ref):
		return b.lost(ctx, f)
	}
	return nil // from another shop on the same account
}

// lost records a payment without a checkout: it was made before a restore.
func (b *Store) lost(ctx context.Context, f sessionFact) error {
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		addProblem(tx, Problem{
			Kind: PaidUnknown, ObjectID: f.id, IntentID: f.intent, Amount: f.amount, Currency: f.currency,
			CreatedAt: b.Now(),
		})
		return nil
	})
}

// receiveLater handles events after a payment. Finding their checkout may need a lookup.
func (b *Store) receiveLater(ctx context.Context, in incoming) error {
	intent := ""
	if in.refund != nil {
		intent = in.refund.intent
	} else {
		intent = in.dispute.intent
	}
	c, found, err := b.ofIntent(ctx, intent)
	if err != nil {
		return err
	}
	if !found {
		return b.lookUp(ctx, in.id, in.objectID)
	}
	err = b.change(ctx, c, func(w *work) error {
		noteEvent(w.tx, in.id, w.now)
		if in.refund != nil {
			w.mergeRefund(*in.refund)
			return nil
		}
		// Events of a dispute come in any order. The first is enough to hold the license; after
		// that only the provider's own answer counts.
		if _, known := w.disputeByID(in.dispute.id); !known {
			w.mergeDispute(*in.dispute)
		}
		addLookup(w.tx, in.dispute.id, w.now)
		return nil
	})
	if err == nil && in.dispute != nil {
		b.wake()
	}
	return err
}

func (b *Store) ofIntent(ctx context.Context, intent string) (Checkout, bool, error) {
	return b.find(ctx, `intent_id = $1 AND intent_id <> ''`, intent)
}

// applySession merges the state of a session into its checkout, and sells it if paid. It is the only
// function that sells: the webhook, the return page and the job call it.
func (b *Store) applySession(ctx context.Context, c Checkout, f sessionFact, eventID string) (Checkout, error) {
	if f.paid && c.simple(f) {
		sold, err := b.sell(ctx, c, f)
		if err == nil || fault.Of(err) == nil {
			return sold, err
		}
		// The sale was refused. The slow path below records that for a person.
	}
	err := b.change(ctx, c, func(w *work) error {
		if eventID != "" {
			noteEvent(w.tx, eventID, w.now)
		}
		w.mergeSession(f)
		return nil
	})
	if err != nil {
		return c, err
	}
	return b.ByRef(ctx, c.Ref)
}

// learns reports whether the state of the session is news for an unfinished checkout.
func (c Checkout) learns(f sessionFact) bool {
	return f.paid || f.failed || f.complete && c.State == Open
}

// simple reports whether a payment leads to a sale and nothing else, as it nearly always does. Such
// sales join the partner's batch of orders.
func (c Checkout) simple(f sessionFact) bool {
	return (c.State == Open || c.State == Pending) && c.LicenseKey == "" && !c.Unsettled && c.matches(f)
}

// matches reports whether a payment is the requested one.
func (c Checkout) matches(f sessionFact) bool {
	return f.amount == c.Amount && f.currency == c.Currency && (c.SessionID == "" || c.SessionID == f.id)
}

// sell sells a new license in a batch with other orders of the partner. It does not record the
// event: the sold checkout tells the job enough.
func (b *Store) sell(ctx context.Context, c Checkout, f sessionFact) (Checkout, error) {
	now := b.Now()
	c.State = Sold
	c.Order = OrderPaid
	c.SessionID = f.id
	c.IntentID = f.intent
	c.ChargeID = f.charge
	c.PaidAt = now
	c.UpdatedAt = now
	c.NextAt = time.Time{}
	var err error
	if c.RefundUntil, err = refundUntil(ctx, b.DB, c.PartnerID, now); err != nil {
		return c, err
	}
	o := c.order()
	o.Payment = &license.Payment{
		CheckoutID: c.ID, SessionID: f.id, IntentID: f.intent, ChargeID: f.charge, RefundUntil: c.RefundUntil,
	}
	if _, err := b.Licenses.Sell(ctx, o); err != nil {
		return c, err
	}
	c.PurchaseID = o.Payment.SaleID
	list, err := o.Payment.Recorded.All(ctx)
	if err != nil || !slices.Contains(list, license.Recorded{CheckoutID: c.ID, Unsettled: true}) {
		return c, err
	}
	// A refund or a dispute arrived meanwhile.
	return c, b.change(ctx, c, func(*work) error { return nil })
}

// Record queues the update that marks checkouts as sold. It implements license.Store.Record.
func (b *Store) Record(tx *sqldb.Tx, list []*license.Payment) {
	now := b.Now()
	rows := make([][]any, len(list))
	for i, p := range list {
		rows[i] = []any{
			p.CheckoutID, p.SessionID, p.IntentID, p.SaleID, now, now, now, p.ChargeID, p.RefundUntil,
		}
	}
	recorded := sqldb.UpdateRows(
		tx,
		func(r *sqldb.Row, v *license.Recorded) error { return r.Scan(&v.CheckoutID, &v.Unsettled) },
		"checkouts",
		[]string{
			"id", "session_id", "intent_id", "purchase_id", "paid_at", "updated_at", "stated_at", "charge_id",
			"refund_until",
		},
		rows,
		fmt.Sprintf("state = %d, order_state = %d, next_at = 0, paid = amount, paid_currency = currency", Sold,
			OrderPaid),
		"unsettled",
	)
	for _, p := range list {
		p.Recorded = recorded
	}
}

// order returns the license order of a checkout.
func (c Checkout) order() license.Order {
	return license.Order{
		Purchase: license.Purchase{
			PartnerID: c.PartnerID, Tier: c.Tier, BuyerID: c.UserID, Quantity: 1, AmountCents: c.Amount,
			Currency: c.Currency, ExternalID: c.Ref, Shop: true,
		},
		By: actor, Paid: true, PlanName: c.PlanName, RefundUntil: c.RefundUntil,
	}
}

// lookUp records an object to retrieve and wakes the job.
func (b *Store) lookUp(ctx context.Context, eventID, objectID string) error {
	if objectID == "" {
		return nil
	}
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		noteEvent(tx, eventID, b.Now())
		addLookup(tx, objectID, b.Now())
		return nil
	})
	if err != nil {
		return fmt.Errorf("note an object to look up: %w", err)
	}
	b.wake()
	return nil
}

func noteEvent(tx *sqldb.Tx, id string, at time.Time) {
	tx.Queue(
		`INSERT INTO payment_events (provider_id, created_at) VALUES ($1, $2) ON CONFLICT (provider_id) DO NOTHING`,
		id,
		at,
	)
}

func addLookup(tx *sqldb.Tx, id string, at time.Time) {
	tx.Queue(`INSERT INTO payment_lookups (object_id, tries, created_at, next_at) VALUES ($1, 0, $2, $2)
		ON CONFLICT (object_id) DO UPDATE SET tries = 0, next_at = excluded.next_at`, id, at)
}

// Look polls the provider about a checkout whose buyer is waiting. Without an answer it returns the
// checkout unchanged.
func (b *Store) Look(ctx context.Context, c Checkout) (Checkout, error) {
	c, _, err := b.look(ctx, c)
	return c, err
}

// Ask polls the provider about an unfinished order, and sells it if it was paid. It returns false if
// the provider gave no answer.
func (b *Store) Ask(ctx context.Context, c Checkout) (answered bool, err error) {
	_, answered, err = b.look(ctx, c)
	return answered, err
}

func (b *Store) look(ctx context.Context, c Checkout) (_ Checkout, answered bool, err error) {
	if b.Stripe == nil || c.SessionID == "" || c.State != Open && c.State != Pending {
		return c, true, nil
	}
	f, err := b.Stripe.session(ctx, c.SessionID)
	if err != nil {
		b.Log.Warn(
			"a payment could not be looked up while a person waits; the job does it later",
			"checkout",
			c.ID,
			"err",
			err,
		)
		return c, false, nil
	}
	if !c.learns(f) {
		return c, true, nil
	}
	c, err = b.applySession(ctx, c, f, "")
	return c, true, err
}
