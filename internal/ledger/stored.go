package ledger

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// undivided, as a stored share, means that the sale is not divided; notSettled that it is not
// settled.
const (
	undivided  = -1
	notSettled = -1
)

// stored is the row of a sale: its state as it is posted.
type stored struct {
	Sale
	purchaseID int64
	partnerID  int64
	tier       int
	soldAt     time.Time
	dueAt      time.Time // when it becomes payable
	lookAt     time.Time // when that is looked at, or again; zero: never
	isNew      bool
}

const storedColumns = `purchase_id, partner_id, tier, gross, currency, collected, back, disputed, fee, fee_currency,
	fee_in_sale, share_bp, bears, payable, settled, sold_at, due_at, look_at`

func scanStored(r *sqldb.Row, s *stored) error {
	var d Division
	var settled int64
	err := r.Scan(&s.purchaseID, &s.partnerID, &s.tier, &s.Gross, &s.Currency, (*string)(&s.Collected), &s.Back,
		&s.Disputed, &s.Fee.Amount, &s.Fee.Currency, &s.Fee.InSale, &d.ShareBP, (*string)(&d.Bears), &s.Payable,
		&settled, &s.soldAt, &s.dueAt, &s.lookAt)
	if d.ShareBP != undivided {
		s.Division = &d
	}
	if settled != notSettled {
		s.Settled = &settled
	}
	return err
}

// division returns the columns of how the sale is divided, and of its settlement.
func (s *stored) division() (share int64, bears string, settled int64) {
	share = undivided
	settled = notSettled
	if s.Division != nil {
		share = s.Division.ShareBP
		bears = string(s.Division.Bears)
	}
	if s.Settled != nil {
		settled = *s.Settled
	}
	return share, bears, settled
}

// saveStored queues the rows of sales.
func saveStored(tx *sqldb.Tx, list []*stored) {
	var rows [][]any
	for _, s := range list {
		share, bears, settled := s.division()
		if s.isNew {
			rows = append(rows, []any{
				s.purchaseID, s.partnerID, s.tier, s.Gross, s.Currency, string(s.Collected), s.Back, s.Disputed,
				s.Fee.Amount, s.Fee.Currency, s.Fee.InSale, share, bears, s.Payable, settled, s.soldAt, s.dueAt,
				s.lookAt,
			})
			continue
		}
		tx.Queue(`UPDATE ledger_sales SET back = $2, disputed = $3, fee = $4, fee_currency = $5, fee_in_sale = $6,
			share_bp = $7, bears = $8, payable = $9, settled = $10, due_at = $11, look_at = $12 WHERE purchase_id = $1`,
			s.purchaseID, s.Back, s.Disputed, s.Fee.Amount, s.Fee.Currency, s.Fee.InSale, share, bears, s.Payable,
			settled, s.dueAt, s.lookAt)
	}
	tx.Insert("ledger_sales", []string{
		"purchase_id", "partner_id", "tier", "gross", "currency", "collected", "back", "disputed", "fee",
		"fee_currency", "fee_in_sale", "share_bp", "bears", "payable", "settled", "sold_at", "due_at", "look_at",
	}, rows)
}

// fact is a refund or a dispute as it is posted.
type fact struct {
	source string
	state  State
	amount int64
	turns  int // postings about it
}

func scanFact(r *sqldb.Row, f *fact) error {
	return r.Scan(&f.source, (*int)(&f.state), &f.amount, &f.turns)
}

// readFacts returns the posted facts of a sale by their names.
func readFacts(ctx context.Context, tx *sqldb.Tx, purchaseID int64) (map[string]*fact, error) {
	list, err := sqldb.All(ctx, tx, scanFact, `SELECT source, state, amount, turns FROM ledger_facts
		WHERE purchase_id = $1`, purchaseID)
	if err != nil {
		return nil, fmt.Errorf("read what is posted of purchase %d: %w", purchaseID, err)
	}
	facts := make(map[string]*fact, len(list))
	for i := range list {
		facts[list[i].source] = &list[i]
	}
	return facts, nil
}

// save queues the row of a fact.
func (f *fact) save(tx *sqldb.Tx, purchaseID int64) {
	tx.Queue(`INSERT INTO ledger_facts (purchase_id, source, state, amount, turns) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (purchase_id, source) DO UPDATE
		SET state = excluded.state, amount = excluded.amount, turns = excluded.turns`,
		purchaseID, f.source, int(f.state), f.amount, f.turns)
}

// addBalances queues the changes of balances.
func addBalances(tx *sqldb.Tx, partnerID int64, changes balances) {
	for _, c := range changes.written() {
		tx.Queue(`INSERT INTO ledger_balances (partner_id, account, currency, amount) VALUES ($1, $2, $3, $4)
			ON CONFLICT (partner_id, account, currency) DO UPDATE
			SET amount = ledger_balances.amount + excluded.amount`,
			partnerID, string(c.Account), c.Currency, c.Amount)
	}
}
