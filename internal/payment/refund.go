package payment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// RefundStatus is the state of a refund. It never moves back.
type RefundStatus int

// The states of a refund.
const (
	RefundAsked     RefundStatus = iota + 1 // requested by us, not answered yet
	RefundPending                           // the provider is working on it
	RefundSucceeded                         // the money is back with the buyer
	RefundFailed                            // or cancelled: the money is still here
)

func (s RefundStatus) String() string {
	return [...]string{"", "asked", "pending", "succeeded", "failed"}[s]
}

// Refund is money that is paid back, requested by us or at the provider.
type Refund struct {
	ID         int64
	ProviderID string // "" until the provider answers
	CheckoutID int64  // 0: of a payment that sold nothing
	PurchaseID int64  // purchase of the checkout; 0: none; only for display
	IntentID   string
	LicenseKey string // set if the whole license is refunded
	Amount     int64
	Currency   string
	Status     RefundStatus
	ExternalID string // of the operator's order
	Reason     string
	Failure    string // why it failed
	Tries      int
	CreatedAt  time.Time
	UpdatedAt  time.Time

	request string // identifies our request at the provider
	nextAt  time.Time
}

// Ours reports whether the refund was requested here, not at the provider.
func (f *Refund) Ours() bool { return f.request != "" }

const refundColumns = `id, request, provider_id, checkout_id, intent_id, license_key, amount, currency, status,
	external_id, reason, failure, tries,
	created_at, updated_at, next_at`

func scanRefund(r *sqldb.Row, f *Refund) error {
	return r.Scan(
		&f.ID,
		&f.request,
		&f.ProviderID,
		&f.CheckoutID,
		&f.IntentID,
		&f.LicenseKey,
		&f.Amount,
		&f.Currency,
		(*int)(&f.Status),
		&f.ExternalID,
		&f.Reason,
		&f.Failure,
		&f.Tries,
		&f.CreatedAt,
		&f.UpdatedAt,
		&f.nextAt,
	)
}

func (f *Refund) save(tx *sqldb.Tx, now time.Time) {
	f.UpdatedAt = now
	if f.Status > RefundPending {
		f.nextAt = time.Time{}
	}
	args := []any{
		f.request, f.ProviderID, f.CheckoutID, f.IntentID, f.LicenseKey, f.Amount, f.Currency, int(f.Status),
		f.ExternalID, f.Reason, f.Failure,
		f.Tries, f.CreatedAt, f.UpdatedAt, f.nextAt,
	}
	if f.ID == 0 {
		tx.Queue(
			`INSERT INTO payment_refunds (request, provider_id, checkout_id, intent_id, license_key, amount, currency,
				status, external_id,
			reason, failure, tries, created_at, updated_at, next_at, posted_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $14)`,
			args...)
		return
	}
	tx.Queue(
		`UPDATE payment_refunds
			SET provider_id = $2, status = $3, failure = $4, tries = $5, updated_at = $6, posted_at = $6, next_at = $7,
				amount = $8
			WHERE id = $1`,
		f.ID,
		f.ProviderID,
		int(f.Status),
		f.Failure,
		f.Tries,
		f.UpdatedAt,
		f.nextAt,
		f.Amount,
	)
}

// askRefunds is the interval at which refunds in progress are polled.
const askRefunds = time.Hour

// mergeRefund stores the provider's state of a refund. States come in any order: the furthest one
// stays.
func (w *work) mergeRefund(f refundFact) {
	known, found := w.refundOf(f)
	if !found {
		known = &Refund{CheckoutID: w.ID, IntentID: f.intent, CreatedAt: w.now}
		w.refunds = append(w.refunds, known)
	}
	known.apply(f, w.now)
	w.nameCharge(f.intent, f.charge)
	closeProblem(w.tx, NotAnswered, known.ProviderID, w.now)
	if known.Status == RefundFailed {
		w.problem(RefundRefused, cmp.Or(f.id, f.request), w.IntentID, f.amount, f.currency)
	}
}

// refundOf finds the refund of a fact: by the provider's id, or by our request while it has no such
// id. Refused refunds never get an id, so two empty ids are not equal.
func (w *work) refundOf(f refundFact) (*Refund, bool) {
	for _, r := range w.refunds {
		if r.ProviderID != "" && r.ProviderID == f.id {
			return r, true
		}
		ours := r.request != "" // mutate: equivalent because every refund without an id has a request
		if ours && r.ProviderID == "" && r.request == f.request {
			return r, true
		}
	}
	return nil, false
}

func (f *Refund) apply(fact refundFact, now time.Time) {
	f.ProviderID = fact.id
	f.Amount = fact.amount
	f.Currency = fact.currency
	f.Status = max(f.Status, fact.status)
	f.Tries = 0
	f.nextAt = now.Add(askRefunds)
	if fact.failure != "" {
		f.Failure = fact.failure
	}
}

// Ask is an operator's request for a refund.
type Ask struct {
	LicenseKey string // set to refund the whole license
	ExternalID string
	Reason     string
}

// AskRefund stores a refund of a checkout's payment and lets the job send it to the provider. The
// licenses are refunded when the provider reports success. If a refund is in progress, it returns
// that one.
func (b *Store) AskRefund(ctx context.Context, by audit.Actor, c Checkout, ask Ask) (Refund, error) {
	var request string
	err := b.change(ctx, c, func(w *work) (err error) {
		request, err = w.ask(by, ask)
		return err
	})
	if err != nil {
		return Refund{}, err
	}
	b.wake()
	return b.byRequest(ctx, request)
}

// ask stores a refund of all that is left of the payment, and returns the name of its request. If a
// refund is in progress, it returns that one.
func (w *work) ask(by audit.Actor, ask Ask) (request string, err error) {
	left := w.Paid.Units
	for _, f := range w.refunds {
		switch {
		case f.request != "" && f.Status < RefundSucceeded,
			f.request != "" && ask.ExternalID != "" && f.ExternalID == ask.ExternalID &&
				f.Status == RefundSucceeded:
			return f.request, nil
		case f.Status < RefundFailed:
			left -= f.Amount
		}
	}
	if left <= 0 || w.PaidAt.IsZero() || w.IntentID == "" {
		return "", fault.New(fault.Conflict, codeNothingToRefund, "Nothing of this payment is left to refund.")
	}
	made := w.newRefund(left, ask)
	w.refunds = append(w.refunds, &made)
	recordAsk(w.tx, w.now, by, made, w.Ref)
	return made.request, nil
}

func (w *work) newRefund(amount int64, ask Ask) Refund {
	return Refund{
		request: "re_" + secret.UUID(), CheckoutID: w.ID, IntentID: w.IntentID, LicenseKey: ask.LicenseKey,
		Amount: amount, Currency: w.Paid.Currency,
		Status: RefundAsked, ExternalID: ask.ExternalID, Reason: ask.Reason, CreatedAt: w.now, nextAt: w.now,
	}
}

func recordAsk(tx *sqldb.Tx, at time.Time, by audit.Actor, f Refund, subject string) {
	audit.Record(tx, at, by, "payment.refund", "checkout:"+subject, nil, audit.Facts{
		"amount": f.Amount, "currency": f.Currency, "external_id": f.ExternalID, "intent_id": f.IntentID,
	})
}

// RefundProblem requests a refund of a payment that bought nothing.
func (b *Store) RefundProblem(ctx context.Context, by audit.Actor, id int64) (Refund, error) {
	p, err := b.Problem(ctx, id)
	if err != nil {
		return Refund{}, err
	}
	if !p.Refundable() || !p.DoneAt.IsZero() {
		return Refund{}, fault.New(
			fault.Conflict,
			codeNothingToRefund,
			"This was dealt with already, or is nothing to refund.",
		)
	}
	checkoutID := p.CheckoutID
	c, _, err := b.find(ctx, `id = $1`, checkoutID)
	switch {
	case err != nil:
		return Refund{}, err
	case p.Kind == PaidNotStanding: // a part may already be refunded
		return b.AskRefund(ctx, by, c, Ask{Reason: string(p.Kind)})
	case c.IntentID != p.IntentID:
		checkoutID = 0 // a second payment: its refund does not concern the first
	}
	f := Refund{
		request: fmt.Sprintf(
			"re_problem_%d",
			p.ID,
		), CheckoutID: checkoutID, IntentID: p.IntentID, Amount: p.Amount, Currency: p.Currency, Status: RefundAsked,
		Reason: string(p.Kind), CreatedAt: b.Now(), nextAt: b.Now(),
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		found, err := sqldb.All(
			ctx,
			tx,
			scanRefund,
			`SELECT `+refundColumns+` FROM payment_refunds WHERE request = $1`,
			f.request,
		)
		if err != nil || len(found) > 0 {
			return err
		}
		f.save(tx, b.Now())
		recordAsk(tx, b.Now(), by, f, fmt.Sprintf("problem:%d", p.ID))
		return nil
	})
	if err != nil {
		return Refund{}, fmt.Errorf("ask for a refund: %w", err)
	}
	b.wake()
	return b.byRequest(ctx, f.request)
}

func (b *Store) byRequest(ctx context.Context, request string) (Refund, error) {
	f, err := sqldb.One(
		ctx,
		b.DB,
		scanRefund,
		`SELECT `+refundColumns+` FROM payment_refunds WHERE request = $1`,
		request,
	)
	if err != nil {
		return f, fmt.Errorf("read a refund: %w", err)
	}
	return f, nil
}

// RefundByID returns a refund.
func (b *Store) RefundByID(ctx context.Context, id int64) (Refund, error) {
	f, err := sqldb.One(ctx, b.DB, scanRefund, `SELECT `+refundColumns+` FROM payment_refunds WHERE id = $1`, id)
	if errors.Is(err, sqldb.ErrNone) {
		return f, fault.New(fault.Missing, codeUnknownRefund, "There is no refund %d of a payment.", id)
	}
	if err != nil {
		return f, fmt.Errorf("read a refund: %w", err)
	}
	c, _, err := b.find(ctx, `id = $1`, f.CheckoutID)
	f.PurchaseID = c.PurchaseID
	return f, err
}

// refundsOf and disputesOf read the refunds and disputes of checkouts, $1, oldest first.
const (
	refundsOf  = `SELECT ` + refundColumns + ` FROM payment_refunds WHERE checkout_id = ANY($1) ORDER BY id`
	disputesOf = `SELECT ` + disputeColumns + ` FROM payment_disputes WHERE checkout_id = ANY($1) ORDER BY created_at`
)

// Facts returns the refunds and disputes of checkouts, oldest first.
func (b *Store) Facts(ctx context.Context, checkouts []int64) (refunds []Refund, disputes []Dispute, err error) {
	err = b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		r := sqldb.QueueQuery(tx, scanRefund, refundsOf, checkouts)
		d := sqldb.QueueQuery(tx, scanDispute, disputesOf, checkouts)
		if refunds, err = r.All(ctx); err != nil {
			return err
		}
		disputes, err = d.All(ctx)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read refunds and disputes: %w", err)
	}
	return refunds, disputes, nil
}
