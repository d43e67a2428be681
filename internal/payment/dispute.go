package payment

import (
	"slices"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// Dispute is a buyer's request to their bank for the money back.
type Dispute struct {
	ID          string // the provider's
	CheckoutID  int64
	ChargeID    string
	Amount      int64
	Currency    string
	Status      string    // the provider's word
	Reason      string    // likewise, such as fraudulent
	DueBy       time.Time // deadline for evidence; zero: none is known
	HasEvidence bool      // the provider has evidence, which may be only a draft
	PastDue     bool      // the provider says that the deadline has passed
	Submissions int       // of evidence, by anyone
	CreatedAt   time.Time
	UpdatedAt   time.Time

	held       bool      // its hold is in force
	tries      int       // failed polls in a row
	earlier    int       // submissions to the inquiry that it was
	toldAt     time.Time // when operators were emailed that it opened
	remindedAt time.Time // likewise about its deadline
	nextAt     time.Time
}

const disputeColumns = `provider_id, checkout_id, amount, currency, status, held, tries, created_at, updated_at,
	next_at, charge_id, reason, due_by, has_evidence, past_due, submissions, earlier_submissions, told_at, reminded_at`

func scanDispute(r *sqldb.Row, d *Dispute) error { return r.Scan(d.into()...) }

// into returns the targets of disputeColumns.
func (d *Dispute) into() []any {
	return []any{
		&d.ID, &d.CheckoutID, &d.Amount, &d.Currency, &d.Status, &d.held, &d.tries, &d.CreatedAt, &d.UpdatedAt,
		&d.nextAt, &d.ChargeID, &d.Reason, &d.DueBy, &d.HasEvidence, &d.PastDue, &d.Submissions, &d.earlier,
		&d.toldAt, &d.remindedAt,
	}
}

func (d *Dispute) save(tx *sqldb.Tx, now time.Time) {
	d.UpdatedAt = now
	if d.Ended() {
		d.nextAt = time.Time{}
	}
	tx.Queue(`INSERT INTO payment_disputes (`+disputeColumns+`, posted_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
			$10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $9)
		ON CONFLICT (provider_id)
		DO UPDATE SET amount = excluded.amount, currency = excluded.currency, status = excluded.status,
			held = excluded.held, tries = excluded.tries, updated_at = excluded.updated_at,
			posted_at = excluded.updated_at, next_at = excluded.next_at,
			charge_id = excluded.charge_id, reason = excluded.reason, due_by = excluded.due_by,
			has_evidence = excluded.has_evidence, past_due = excluded.past_due, submissions = excluded.submissions,
			earlier_submissions = excluded.earlier_submissions, told_at = excluded.told_at,
			reminded_at = excluded.reminded_at`,
		d.ID, d.CheckoutID, d.Amount, d.Currency, d.Status, d.held, d.tries, d.CreatedAt, d.UpdatedAt, d.nextAt,
		d.ChargeID, d.Reason, d.DueBy, d.HasEvidence, d.PastDue, d.Submissions, d.earlier, d.toldAt, d.remindedAt)
}

// The provider's words for disputes and inquiries that are open.
const (
	needsResponse        = "needs_response"
	underReview          = "under_review"
	inquiryNeedsResponse = "warning_needs_response"
	inquiryUnderReview   = "warning_under_review"
)

// inquiryPrefix begins each status of an inquiry, also of an ended one.
const inquiryPrefix = "warning_"

// isOpen is the condition of the partial index of open disputes and inquiries.
const isOpen = `status IN ('` + needsResponse + `', '` + underReview + `', '` + inquiryNeedsResponse + `', '` +
	inquiryUnderReview + `')`

// isUnanswered selects, of the open ones, those that Unanswered reports.
const isUnanswered = isOpen + ` AND status IN ('` + needsResponse + `', '` + inquiryNeedsResponse + `')
	AND submissions <= earlier_submissions`

// holds reports whether the dispute blocks the license. An inquiry does not.
func (d *Dispute) holds() bool { return d.Status == needsResponse || d.Status == underReview }

// lost reports whether the buyer got the money back.
func (d *Dispute) lost() bool { return d.Status == "lost" || d.Status == prevented }

// prevented is the provider's word for a dispute that it ended by a refund.
const prevented = "prevented"

// Inquiry reports whether the bank only asks a question.
func (d *Dispute) Inquiry() bool {
	return slices.Contains([]string{inquiryNeedsResponse, inquiryUnderReview}, d.Status)
}

// Ended reports whether the status is final, as far as any is.
func (d *Dispute) Ended() bool { return !d.holds() && !d.Inquiry() }

// Submitted reports whether the bank has evidence. Evidence for the inquiry that a dispute was does
// not count.
func (d *Dispute) Submitted() bool {
	return d.Submissions > d.earlier || d.Status == underReview || d.Status == inquiryUnderReview
}

// Unanswered reports whether the bank waits for evidence.
func (d *Dispute) Unanswered() bool { return !d.Ended() && !d.Submitted() }

// overdue reports whether the deadline has passed.
func (d *Dispute) overdue(now time.Time) bool {
	return d.PastDue || !d.DueBy.IsZero() && !now.Before(d.DueBy)
}

func (w *work) disputeByID(id string) (*Dispute, bool) {
	for _, d := range w.disputes {
		if d.ID == id {
			return d, true
		}
	}
	return nil, false
}

// askDisputes is the interval at which open disputes are polled.
const askDisputes = 6 * time.Hour

// mergeDispute stores the provider's current state of a dispute.
func (w *work) mergeDispute(f disputeFact) {
	d, known := w.disputeByID(f.id)
	if !known {
		d = &Dispute{ID: f.id, CheckoutID: w.ID, CreatedAt: w.now}
		w.disputes = append(w.disputes, d)
	}
	wasInquiry := strings.HasPrefix(d.Status, inquiryPrefix)
	before := d.Submissions
	d.apply(f, w.now)
	if wasInquiry && d.holds() {
		w.escalated(d, before)
	}
	w.addFees(f)
	w.nameCharge(f.intent, f.charge)
	closeProblem(w.tx, NotAnswered, d.ID, w.now)
	if d.Inquiry() {
		w.problem(InquiryOpened, d.ID, w.IntentID, d.Amount, d.Currency)
	} else {
		closeProblem(w.tx, InquiryOpened, d.ID, w.now)
	}
}

func (d *Dispute) apply(f disputeFact, now time.Time) {
	d.Status = f.status
	d.Amount = f.amount
	d.Currency = f.currency
	d.ChargeID = f.charge
	d.Reason = f.reason
	d.DueBy = f.dueBy
	d.HasEvidence = f.hasEvidence
	d.PastDue = f.pastDue
	d.Submissions = f.submissions
	d.tries = 0
	d.nextAt = now.Add(askDisputes)
}

// escalated starts a dispute that was an inquiry: it has a deadline of its own, operators are
// emailed again, and the evidence for the inquiry can be edited and sent for the dispute.
func (w *work) escalated(d *Dispute, submissions int) {
	d.earlier = submissions
	d.toldAt = time.Time{}
	d.remindedAt = time.Time{}
	reopenEvidence(w.tx, d.ID, w.now)
}
