// Package refundrequest stores the requests of buyers to have their money back, and emails people
// about them. It owns the tables refund_requests and refund_request_payments.
//
// Package payment has the rules about money: it decides which payments a request covers, asks the
// provider for the refund, and reports the outcome here, in the transaction that settles it.
package refundrequest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/money"
	"claviger/internal/sqldb"
)

// Limits of texts, in characters.
const (
	MaxReason = 1000 // of the buyer
	MaxAnswer = 1000 // of the person who declines
)

// State is the state of a request.
type State int

// The states. An open request is Requested, also while its refund is under way.
const (
	Requested State = iota + 1
	Refunded
	Declined
)

// States lists all states.
var States = []State{Requested, Refunded, Declined}

func (s State) String() string {
	switch s {
	case Requested:
		return "requested"
	case Refunded:
		return "refunded"
	case Declined:
		return "declined"
	default:
		return ""
	}
}

// ParseState parses a state; "" means any and is 0.
func ParseState(name string) (State, error) {
	if name == "" {
		return 0, nil
	}
	for _, s := range States {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fault.Parameter("state", "must be requested, refunded or declined.")
}

// Payment is a payment that a request covers.
type Payment struct {
	CheckoutID int64
	PurchaseID int64
	Item       string // the application and the plan
	Amount     int64  // what was left of it
	Currency   string
}

// Request is a buyer's request to have the money for a license back.
type Request struct {
	ID           int64
	LicenseID    int64
	LicenseKey   string
	RedemptionID string
	PartnerID    int64
	UserID       int64 // the buyer
	State        State
	Reason       string    // of the buyer; "": none
	Answer       string    // why it was declined, for the buyer
	Failure      string    // why the last refund failed; "": none did
	AskedAt      time.Time // since when its refund is under way; zero: a person decides
	DecidedAt    time.Time // when it was refunded or declined; zero: it is open
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Payments     []Payment // the newest first
}

// Waits reports whether a person has to decide.
func (r *Request) Waits() bool { return r.State == Requested && r.AskedAt.IsZero() }

// UnderWay reports whether the refund was asked for and has not ended.
func (r *Request) UnderWay() bool { return r.State == Requested && !r.AskedAt.IsZero() }

// Purchases returns the purchases that the request covers.
func (r *Request) Purchases() []int64 {
	ids := make([]int64, len(r.Payments))
	for i, p := range r.Payments {
		ids[i] = p.PurchaseID
	}
	return ids
}

// Total returns the amounts of the payments in words: one sum per currency.
func (r *Request) Total() string { return Total(r.Payments) }

// Total returns the sums of payments in words, one per currency.
func Total(list []Payment) string {
	sums := map[string]int64{}
	var order []string
	for _, p := range list {
		if _, known := sums[p.Currency]; !known {
			order = append(order, p.Currency)
		}
		sums[p.Currency] += p.Amount
	}
	texts := make([]string, len(order))
	for i, currency := range order {
		texts[i] = money.Text(sums[currency], currency)
	}
	return strings.Join(texts, " and ")
}

const columns = `id, license_id, license_key, redemption_id, partner_id, user_id, state, reason, answer, failure,
	asked_at, decided_at, created_at, updated_at`

func scan(r *sqldb.Row, q *Request) error {
	return r.Scan(
		&q.ID,
		&q.LicenseID,
		&q.LicenseKey,
		&q.RedemptionID,
		&q.PartnerID,
		&q.UserID,
		(*int)(&q.State),
		&q.Reason,
		&q.Answer,
		&q.Failure,
		&q.AskedAt,
		&q.DecidedAt,
		&q.CreatedAt,
		&q.UpdatedAt,
	)
}

// Subject returns the audit subject of a request.
func Subject(id int64) string { return "refund_request:" + strconv.FormatInt(id, 10) }

// Add stores a new request. The caller holds the partner's lock and has checked that the license
// has no open request.
func (s *Store) Add(ctx context.Context, tx *sqldb.Tx, by audit.Actor, r Request, at time.Time) (Request, error) {
	r.State = Requested
	r.CreatedAt = at
	r.UpdatedAt = at
	var err error
	r.ID, err = sqldb.One(
		ctx,
		tx,
		sqldb.Value[int64],
		`INSERT INTO refund_requests (license_id, license_key, redemption_id, partner_id, user_id, state, reason,
			answer, failure, asked_at, decided_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, '', '', $8, 0, $9, $9) RETURNING id`,
		r.LicenseID,
		r.LicenseKey,
		r.RedemptionID,
		r.PartnerID,
		r.UserID,
		int(r.State),
		r.Reason,
		r.AskedAt,
		at,
	)
	if err != nil {
		return r, fmt.Errorf("store a refund request: %w", err)
	}
	for _, p := range r.Payments {
		tx.Queue(
			`INSERT INTO refund_request_payments (request_id, checkout_id, purchase_id, item, amount, currency)
			VALUES ($1, $2, $3, $4, $5, $6)`,
			r.ID,
			p.CheckoutID,
			p.PurchaseID,
			p.Item,
			p.Amount,
			p.Currency,
		)
	}
	audit.Record(tx, at, by, "refund_request.create", Subject(r.ID), nil, audit.Facts{
		"partner_id": r.PartnerID, "license_key": r.LicenseKey, "amount": r.Total(),
	})
	return r, s.tellReceived(ctx, tx, r, at)
}

// save queues an update of the mutable columns.
func (r *Request) save(tx *sqldb.Tx, at time.Time) {
	r.UpdatedAt = at
	tx.Queue(
		`UPDATE refund_requests SET state = $2, answer = $3, failure = $4, asked_at = $5, decided_at = $6,
			updated_at = $7 WHERE id = $1`,
		r.ID,
		int(r.State),
		r.Answer,
		r.Failure,
		r.AskedAt,
		r.DecidedAt,
		r.UpdatedAt,
	)
}

func (r *Request) record(tx *sqldb.Tx, by audit.Actor, action string, before State) {
	audit.Record(tx, r.UpdatedAt, by, action, Subject(r.ID), audit.Facts{"state": before.String()}, audit.Facts{
		"state": r.State.String(), "partner_id": r.PartnerID, "license_key": r.LicenseKey, "amount": r.Total(),
	})
}

// Begin notes that the refund of a request is under way.
func (r *Request) Begin(tx *sqldb.Tx, by audit.Actor, at time.Time) {
	r.AskedAt = at
	r.Failure = ""
	r.save(tx, at)
	r.record(tx, by, "refund_request.refund", r.State)
}

// system is the audit actor of outcomes that the provider reports.
var system = audit.System("payment")

// Outcome is what a refund left of the license.
type Outcome struct {
	Ended bool   // the license no longer works
	Plan  string // the name of its plan
}

// Finish ends a request whose payments were all refunded.
func (s *Store) Finish(ctx context.Context, tx *sqldb.Tx, r Request, left Outcome, at time.Time) error {
	before := r.State
	r.State = Refunded
	r.Failure = ""
	r.DecidedAt = at
	r.save(tx, at)
	r.record(tx, system, "refund_request.refunded", before)
	return s.tellRefunded(ctx, tx, r, left, at)
}

// Fail returns a request to the queue, because its refund failed or was taken back.
func (s *Store) Fail(ctx context.Context, tx *sqldb.Tx, r Request, failure string, at time.Time) error {
	before := r.State
	r.State = Requested
	r.Failure = failure
	r.AskedAt = time.Time{}
	r.DecidedAt = time.Time{}
	r.save(tx, at)
	r.record(tx, system, "refund_request.failed", before)
	return s.tellFailed(ctx, tx, r, at)
}

// Decline refuses a request, with a reason for the buyer. Repeated with the same reason, it changes
// nothing.
func (s *Store) Decline(ctx context.Context, by audit.Actor, id int64, answer string) (Request, error) {
	var done Request
	err := s.Change(ctx, id, func(tx *sqldb.Tx, r Request) error {
		answer, err := checkAnswer(answer)
		switch {
		case err != nil:
			return err
		case r.State == Declined && r.Answer == answer:
			done = r
			return nil
		case r.State != Requested:
			return ErrDecided(r)
		case r.UnderWay():
			return fault.New(
				fault.Conflict,
				CodeRefunding,
				"The refund of this request is under way. Wait until it ends; if it fails, the request is here again.",
			)
		}
		at := s.Now()
		r.State = Declined
		r.Answer = answer
		r.DecidedAt = at
		r.save(tx, at)
		r.record(tx, by, "refund_request.decline", Requested)
		done = r
		return s.tellDeclined(ctx, tx, r, at)
	})
	if err != nil {
		return Request{}, fmt.Errorf("decline a refund request: %w", err)
	}
	return done, nil
}

// ErrDecided refuses an act on a request that has ended.
func ErrDecided(r Request) error {
	return fault.New(fault.Conflict, CodeDecided, "This request was %s before.", r.State)
}

func errUnknown(id int64) error {
	return fault.New(fault.Missing, CodeUnknown, "There is no refund request %d.", id)
}

// Erase removes the texts about a person: the reason, and the answer to it.
func Erase(tx *sqldb.Tx, userID int64) {
	tx.Queue(`UPDATE refund_requests SET reason = '', answer = '' WHERE user_id = $1`, userID)
}

// Get returns a request.
func (s *Store) Get(ctx context.Context, id int64) (Request, error) {
	r, err := sqldb.One(ctx, s.DB, scan, `SELECT `+columns+` FROM refund_requests WHERE id = $1`, id)
	if errors.Is(err, sqldb.ErrNone) {
		return r, errUnknown(id)
	}
	if err != nil {
		return r, fmt.Errorf("read refund request %d: %w", id, err)
	}
	list := []Request{r}
	err = addPayments(ctx, s.DB, list)
	return list[0], err
}

// Move queues the move of a user's requests to another user, in the transaction that merges the two.
func Move(tx *sqldb.Tx, from, into int64) {
	tx.Queue(`UPDATE refund_requests SET user_id = $2 WHERE user_id = $1`, from, into)
}
