package payment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Names of the provider's fields for evidence.
const (
	ProductDescription = "product_description"
	CustomerEmail      = "customer_email_address"
	CustomerName       = "customer_name"
	ServiceDate        = "service_date"
	ActivityLog        = "access_activity_log"
	RefundPolicy       = "refund_policy_disclosure"
	OtherText          = "uncategorized_text"
)

// EvidenceFields lists the fields that are sent.
var EvidenceFields = []string{
	ProductDescription, CustomerEmail, CustomerName, ServiceDate, ActivityLog, RefundPolicy, OtherText,
}

// MaxEvidence is the number of characters that the provider accepts in all fields together.
const MaxEvidence = 150_000

// Evidence has the text of each field.
type Evidence map[string]string

// valid refuses evidence that the provider would refuse.
func (e Evidence) valid() error {
	n := 0
	for _, name := range EvidenceFields {
		n += utf8.RuneCountInString(e[name])
	}
	switch {
	case n == 0:
		return fault.New(fault.Unprocessable, codeEvidenceEmpty, "The evidence is empty. Fill in at least one field.")
	case n > MaxEvidence:
		return fault.New(fault.Unprocessable, codeEvidenceTooLong,
			"The evidence has %d characters. Stripe accepts %d in all fields together; shorten it.", n, MaxEvidence)
	}
	return nil
}

// trimmed returns the fields without other names, and with plain line ends.
func (e Evidence) trimmed() Evidence {
	out := Evidence{}
	for _, name := range EvidenceFields {
		out[name] = strings.TrimSpace(strings.ReplaceAll(e[name], "\r\n", "\n"))
	}
	return out
}

// EvidenceState is the state of a dispute's evidence.
type EvidenceState int

// The states of evidence.
const (
	EvidenceDraft   EvidenceState = iota + 1
	EvidenceAsked                 // an operator sent it; the job is sending it
	EvidenceSent                  // the provider has it
	EvidenceRefused               // the provider refused it; it can be edited and sent again
)

// SavedEvidence is the evidence that an operator edited or sent. The zero value: none.
type SavedEvidence struct {
	DisputeID string
	State     EvidenceState
	Texts     Evidence
	Failure   string // why it was refused, or is not sent yet
	CreatedAt time.Time
	UpdatedAt time.Time
	AskedAt   time.Time
	SentAt    time.Time

	Erased bool // the buyer was erased, and the texts with them

	round  int
	before int // submissions when it was to be sent
	nextAt time.Time
}

// Kept reports whether there are texts of an operator.
func (s *SavedEvidence) Kept() bool { return s.State != 0 && !s.Erased }

var evidenceColumns = `dispute_id, erased, state, round, submitted_before, failure, created_at, updated_at, asked_at,
	sent_at, next_at, ` + strings.Join(EvidenceFields, ", ")

func scanEvidence(r *sqldb.Row, s *SavedEvidence) error {
	into := []any{
		&s.DisputeID, &s.Erased, (*int)(&s.State), &s.round, &s.before, &s.Failure, &s.CreatedAt, &s.UpdatedAt,
		&s.AskedAt, &s.SentAt, &s.nextAt,
	}
	texts := make([]string, len(EvidenceFields))
	for i := range texts {
		into = append(into, &texts[i])
	}
	if err := r.Scan(into...); err != nil {
		return err
	}
	s.Texts = Evidence{}
	for i, name := range EvidenceFields {
		s.Texts[name] = texts[i]
	}
	return nil
}

func (s *SavedEvidence) save(tx *sqldb.Tx) {
	args := []any{
		s.DisputeID, s.Erased, int(s.State), s.round, s.before, s.Failure, s.CreatedAt, s.UpdatedAt, s.AskedAt,
		s.SentAt, s.nextAt,
	}
	var set []string
	for _, name := range EvidenceFields {
		args = append(args, s.Texts[name])
		set = append(set, name+" = excluded."+name)
	}
	tx.Queue(`INSERT INTO payment_evidence (`+evidenceColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		ON CONFLICT (dispute_id) DO UPDATE SET erased = excluded.erased, state = excluded.state,
			round = excluded.round, submitted_before = excluded.submitted_before, failure = excluded.failure,
			updated_at = excluded.updated_at, asked_at = excluded.asked_at, sent_at = excluded.sent_at,
			next_at = excluded.next_at, `+strings.Join(set, ", "), args...)
}

// readEvidence returns the saved evidence of a dispute, the zero value if there is none.
func readEvidence(ctx context.Context, r sqldb.Reader, id string) (SavedEvidence, error) {
	s, err := sqldb.One(
		ctx, r, scanEvidence, `SELECT `+evidenceColumns+` FROM payment_evidence WHERE dispute_id = $1`, id,
	)
	if errors.Is(err, sqldb.ErrNone) {
		return SavedEvidence{}, nil
	}
	return s, err
}

// reopenEvidence makes evidence a draft again.
func reopenEvidence(tx *sqldb.Tx, id string, now time.Time) {
	tx.Queue(`UPDATE payment_evidence SET state = $2, round = round + 1, next_at = 0, updated_at = $3
		WHERE dispute_id = $1`, id, int(EvidenceDraft), now)
}

// SaveEvidence stores an operator's draft. It sends nothing.
func (b *Store) SaveEvidence(ctx context.Context, by audit.Actor, id string, e Evidence) error {
	return b.changeEvidence(ctx, id, e, func(w *work, s *SavedEvidence) error {
		if s.State == EvidenceAsked {
			return ErrSending()
		}
		s.State = EvidenceDraft
		audit.Record(w.tx, w.now, by, "payment.evidence_draft", "dispute:"+id, nil, nil)
		return nil
	})
}

// SendEvidence stores that evidence is to be sent, and makes the job send it. A repeat while it is on
// its way changes nothing.
func (b *Store) SendEvidence(ctx context.Context, by audit.Actor, id string, e Evidence) error {
	if b.Stripe == nil {
		return fault.New(fault.Conflict, codeNotPaidHere, "This marketplace takes no payments by Stripe.")
	}
	d, err := b.Dispute(ctx, id)
	if err != nil {
		return err
	}
	if err := b.askDispute(ctx, d.Dispute); err != nil {
		// The job asks again before it sends anything.
		b.Log.Warn("Stripe gave no answer about a dispute; its stored state counts for now", "dispute", id, "err", err)
	}
	err = b.changeEvidence(ctx, id, e, func(w *work, s *SavedEvidence) error {
		if s.State == EvidenceAsked {
			return errRepeated
		}
		d, _ := w.disputeByID(id)
		s.State = EvidenceAsked
		s.Failure = ""
		s.round++
		s.before = d.Submissions
		s.AskedAt = w.now
		s.nextAt = w.now
		audit.Record(w.tx, w.now, by, "payment.evidence", "dispute:"+id, nil, nil)
		return nil
	})
	if err == nil || errors.Is(err, errRepeated) {
		b.wake()
		return nil
	}
	return err
}

// errRepeated ends a transaction because the evidence is already on its way.
var errRepeated = errors.New("the evidence is already on its way")

// ErrSending is the refusal of a change of evidence that is on its way.
func ErrSending() error {
	return fault.New(fault.Conflict, codeEvidenceSending, "The evidence is on its way to Stripe, and can't be changed.")
}

// changeEvidence stores the texts of a dispute that still accepts evidence, after change.
func (b *Store) changeEvidence(
	ctx context.Context, id string, e Evidence, change func(*work, *SavedEvidence) error,
) error {
	e = e.trimmed()
	if err := e.valid(); err != nil {
		return err
	}
	d, err := b.Dispute(ctx, id)
	if err != nil {
		return err
	}
	return b.change(ctx, d.Checkout, func(w *work) error {
		now, known := w.disputeByID(id)
		saved, err := readEvidence(ctx, w.tx, id)
		switch {
		case err != nil:
			return err
		case !known: // it is read by its checkout, which never changes
			return fmt.Errorf("dispute %s is not there", id)
		case saved.State != EvidenceAsked: // a repeated press finds it on its way, whatever else is true
			err = (&DisputeDetail{Dispute: *now}).Closed(w.now)
		}
		if err == nil {
			err = change(w, &saved)
		}
		if err != nil {
			return err
		}
		saved.DisputeID = id
		saved.Erased = false
		saved.Texts = e
		saved.UpdatedAt = w.now
		if saved.CreatedAt.IsZero() {
			saved.CreatedAt = w.now
		}
		saved.save(w.tx)
		return nil
	})
}
