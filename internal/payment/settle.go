package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// work is a checkout with its facts in a transaction that changes it.
type work struct {
	Checkout
	book     *Store
	tx       *sqldb.Tx
	now      time.Time
	refunds  []*Refund
	disputes []*Dispute
	fees     []ledger.Fee   // of disputes; the ledger skips those that it has
	licenses *license.Store // changes join the transaction
}

// change reads a checkout with its facts, merges new ones, derives the state of licenses and writes
// everything, in one transaction.
func (b *Store) change(ctx context.Context, c Checkout, merge func(*work) error) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		// Lock first, as every writer of licenses does. A removed partner has no row.
		if _, err := partner.Lock(tx, c.PartnerID).One(ctx); err != nil && !errors.Is(err, sqldb.ErrNone) {
			return err
		}
		return b.changeIn(ctx, tx, c.ID, merge)
	})
	if err != nil {
		return fmt.Errorf("change checkout %d: %w", c.ID, err)
	}
	return nil
}

// changeIn does the same in a transaction that has locked the partner.
func (b *Store) changeIn(ctx context.Context, tx *sqldb.Tx, id int64, merge func(*work) error) error {
	w := &work{book: b, tx: tx, now: b.Now(), licenses: b.Licenses.Within(tx)}
	var err error
	w.Checkout, err = sqldb.One(ctx, tx, scanCheckout,
		`SELECT `+checkoutColumns+` FROM checkouts WHERE id = $1`+tx.ForUpdate, id)
	if err != nil {
		return err
	}
	if err := w.load(ctx); err != nil {
		return err
	}
	if err := merge(w); err != nil {
		return err
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	if err := w.tellDisputes(ctx); err != nil {
		return err
	}
	w.findEarlierFees()
	w.save()
	return w.post(ctx)
}

func (w *work) load(ctx context.Context) error {
	refunds, err := sqldb.All(
		ctx,
		w.tx,
		scanRefund,
		`SELECT `+refundColumns+` FROM payment_refunds WHERE checkout_id = $1 AND checkout_id <> 0 ORDER BY id`,
		w.ID,
	)
	if err != nil {
		return err
	}
	for i := range refunds {
		w.refunds = append(w.refunds, &refunds[i])
	}
	disputes, err := sqldb.All(
		ctx,
		w.tx,
		scanDispute,
		`SELECT `+disputeColumns+` FROM payment_disputes WHERE checkout_id = $1 ORDER BY provider_id`,
		w.ID,
	)
	for i := range disputes {
		w.disputes = append(w.disputes, &disputes[i])
	}
	return err
}

func (w *work) save() {
	w.Unsettled = w.PurchaseID == 0 && len(w.refunds)+len(w.disputes) > 0
	w.UpdatedAt = w.now
	if w.State != Open && w.State != Pending {
		w.NextAt = time.Time{}
	}
	w.Order = orderState(w.Checkout, w.refunds, w.disputes)
	saveCheckout(w.tx, w.Checkout)
	for _, f := range w.refunds {
		f.save(w.tx, w.now)
	}
	for _, d := range w.disputes {
		d.save(w.tx, w.now)
	}
}

// close ends an unpaid checkout. refused means that the bank or the provider refused the payment.
func (w *work) close(refused bool) {
	if w.State == Open || w.State == Pending {
		w.State = Closed
		w.Refused = refused
	}
}

// mergeSession merges the state of the session. A payment is never undone.
func (w *work) mergeSession(f sessionFact) {
	if w.SessionID != "" && w.SessionID != f.id {
		if f.paid {
			w.problem(PaidTwice, f.id, f.intent, f.amount, f.currency)
		}
		return
	}
	w.SessionID = f.id
	if f.intent != "" {
		w.IntentID = f.intent
	}
	w.nameCharge(f.intent, f.charge)
	switch {
	case f.paid && w.PaidAt.IsZero():
		w.PaidAt = w.now
		w.Paid = Amount{f.amount, f.currency}
		if !w.matches(f) {
			w.unsold(PaidOtherAmount, f.amount, f.currency)
		}
	case f.paid:
	case f.failed:
		w.close(f.refused)
	case f.complete && w.State == Open:
		w.State = Pending
	}
}

// settle derives the state of the licenses from the facts.
func (w *work) settle(ctx context.Context) error {
	if !w.PaidAt.IsZero() && w.State != Sold && w.State != Unsold {
		if err := w.sell(ctx); err != nil {
			return err
		}
	}
	if w.State == Sold {
		if err := w.follow(ctx); err != nil {
			return err
		}
		return w.followRequest(ctx)
	}
	if w.State == Unsold && w.refunded() {
		closeProblems(w.tx, w.IntentID, w.now)
	}
	return nil
}

// sell sells the paid item, or records why it cannot.
func (w *work) sell(ctx context.Context) error {
	var err error
	if w.RefundUntil, err = refundUntil(ctx, w.tx, w.PartnerID, w.PaidAt); err != nil {
		return err
	}
	if w.LicenseKey == "" {
		var sale license.Sale
		sale, err = w.licenses.Sell(ctx, w.order())
		w.PurchaseID = sale.ID
	} else {
		err = w.changePlan(ctx)
	}
	switch {
	case err == nil && w.PurchaseID != 0:
		w.State = Sold
	case err == nil:
		w.unsold(PaidTwice, w.Amount, w.Currency)
	case fault.Of(err) != nil:
		w.unsold(unsoldKind(err), w.Amount, w.Currency)
	default:
		return err
	}
	return nil
}

func (w *work) changePlan(ctx context.Context) error {
	l, err := w.licenses.ByKey(ctx, w.LicenseKey)
	if err != nil {
		return err
	}
	if l.Tier == w.Tier {
		return nil // another payment already changed it
	}
	_, err = w.licenses.ChangePlan(ctx, actor, w.LicenseKey, license.PlanChange{
		Tier: w.Tier, AmountCents: w.Amount, Currency: w.Currency, Credit: w.Credit, ExternalID: w.Ref,
		Shop: true, Paid: true, PlanName: w.PlanName, RefundUntil: w.RefundUntil,
		Then: func(tx *sqldb.Tx, saleID int64) {
			w.PurchaseID = saleID
			// Uncovered runs next and finds the checkout by this column.
			tx.Queue(`UPDATE checkouts SET purchase_id = $2 WHERE id = $1`, w.ID, saleID)
		},
	})
	return err
}

// unsold records that a payment cannot be sold.
func (w *work) unsold(kind ProblemKind, amount int64, currency string) {
	w.State = Unsold
	w.problem(kind, w.SessionID, w.IntentID, amount, currency)
}

// nameCharge stores the charge of the payment, as a session, a refund or a dispute names it.
func (w *work) nameCharge(intent, charge string) {
	if charge != "" && intent == w.IntentID {
		w.ChargeID = charge
	}
}

// refunded reports whether the whole payment was refunded.
func (w *work) refunded() bool {
	sum := returned(w.Paid.Currency, w.refunds)
	return sum > 0 && sum >= w.Paid.Units
}

// follow applies refunds and disputes to the licenses.
func (w *work) follow(ctx context.Context) error {
	lost := false
	for _, d := range w.disputes {
		lost = lost || d.lost()
	}
	if err := w.followRefunds(ctx, w.refunded() || lost); err != nil {
		return err
	}
	list, err := w.licenses.OfSale(ctx, w.PurchaseID)
	if err != nil {
		return err
	}
	for _, d := range w.disputes {
		if d.holds() == d.held {
			continue
		}
		for _, l := range list {
			act := w.licenses.LiftFor
			if d.holds() {
				act = w.licenses.HoldFor
			}
			if err := act(ctx, actor, l, license.ByDispute(d.ID)); err != nil {
				return err
			}
		}
		d.held = d.holds()
	}
	return nil
}

// followRefunds refunds the purchase, or reverts that.
func (w *work) followRefunds(ctx context.Context, want bool) error {
	switch {
	case want && w.RefundID == 0:
		quiet, err := w.endsRequest(ctx)
		if err != nil {
			return err
		}
		f, err := w.licenses.Refund(ctx, actor, license.RefundOrder{
			PartnerID: w.PartnerID, PurchaseID: w.PurchaseID, ExternalID: w.refundName(), Reported: true, Quiet: quiet,
		})
		if err != nil {
			return err
		}
		w.RefundID = f.ID
		closeProblems(w.tx, w.IntentID, w.now)
		return w.refundWhole(ctx)
	case !want && w.RefundID != 0:
		_, err := w.licenses.ReverseRefund(ctx, actor, w.RefundID)
		w.RefundID = 0
		if err != nil {
			return err
		}
		return w.reopenRequest(ctx)
	}
	return nil
}

// refundName returns the external id of the purchase's refund, taken from the newest fact that
// causes it. The time distinguishes it from a reverted one.
func (w *work) refundName() string {
	name := w.Ref
	for _, d := range w.disputes {
		if d.lost() {
			name = d.ID
		}
	}
	for _, f := range w.refunds {
		if f.Status == RefundSucceeded && f.ProviderID != "" {
			name = f.ProviderID
		}
	}
	return fmt.Sprintf("%s at %d", name, w.now.UnixMicro())
}

// refundWhole refunds the remaining purchases of a license, if the operator asked for the whole
// license and its last payment was refunded.
func (w *work) refundWhole(ctx context.Context) error {
	for _, f := range w.refunds {
		if f.LicenseKey == "" || f.Status != RefundSucceeded {
			continue
		}
		left, err := sqldb.One(
			ctx,
			w.tx,
			sqldb.Value[int64],
			`SELECT count(*) FROM payment_refunds WHERE license_key = $1 AND checkout_id <> $2 AND status <> `+
				sqldb.Literal(RefundSucceeded),
			f.LicenseKey,
			w.ID,
		)
		if err != nil {
			return err
		}
		if left > 0 {
			continue
		}
		if _, err := w.licenses.Refund(
			ctx, actor,
			license.RefundOrder{LicenseKey: f.LicenseKey, Reported: true, ExternalID: "rest of " + f.request},
		); err != nil {
			return err
		}
	}
	return nil
}
