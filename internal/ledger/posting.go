package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Kind is the kind of a posting.
type Kind string

// The kinds.
const (
	Sold           Kind = "sale"
	FeeTaken       Kind = "fee"
	Refunded       Kind = "refund"
	RefundFailed   Kind = "refund_failed" // the money came back, and the sale counts again
	DisputeOpened  Kind = "dispute_opened"
	DisputeWon     Kind = "dispute_won"
	DisputeLost    Kind = "dispute_lost"
	BecamePayable  Kind = "payable"
	WasDivided     Kind = "divided" // sales from before the first terms
	WasSettled     Kind = "settled" // outside the ledger
	NotSettled     Kind = "unsettled"
	Adjustment     Kind = "adjustment"
	PayoutReserved Kind = "payout_reserved"
	PayoutPaid     Kind = "payout_paid"
	PayoutReleased Kind = "payout_released"
)

// Posting is a row of the ledger. Its lines sum to zero in each currency.
type Posting struct {
	ID         int64
	PartnerID  int64
	Kind       Kind
	Source     string // the fact; it has one posting of a kind
	PurchaseID int64  // 0: none
	Tier       int    // of the purchase
	Gross      int64  // change of the buyers' payments
	Currency   string
	Lines      []Balance
	Parts      Parts     // changes of them
	Reason     string    // of an adjustment
	At         time.Time // of the fact
	CreatedAt  time.Time
}

const postingColumns = `id, partner_id, kind, source, purchase_id, tier, gross, currency, lines, share, borne,
	undivided, reason, at, created_at`

func scanPosting(r *sqldb.Row, p *Posting) error {
	var lines string
	err := r.Scan(&p.ID, &p.PartnerID, (*string)(&p.Kind), &p.Source, &p.PurchaseID, &p.Tier, &p.Gross, &p.Currency,
		&lines, &p.Parts.Share, &p.Parts.Borne, &p.Parts.Undivided, &p.Reason, &p.At, &p.CreatedAt)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(lines), &p.Lines); err != nil {
		return fmt.Errorf("read the lines of posting %d: %w", p.ID, err)
	}
	return nil
}

// insertPostings queues the rows of postings.
func insertPostings(tx *sqldb.Tx, list []Posting) error {
	rows := make([][]any, len(list))
	for i, p := range list {
		lines, err := json.Marshal(p.Lines)
		if err != nil {
			return err
		}
		rows[i] = []any{
			p.PartnerID, string(p.Kind), p.Source, p.PurchaseID, p.Tier, p.Gross, p.Currency, string(lines),
			p.Parts.Share, p.Parts.Borne, p.Parts.Undivided, p.Reason, p.At, p.CreatedAt,
		}
	}
	sqldb.MarkRows(tx, "ledger_postings")
	tx.Insert("ledger_postings", []string{
		"partner_id", "kind", "source", "purchase_id", "tier", "gross", "currency", "lines", "share", "borne",
		"undivided", "reason", "at", "created_at",
	}, rows)
	return nil
}
