package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/job"
	"claviger/internal/sqldb"
)

// Every is how often the job looks for work when nobody wakes it.
const Every = 10 * time.Second

// The bounds of one run.
const (
	jobBatch   = 100
	listEvery  = 10 * time.Minute
	listBack   = 30 * 24 * time.Hour // how far back the provider lists events
	listAgain  = time.Hour           // what is listed again, since events may appear late
	keepEvents = listBack + 24*time.Hour
	maxPause   = 6 * time.Hour // between two questions about the same object
	giveUp     = 30 * 24 * time.Hour
)

// Job asks the provider about what nobody told us of: our unfinished checkouts, refunds
// and disputes by their ids, objects of events that could not be read, and events that
// never came. A paid checkout is sold although no webhook ever arrives.
type Job struct {
	Book *Book
	Ran  job.Ran

	bell chan struct{}
}

// NewJob makes the job of a book, which wakes it.
func NewJob(b *Book) *Job { return &Job{Book: b, bell: make(chan struct{}, 1)} }

// Wake has the job look for work now. It never waits.
func (j *Job) Wake() {
	select {
	case j.bell <- struct{}{}:
	default: // it is about to look
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
			j.Book.Log.Warn("payments could not all be looked up; they are again later", "err", err)
		}
		if more && err == nil && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-j.bell:
		}
	}
}

// Once does all that is due, and reports whether there may be more.
func (j *Job) Once(ctx context.Context) (more bool, err error) {
	b := j.Book
	if b.Stripe == nil {
		return false, nil
	}
	var errs []error
	for _, do := range []func(context.Context) (int, error){b.askCheckouts, b.sendRefunds, b.askDisputes, b.list, b.answerLookups} {
		n, err := do(ctx)
		if err != nil {
			errs = append(errs, err)
		}
		more = more || n == jobBatch
	}
	return more, errors.Join(errs...)
}

// pause is how long the next question about something of this age waits.
func pause(age time.Duration) time.Duration {
	return min(max(age/4, askFirst), maxPause)
}

// askCheckouts retrieves our unfinished checkouts by the ids of their sessions.
func (b *Book) askCheckouts(ctx context.Context) (int, error) {
	list, err := sqldb.All(ctx, b.DB, scanCheckout, `SELECT `+checkoutColumns+` FROM checkouts WHERE next_at <> 0 AND next_at <= $1 ORDER BY next_at LIMIT $2`, b.Now(), jobBatch)
	if err != nil {
		return 0, fmt.Errorf("find unfinished checkouts: %w", err)
	}
	var errs []error
	for _, c := range list {
		errs = append(errs, b.askCheckout(ctx, c))
	}
	return len(list), errors.Join(errs...)
}

func (b *Book) askCheckout(ctx context.Context, c Checkout) error {
	age := b.Now().Sub(c.CreatedAt)
	var f sessionFact
	var err error
	switch {
	case c.SessionID != "":
		f, err = b.Stripe.session(ctx, c.SessionID)
	case age > sessionLife: // it was cut off before it had a page, and nobody can pay it
		f.failed = true
	}
	if err != nil || !f.paid && !f.failed {
		next := b.Now().Add(pause(age))
		if age > giveUp {
			next = time.Time{}
		}
		later := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
			tx.Queue(`UPDATE checkouts SET tries = tries + 1, next_at = $2 WHERE id = $1 AND next_at <> 0`, c.ID, next)
			return nil
		})
		if err == nil && f.complete {
			_, err = b.take(ctx, c, f, "")
		}
		return errors.Join(err, later)
	}
	if f.id == "" {
		return b.change(ctx, c, func(w *work) error { w.close(); return nil })
	}
	_, err = b.take(ctx, c, f, "")
	return err
}

// sendRefunds asks for the refunds that we owe, and after those under way.
func (b *Book) sendRefunds(ctx context.Context) (int, error) {
	list, err := sqldb.All(ctx, b.DB, scanRefund, `SELECT `+refundColumns+` FROM payment_refunds WHERE next_at <> 0 AND next_at <= $1 ORDER BY next_at LIMIT $2`, b.Now(), jobBatch)
	if err != nil {
		return 0, fmt.Errorf("find refunds under way: %w", err)
	}
	var errs []error
	for _, f := range list {
		fact, err := b.sendRefund(ctx, f)
		if code, final := finally(err); final {
			fact, err = refundFact{id: f.ProviderID, request: f.request, intent: f.IntentID, amount: f.Amount, currency: f.Currency, status: RefundFailed, failure: code}, nil
		}
		if err != nil {
			errs = append(errs, err, b.refundLater(ctx, f))
			continue
		}
		errs = append(errs, b.takeRefund(ctx, f, fact))
	}
	return len(list), errors.Join(errs...)
}

// idempotencyKept is how long the provider is sure to know a request again.
const idempotencyKept = 23 * time.Hour

// sendRefund asks for a refund, or after it. A request whose answer was lost is looked for
// first: the provider may have forgotten it by now.
func (b *Book) sendRefund(ctx context.Context, f Refund) (refundFact, error) {
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

func (b *Book) refundLater(ctx context.Context, f Refund) error {
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE payment_refunds SET tries = tries + 1, next_at = $2 WHERE id = $1 AND next_at <> 0`, f.ID, b.Now().Add(pause(b.Now().Sub(f.CreatedAt))))
		return nil
	})
}

// takeRefund merges the provider's answer about one of our refunds.
func (b *Book) takeRefund(ctx context.Context, f Refund, fact refundFact) error {
	if f.CheckoutID == 0 {
		return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
			f.take(fact, b.Now())
			f.save(tx, b.Now())
			if f.Status == RefundSucceeded {
				closeProblems(tx, f.IntentID, b.Now())
			}
			return nil
		})
	}
	c, found, err := b.find(ctx, `id = $1`, f.CheckoutID)
	if err != nil || !found {
		return err
	}
	return b.change(ctx, c, func(w *work) error { w.mergeRefund(fact); return nil })
}

// askDisputes retrieves disputes that are open.
func (b *Book) askDisputes(ctx context.Context) (int, error) {
	list, err := sqldb.All(ctx, b.DB, scanDispute, `SELECT `+disputeColumns+` FROM payment_disputes WHERE next_at <> 0 AND next_at <= $1 ORDER BY next_at LIMIT $2`, b.Now(), jobBatch)
	if err != nil {
		return 0, fmt.Errorf("find open disputes: %w", err)
	}
	var errs []error
	for _, d := range list {
		fact, err := b.Stripe.dispute(ctx, d.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, b.takeDispute(ctx, fact))
	}
	return len(list), errors.Join(errs...)
}

func (b *Book) takeDispute(ctx context.Context, f disputeFact) error {
	c, found, err := b.payer(ctx, f.intent)
	if err != nil || !found {
		return err
	}
	return b.change(ctx, c, func(w *work) error { w.mergeDispute(f); return nil })
}

// Prune forgets events that the provider lists no more.
func (b *Book) Prune(ctx context.Context) (n int64, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err = tx.Exec(ctx, `DELETE FROM payment_events WHERE created_at < $1`, b.Now().Add(-keepEvents))
		return err
	})
	return n, err
}
