package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// ProblemKind is the kind of a payment problem.
type ProblemKind string

// The kinds of problems.
const (
	PaidUnknown     ProblemKind = "paid_unknown"      // its checkout does not exist
	PaidTwice       ProblemKind = "paid_twice"        // another payment bought the same item
	PaidOtherAmount ProblemKind = "paid_other_amount" // not the amount we asked for
	PaidRefunded    ProblemKind = "paid_refunded"     // the license was refunded meanwhile
	PaidErased      ProblemKind = "paid_erased"       // the buyer's account was deleted meanwhile
	PaidUnsold      ProblemKind = "paid_unsold"       // for another reason
	PaidNotStanding ProblemKind = "paid_not_standing" // a payment that it builds on was refunded, so it buys nothing
	RefundRefused   ProblemKind = "refund_refused"    // a refund failed; the money is still here
	InquiryOpened   ProblemKind = "inquiry_opened"    // a bank asks; it may become a dispute
)

// Problem is a problem of a payment that needs a person of the marketplace.
type Problem struct {
	ID         int64
	Kind       ProblemKind
	ObjectID   string
	CheckoutID int64 // 0: none
	PartnerID  int64
	IntentID   string
	Amount     int64
	Currency   string
	CreatedAt  time.Time
	DoneAt     time.Time
}

// Refundable reports whether the payment bought nothing and should be refunded.
func (p Problem) Refundable() bool {
	return p.IntentID != "" && p.Kind != InquiryOpened
}

const problemColumns = `id, kind, object_id, checkout_id, partner_id, intent_id, amount, currency, created_at, done_at`

func scanProblem(r *sqldb.Row, p *Problem) error {
	return r.Scan(
		&p.ID,
		(*string)(&p.Kind),
		&p.ObjectID,
		&p.CheckoutID,
		&p.PartnerID,
		&p.IntentID,
		&p.Amount,
		&p.Currency,
		&p.CreatedAt,
		&p.DoneAt,
	)
}

// addProblem queues a problem, once per object.
func addProblem(tx *sqldb.Tx, p Problem) {
	tx.Queue(
		`INSERT INTO payment_problems (kind, object_id, checkout_id, partner_id, intent_id, amount, currency,
			created_at, done_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0) ON CONFLICT (kind, object_id) DO NOTHING`,
		string(p.Kind),
		p.ObjectID,
		p.CheckoutID,
		p.PartnerID,
		p.IntentID,
		p.Amount,
		p.Currency,
		p.CreatedAt,
	)
}

func (w *work) problem(kind ProblemKind, objectID, intentID string, amount int64, currency string) {
	addProblem(w.tx, Problem{
		Kind: kind, ObjectID: objectID, CheckoutID: w.ID, PartnerID: w.PartnerID, IntentID: intentID,
		Amount: amount, Currency: currency, CreatedAt: w.now,
	})
}

// closeProblems ends the problems of a refunded payment.
func closeProblems(tx *sqldb.Tx, intentID string, at time.Time) {
	tx.Queue(
		`UPDATE payment_problems SET done_at = $2 WHERE intent_id = $1 AND intent_id <> '' AND done_at = 0`,
		intentID,
		at,
	)
}

func closeProblem(tx *sqldb.Tx, kind ProblemKind, objectID string, at time.Time) {
	tx.Queue(
		`UPDATE payment_problems SET done_at = $3 WHERE kind = $1 AND object_id = $2 AND done_at = 0`,
		string(kind),
		objectID,
		at,
	)
}

// Uncovered reports payments for purchases that are no longer in force, and ends the reports of
// those in force again or refunded. It implements license.Store.OnUncovered. A payment that was
// reported before is reported again. An order that never had a payment page has no payment. A refund
// request whose payments were all refunded ends.
func (b *Store) Uncovered(ctx context.Context, tx *sqldb.Tx, at time.Time, lost, settled []int64) error {
	if len(lost) > 0 {
		tx.Queue(
			`INSERT INTO payment_problems (kind, object_id, checkout_id, partner_id, intent_id, amount, currency,
				created_at, done_at)
			SELECT $1, ref, id, partner_id, intent_id, amount, currency, $2, 0 FROM checkouts
			WHERE purchase_id = ANY($3) AND purchase_id <> 0 AND expires_at <> 0
			ON CONFLICT (kind, object_id) DO UPDATE SET created_at = excluded.created_at, done_at = 0`,
			string(PaidNotStanding),
			at,
			lost,
		)
	}
	if len(settled) > 0 {
		tx.Queue(`UPDATE payment_problems SET done_at = $2 WHERE kind = $1 AND done_at = 0
			AND checkout_id IN (SELECT id FROM checkouts WHERE purchase_id = ANY($3)
			AND purchase_id <> 0)`, string(PaidNotStanding), at, settled)
	}
	return b.endRequests(ctx, tx, at, settled)
}

// unsoldKind returns the reason why package license refused a payment.
func unsoldKind(err error) ProblemKind {
	switch fault.Of(err).Code {
	case account.CodeUserErased:
		return PaidErased
	case license.CodeLicenseRefunded:
		return PaidRefunded
	case license.CodeUnknownLicense, partner.CodeUnknownPartner:
		return PaidUnknown
	default:
		return PaidUnsold
	}
}

// QueueProblems queues the query for open problems, oldest first.
func QueueProblems(tx *sqldb.Tx, most int) *sqldb.Result[Problem] {
	return sqldb.QueueQuery(
		tx,
		scanProblem,
		`SELECT `+problemColumns+` FROM payment_problems WHERE done_at = 0 ORDER BY created_at, id LIMIT $1`,
		most,
	)
}

// maxProblems is the maximum length of the list.
const maxProblems = 500

// Problems returns the open problems, oldest first.
func (b *Store) Problems(ctx context.Context) (list []Problem, err error) {
	err = b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		list, err = QueueProblems(tx, maxProblems).All(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list payment problems: %w", err)
	}
	return list, nil
}

// ProblemsOf returns the problems of checkouts by the checkout's id, oldest first, also those that are
// dealt with.
func (b *Store) ProblemsOf(ctx context.Context, checkouts []int64) (map[int64][]Problem, error) {
	list, err := sqldb.All(ctx, b.DB, scanProblem, `SELECT `+problemColumns+` FROM payment_problems
		WHERE checkout_id = ANY($1) AND checkout_id <> 0 ORDER BY id`, checkouts)
	if err != nil {
		return nil, fmt.Errorf("find the problems of orders: %w", err)
	}
	found := make(map[int64][]Problem, len(list))
	for _, p := range list {
		found[p.CheckoutID] = append(found[p.CheckoutID], p)
	}
	return found, nil
}

// Problem returns a problem by id.
func (b *Store) Problem(ctx context.Context, id int64) (Problem, error) {
	p, err := sqldb.One(ctx, b.DB, scanProblem, `SELECT `+problemColumns+` FROM payment_problems WHERE id = $1`, id)
	if errors.Is(err, sqldb.ErrNone) {
		return p, fault.New(fault.Missing, codeUnknownProblem, "There is no payment problem %d.", id)
	}
	if err != nil {
		return p, fmt.Errorf("read a payment problem: %w", err)
	}
	return p, nil
}

// Dismiss ends a problem that a person has solved.
func (b *Store) Dismiss(ctx context.Context, by audit.Actor, id int64) error {
	p, err := b.Problem(ctx, id)
	if err != nil || !p.DoneAt.IsZero() {
		return err
	}
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE payment_problems SET done_at = $2 WHERE id = $1 AND done_at = 0`, id, b.Now())
		audit.Record(
			tx,
			b.Now(),
			by,
			"payment.dismiss",
			fmt.Sprintf("problem:%d", id),
			nil,
			audit.Facts{"kind": string(p.Kind), "object_id": p.ObjectID},
		)
		return nil
	})
}
