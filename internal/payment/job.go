package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/job"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// Every is the interval at which the job looks for work without a wake-up.
const Every = 10 * time.Second

// Limits of one run.
const (
	jobBatch   = 100
	listEvery  = 10 * time.Minute
	listBack   = 30 * 24 * time.Hour // the provider lists events this far back
	listAgain  = time.Hour           // overlap of two lists: events may appear late
	keepEvents = listBack + 24*time.Hour
	maxPause   = 6 * time.Hour // between two polls of an object
	giveUpAge  = 30 * 24 * time.Hour
)

// Job polls the provider for everything a webhook may have missed. It asks for unfinished
// checkouts, refunds and disputes by id, for fees, for objects of unreadable events, and for events
// that never arrived. A paid checkout is sold even if no webhook arrives.
type Job struct {
	Store *Store
	Ran   job.Ran

	wake chan struct{}
}

// NewJob returns the job of a book. Store.Wake must call its Wake.
func NewJob(b *Store) *Job { return &Job{Store: b, wake: make(chan struct{}, 1)} }

// Wake makes the job look for work now. It never blocks.
func (j *Job) Wake() {
	select {
	case j.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// Run works until ctx ends.
func (j *Job) Run(ctx context.Context) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		began := time.Now()
		more, err := j.Once(ctx)
		j.Ran.Run(ctx, began, err)
		if err != nil && ctx.Err() == nil {
			j.Store.Log.Warn("payments could not all be looked up; they are again later", "err", err)
		}
		if more && err == nil && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-j.wake:
		}
	}
}

// Once does the due work and reports whether there may be more.
func (j *Job) Once(ctx context.Context) (more bool, err error) {
	b := j.Store
	acts := []func(context.Context) (int, error){b.stateOrders, b.eraseEvidence}
	if b.Stripe != nil {
		acts = append(
			acts,
			b.askCheckouts, b.sendRefunds, b.sendEvidences, b.askDisputes, b.list, b.answerLookups, b.remindDisputes,
			b.followRequests, b.tellGuests, b.askFees,
		)
	}
	var errs []error
	for _, do := range acts {
		n, err := do(ctx)
		if err != nil {
			errs = append(errs, err)
		}
		more = more || n == jobBatch
	}
	return more, errors.Join(errs...)
}

// pause returns the time until the next poll of an object of this age.
func pause(age time.Duration) time.Duration {
	return min(max(age/4, askFirst), maxPause)
}

// askCheckouts retrieves unfinished checkouts by their session ids.
func (b *Store) askCheckouts(ctx context.Context) (int, error) {
	list, err := sqldb.All(
		ctx,
		b.DB,
		scanCheckout,
		`SELECT `+checkoutColumns+` FROM checkouts WHERE next_at <> 0 AND next_at <= $1 ORDER BY next_at LIMIT $2`,
		b.Now(),
		jobBatch,
	)
	if err != nil {
		return 0, fmt.Errorf("find unfinished checkouts: %w", err)
	}
	var errs []error
	for _, c := range list {
		errs = append(errs, b.askCheckout(ctx, c), b.checkoutLater(ctx, c))
	}
	return len(list), errors.Join(errs...)
}

// checkoutLater has the provider asked again about a checkout that has not ended, until it is
// too old for news.
func (b *Store) checkoutLater(ctx context.Context, c Checkout) error {
	age := b.Now().Sub(c.CreatedAt)
	next := b.Now().Add(pause(age))
	if age > giveUpAge {
		next = time.Time{}
	}
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE checkouts SET tries = tries + 1, next_at = $2 WHERE id = $1 AND next_at <> 0`, c.ID, next)
		return nil
	})
}

// askCheckout takes what the provider says of a checkout.
func (b *Store) askCheckout(ctx context.Context, c Checkout) error {
	if c.SessionID == "" {
		if b.Now().Sub(c.CreatedAt) <= sessionLife {
			return nil
		}
		// It was cut off before it had a page, and nobody can pay it.
		return b.change(ctx, c, func(w *work) error { w.close(false); return nil })
	}
	f, err := b.Stripe.session(ctx, c.SessionID)
	if err != nil {
		return err
	}
	if c.learns(f) {
		_, err = b.applySession(ctx, c, f, "")
	}
	return err
}

// sendRefunds requests the refunds that we owe and polls those in progress.
func (b *Store) sendRefunds(ctx context.Context) (int, error) {
	list, err := sqldb.All(
		ctx,
		b.DB,
		scanRefund,
		`SELECT `+refundColumns+` FROM payment_refunds WHERE next_at <> 0 AND next_at <= $1 ORDER BY next_at LIMIT $2`,
		b.Now(),
		jobBatch,
	)
	if err != nil {
		return 0, fmt.Errorf("find refunds under way: %w", err)
	}
	var errs []error
	for _, f := range list {
		fact, err := b.sendRefund(ctx, f)
		if code, final := finally(err); final {
			fact = refundFact{
				id:       f.ProviderID,
				request:  f.request,
				intent:   f.IntentID,
				amount:   f.Amount,
				currency: f.Currency,
				status:   RefundFailed,
				failure:  code,
			}
			err = nil
		}
		if err == nil {
			err = b.takeRefund(ctx, f, fact)
		}
		if err != nil {
			errs = append(errs, err, b.postpone(ctx, f.question(), err))
		}
	}
	return len(list), errors.Join(errs...)
}

// idempotencyKept is the time for which the provider certainly recognizes a repeated request.
const idempotencyKept = 23 * time.Hour

// sendRefund requests a refund, or polls it. If an answer was lost, it first searches for the
// refund, because the provider may no longer recognize the request.
func (b *Store) sendRefund(ctx context.Context, f Refund) (refundFact, error) {
	if f.ProviderID != "" {
		return b.Stripe.refundByID(ctx, f.ProviderID)
	}
	if f.Tries > 0 {
		fact, found, err := b.Stripe.refundOfRequest(ctx, f.IntentID, f.request)
		if found || err != nil {
			return fact, err
		}
	}
	if b.Now().Sub(f.CreatedAt) > idempotencyKept {
		return refundFact{}, &CallError{Code: "not_answered", Status: 400}
	}
	return b.Stripe.refund(ctx, f)
}

// takeRefund merges the provider's answer about one of our refunds.
func (b *Store) takeRefund(ctx context.Context, f Refund, fact refundFact) error {
	if f.CheckoutID == 0 {
		return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
			f.apply(fact, b.Now())
			f.save(tx, b.Now())
			closeProblem(tx, NotAnswered, f.ProviderID, b.Now())
			if f.Status == RefundSucceeded {
				closeProblems(tx, f.IntentID, b.Now())
			}
			return nil
		})
	}
	c, err := b.byID(ctx, f.CheckoutID)
	if err != nil {
		return err
	}
	return b.change(ctx, c, func(w *work) error { w.mergeRefund(fact); return nil })
}

// askDisputes retrieves open disputes. It does not wait with those that a node of an older release
// stored, which has not read their deadlines.
func (b *Store) askDisputes(ctx context.Context) (int, error) {
	list, err := sqldb.All(
		ctx,
		b.DB,
		scanDispute,
		`SELECT `+disputeColumns+` FROM payment_disputes
			WHERE next_at <> 0 AND (next_at <= $1 OR told_at = 0 AND tries = 0) ORDER BY next_at LIMIT $2`,
		b.Now(),
		jobBatch,
	)
	if err != nil {
		return 0, fmt.Errorf("find open disputes: %w", err)
	}
	var errs []error
	for _, d := range list {
		if err := b.askDispute(ctx, d); err != nil {
			errs = append(errs, err, b.postpone(ctx, d.question(), err))
		}
	}
	return len(list), errors.Join(errs...)
}

// askDispute merges the provider's state of a dispute into the checkout it was stored for. The
// payment in the provider's answer may lead to no checkout.
func (b *Store) askDispute(ctx context.Context, d Dispute) error {
	fact, err := b.Stripe.dispute(ctx, d.ID)
	if err != nil {
		return err
	}
	c, err := b.byID(ctx, d.CheckoutID)
	if err != nil {
		return err
	}
	return b.change(ctx, c, func(w *work) error { w.mergeDispute(fact); return nil })
}

func (b *Store) takeDispute(ctx context.Context, f disputeFact) error {
	c, found, err := b.payer(ctx, f.intent)
	if err != nil || !found {
		return err
	}
	return b.change(ctx, c, func(w *work) error { w.mergeDispute(f); return nil })
}

// Expiring lists the rows that expire: events that the provider no longer lists, old evidence, and
// guests who have not paid.
func Expiring() []prune.Rule {
	return []prune.Rule{
		{Table: "payment_events", Key: "provider_id", At: "created_at", Keep: keepEvents},
		expiringEvidence(),
		account.PruneGuests(pruneGuests),
	}
}
