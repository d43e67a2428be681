package payment

import (
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// Dispute is a buyer's request to their bank for the money back.
type Dispute struct {
	ID         string // the provider's
	CheckoutID int64
	Amount     int64
	Currency   string
	Status     string // the provider's word
	CreatedAt  time.Time
	UpdatedAt  time.Time

	held   bool // its hold is in force
	tries  int  // failed polls in a row
	nextAt time.Time
}

const disputeColumns = `provider_id, checkout_id, amount, currency, status, held, tries, created_at, updated_at,
	next_at`

func scanDispute(r *sqldb.Row, d *Dispute) error {
	return r.Scan(
		&d.ID,
		&d.CheckoutID,
		&d.Amount,
		&d.Currency,
		&d.Status,
		&d.held,
		&d.tries,
		&d.CreatedAt,
		&d.UpdatedAt,
		&d.nextAt,
	)
}

func (d *Dispute) save(tx *sqldb.Tx, now time.Time) {
	d.UpdatedAt = now
	if d.Ended() {
		d.nextAt = time.Time{}
	}
	tx.Queue(`INSERT INTO payment_disputes (`+disputeColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (provider_id)
		DO UPDATE SET amount = excluded.amount, currency = excluded.currency, status = excluded.status,
			held = excluded.held, tries = excluded.tries, updated_at = excluded.updated_at, next_at = excluded.next_at`,
		d.ID, d.CheckoutID, d.Amount, d.Currency, d.Status, d.held, d.tries, d.CreatedAt, d.UpdatedAt, d.nextAt)
}

// holds reports whether the dispute blocks the license. An inquiry does not.
func (d *Dispute) holds() bool { return d.Status == "needs_response" || d.Status == "under_review" }

// lost reports whether the buyer got the money back.
func (d *Dispute) lost() bool { return d.Status == "lost" || d.Status == "prevented" }

// Inquiry reports whether the bank only asks a question.
func (d *Dispute) Inquiry() bool {
	return slices.Contains([]string{"warning_needs_response", "warning_under_review"}, d.Status)
}

// Ended reports whether the status is final, as far as any is.
func (d *Dispute) Ended() bool { return !d.holds() && !d.Inquiry() }

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
	d.Status = f.status
	d.Amount = f.amount
	d.Currency = f.currency
	d.tries = 0
	d.nextAt = w.now.Add(askDisputes)
	w.nameCharge(f.intent, f.charge)
	closeProblem(w.tx, NotAnswered, d.ID, w.now)
	if d.Inquiry() {
		w.problem(InquiryOpened, d.ID, w.IntentID, d.Amount, d.Currency)
	} else {
		closeProblem(w.tx, InquiryOpened, d.ID, w.now)
	}
}
