package payment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
)

// requestOf returns the newest request that covers the payment, if it is in a state.
func (w *work) requestOf(
	ctx context.Context,
	state refundrequest.State,
) (r refundrequest.Request, found bool, err error) {
	if w.book.Requests == nil || w.PurchaseID == 0 || len(w.refunds)+len(w.disputes) == 0 {
		return r, false, nil
	}
	list, err := refundrequest.OfPurchases(ctx, w.tx, []int64{w.PurchaseID})
	if err != nil || len(list) == 0 || list[0].State != state {
		return r, false, err
	}
	return list[0], true, nil
}

// endsRequest reports whether the refund of the payment completes a request of the license's
// owner. Then the email about the request also reports the refund.
func (w *work) endsRequest(ctx context.Context) (bool, error) {
	r, found, err := w.requestOf(ctx, refundrequest.Requested)
	if err != nil || !found || w.book.Requests.Mail == nil {
		return false, err
	}
	open, err := w.licenses.OpenSales(ctx, r.Purchases())
	if err != nil || !slices.Equal(open, []int64{w.PurchaseID}) {
		return false, err
	}
	l, err := license.Get(ctx, w.tx, r.LicenseID)
	return l.OwnerID == r.UserID, err
}

// followRequest returns the request for the payment to the queue, if its refund failed.
func (w *work) followRequest(ctx context.Context) error {
	r, found, err := w.requestOf(ctx, refundrequest.Requested)
	if err != nil || !found || !r.UnderWay() || w.RefundID != 0 {
		return err
	}
	failure := ""
	for _, f := range w.refunds {
		switch {
		case f.Ours() && f.Status < RefundSucceeded:
			return nil // it has not ended
		case f.Ours() && f.Status == RefundFailed:
			failure = f.Failure
		}
	}
	return w.book.Requests.Fail(ctx, w.tx, r, cmp.Or(failure, "failed at Stripe"), w.now)
}

// reopenRequest returns a refunded request to the queue: its refund failed after it had succeeded.
func (w *work) reopenRequest(ctx context.Context) error {
	r, found, err := w.requestOf(ctx, refundrequest.Refunded)
	if err != nil || !found {
		return err
	}
	if _, another, err := refundrequest.OpenOf(ctx, w.tx, r.LicenseID); err != nil || another {
		return err
	}
	failure := ""
	for _, f := range w.refunds {
		if f.Status == RefundFailed {
			failure = f.Failure
		}
	}
	return w.book.Requests.Fail(ctx, w.tx, r, cmp.Or(failure, "taken back at Stripe"), w.now)
}

// endRequests ends the requests that cover one of these purchases and whose payments are all
// refunded, however that happened.
func (b *Store) endRequests(ctx context.Context, tx *sqldb.Tx, at time.Time, purchases []int64) error {
	if b.Requests == nil || len(purchases) == 0 {
		return nil
	}
	list, err := refundrequest.OfPurchases(ctx, tx, purchases)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.State != refundrequest.Requested {
			continue
		}
		if err := b.endIfRefunded(ctx, tx, r, at); err != nil {
			return err
		}
	}
	return nil
}

func (b *Store) endIfRefunded(ctx context.Context, tx *sqldb.Tx, r refundrequest.Request, at time.Time) error {
	open, err := b.Licenses.Within(tx).OpenSales(ctx, r.Purchases())
	if err != nil || len(open) > 0 {
		return err
	}
	l, err := license.Get(ctx, tx, r.LicenseID)
	if err != nil {
		return err
	}
	plan, err := partner.QueuePlan(tx, l.PartnerID, l.Tier).One(ctx)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return fmt.Errorf("read the plan of a license: %w", err)
	}
	plan.Tier = l.Tier
	return b.Requests.Finish(ctx, tx, r, refundrequest.Outcome{Ended: l.Ended, Plan: plan.DisplayName()}, at)
}

// followRequests settles open requests whose refund ended unnoticed: a node of the release before
// this one stored it.
func (b *Store) followRequests(ctx context.Context) (int, error) {
	if b.Requests == nil {
		return 0, nil
	}
	list, err := refundrequest.Open(ctx, b.DB, jobBatch)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	var purchases, checkouts []int64
	for _, r := range list {
		purchases = append(purchases, r.Purchases()...)
		for _, p := range r.Payments {
			checkouts = append(checkouts, p.CheckoutID)
		}
	}
	open, err := b.Licenses.OpenSales(ctx, purchases)
	if err != nil {
		return 0, err
	}
	refunds, _, err := b.Facts(ctx, checkouts)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, r := range list {
		errs = append(errs, b.followUnnoticed(ctx, r, open, refunds))
	}
	return 0, errors.Join(errs...)
}

// followUnnoticed settles a request, if its purchases are all refunded or its refund failed.
func (b *Store) followUnnoticed(
	ctx context.Context,
	r refundrequest.Request,
	open []int64,
	refunds []Refund,
) error {
	isOpen := func(p refundrequest.Payment) bool { return slices.Contains(open, p.PurchaseID) }
	if !slices.ContainsFunc(r.Payments, isOpen) {
		return b.Requests.Change(ctx, r.ID, func(tx *sqldb.Tx, r refundrequest.Request) error {
			return b.endRequests(ctx, tx, b.Now(), r.Purchases())
		})
	}
	for _, p := range r.Payments {
		goesOn := func(f Refund) bool {
			return f.CheckoutID == p.CheckoutID && f.Ours() && f.Status < RefundSucceeded
		}
		if !r.UnderWay() || !isOpen(p) || slices.ContainsFunc(refunds, goesOn) {
			continue
		}
		if err := b.change(ctx, Checkout{ID: p.CheckoutID, PartnerID: r.PartnerID}, func(*work) error {
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
