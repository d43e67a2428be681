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

// stored is the posted state of a sale: its row, with its refunds, disputes and fees.
type stored struct {
	Sale
	purchaseID int64
	partnerID  int64
	tier       int
	soldAt     time.Time
	dueAt      time.Time // it becomes payable at this time
	lookAt     time.Time // next check whether it is payable; zero: none
	feeLookAt  time.Time // next request for the fee of the payment; zero: none
	turns      int       // number of postings that have no source outside the ledger
	isNew      bool
	changed    bool
	facts      map[string]*fact // by name
	newFees    []Fee
}

const storedColumns = `purchase_id, partner_id, tier, gross, currency, collected, back, disputed, share_bp, bears,
	payable, settled, turns, sold_at, due_at, look_at, fee_look_at`

func scanStored(r *sqldb.Row, s *stored) error {
	var d Division
	var settled int64
	err := r.Scan(&s.purchaseID, &s.partnerID, &s.tier, &s.Gross, &s.Currency, (*string)(&s.Collected), &s.Back,
		&s.Disputed, &d.ShareBP, (*string)(&d.Bears), &s.Payable, &settled, &s.turns, &s.soldAt, &s.dueAt, &s.lookAt,
		&s.feeLookAt)
	if d.ShareBP != undivided {
		s.Division = &d
	}
	if settled != notSettled {
		s.Settled = &settled
	}
	return err
}

// readStored reads the posted purchases of a partner, of those named, in one round trip.
func readStored(ctx context.Context, tx *sqldb.Tx, partnerID int64, purchases []int64) ([]*stored, error) {
	sales := sqldb.QueueQuery(tx, scanStored, `SELECT `+storedColumns+` FROM ledger_sales
		WHERE purchase_id = ANY($1) AND partner_id = $2 ORDER BY purchase_id`, purchases, partnerID)
	facts := sqldb.QueueQuery(tx, scanFact, `SELECT purchase_id, source, state, amount, turns FROM ledger_facts
		WHERE purchase_id = ANY($1)`, purchases)
	fees := sqldb.QueueQuery(tx, scanFee, `SELECT purchase_id, source, amount, currency, num, den, dispute, at
		FROM ledger_fees WHERE purchase_id = ANY($1) ORDER BY purchase_id, source`, purchases)
	rows, err := sales.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read posted purchases: %w", err)
	}
	list := make([]*stored, len(rows))
	of := make(map[int64]*stored, len(rows))
	for i := range rows {
		list[i] = &rows[i]
		list[i].facts = map[string]*fact{}
		of[rows[i].purchaseID] = list[i]
	}
	known, err := facts.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the posted refunds and disputes of purchases: %w", err)
	}
	for i, f := range known {
		if s := of[f.purchaseID]; s != nil {
			s.facts[f.source] = &known[i]
		}
	}
	taken, err := fees.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the posted fees of purchases: %w", err)
	}
	for _, f := range taken {
		if s := of[f.purchaseID]; s != nil {
			s.Fees = append(s.Fees, f.Fee)
		}
	}
	return list, nil
}

// division returns the columns of the division and of the settlement.
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

// saveStored queues the rows of sales, and of their new fees, refunds and disputes.
func saveStored(tx *sqldb.Tx, list []*stored) {
	var rows, fees [][]any
	for _, s := range list {
		share, bears, settled := s.division()
		if s.isNew {
			rows = append(rows, []any{
				s.purchaseID, s.partnerID, s.tier, s.Gross, s.Currency, string(s.Collected), s.Back, s.Disputed, share,
				bears, s.Payable, settled, s.turns, s.soldAt, s.dueAt, s.lookAt, s.feeLookAt,
			})
		} else {
			tx.Queue(`UPDATE ledger_sales SET back = $2, disputed = $3, share_bp = $4, bears = $5, payable = $6,
				settled = $7, turns = $8, due_at = $9, look_at = $10, fee_look_at = $11 WHERE purchase_id = $1`,
				s.purchaseID, s.Back, s.Disputed, share, bears, s.Payable, settled, s.turns, s.dueAt, s.lookAt,
				s.feeLookAt)
		}
		for _, f := range s.newFees {
			fees = append(fees, []any{
				s.purchaseID, f.Source, f.Amount, f.Currency, f.Rate.Num, f.Rate.Den, f.Dispute, f.At,
			})
		}
	}
	tx.Insert("ledger_sales", []string{
		"purchase_id", "partner_id", "tier", "gross", "currency", "collected", "back", "disputed", "share_bp", "bears",
		"payable", "settled", "turns", "sold_at", "due_at", "look_at", "fee_look_at",
	}, rows)
	tx.Insert("ledger_fees", []string{
		"purchase_id", "source", "amount", "currency", "num", "den", "dispute", "at",
	}, fees)
	for _, s := range list {
		for _, f := range s.facts {
			if f.changed {
				f.save(tx, s.purchaseID)
			}
		}
	}
}

// fact is a refund or a dispute as it is posted.
type fact struct {
	purchaseID int64
	source     string
	state      State
	amount     int64
	turns      int // postings about it
	changed    bool
}

func scanFact(r *sqldb.Row, f *fact) error {
	return r.Scan(&f.purchaseID, &f.source, (*int)(&f.state), &f.amount, &f.turns)
}

// save queues the row of a fact.
func (f *fact) save(tx *sqldb.Tx, purchaseID int64) {
	tx.Queue(`INSERT INTO ledger_facts (purchase_id, source, state, amount, turns) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (purchase_id, source) DO UPDATE
		SET state = excluded.state, amount = excluded.amount, turns = excluded.turns`,
		purchaseID, f.source, int(f.state), f.amount, f.turns)
}

// storedFee is the row of a fee.
type storedFee struct {
	Fee
	purchaseID int64
}

func scanFee(r *sqldb.Row, f *storedFee) error {
	return r.Scan(&f.purchaseID, &f.Source, &f.Amount, &f.Currency, &f.Rate.Num, &f.Rate.Den, &f.Dispute, &f.At)
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
