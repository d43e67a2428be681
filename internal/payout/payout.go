// Package payout pays partners what the ledger owes them. A run reserves the payable balances of one
// currency; a person pays them at the bank, and settles the lines of the run with the answer of the bank.
// It owns the bank details of partners, the runs and their lines.
//
// Nothing is paid twice: a line is reserved under the lock of its partner, it leaves the payable balance
// in the same transaction, and it is settled once.
package payout

import (
	"encoding/json"
	"fmt"
	"time"

	"claviger/internal/accounting"
	"claviger/internal/ledger"
	"claviger/internal/mail"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Store makes and settles runs.
type Store struct {
	DB          *sqldb.DB
	Now         func() time.Time
	Sealer      *secret.Sealer
	Books       *accounting.Store // it must be up to date before a run
	Defaults    ledger.Defaults   // of partners without terms
	Mail        *mail.Outbox
	PublicURL   string
	Marketplace string
}

// RunState is the state of a run.
type RunState string

// The states of a run. Its lines decide it.
const (
	Prepared RunState = "prepared" // nothing was sent to the bank
	Paying   RunState = "paying"
	Done     RunState = "paid"   // every line is paid or released
	Failed   RunState = "failed" // every line is released
)

// LineState is the state of a line.
type LineState string

// The states of a line.
const (
	Reserved   LineState = "reserved"
	Sent       LineState = "sent"
	Paid       LineState = "paid"
	LineFailed LineState = "failed"   // the bank did not pay; the amount is still reserved
	Released   LineState = "released" // the amount is payable again
)

// Run is a payout run.
type Run struct {
	ID        int64
	Currency  string
	State     RunState
	Lines     int64 // their number
	Amount    int64 // their sum
	LeftOut   []LeftOut
	CreatedAt time.Time
	UpdatedAt time.Time
}

// LeftOut is a partner without a line in a run.
type LeftOut struct {
	PartnerID int64
	Amount    int64 // the payable balance
	Reason    Reason
}

const runColumns = `id, currency, state, lines, amount, left_out, created_at, updated_at`

func scanRun(r *sqldb.Row, run *Run) error {
	var left string
	err := r.Scan(&run.ID, &run.Currency, (*string)(&run.State), &run.Lines, &run.Amount, &left, &run.CreatedAt,
		&run.UpdatedAt)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(left), &run.LeftOut); err != nil {
		return fmt.Errorf("read the partners that run %d left out: %w", run.ID, err)
	}
	return nil
}

// Line is the payout of one partner in a run.
type Line struct {
	RunID         int64
	PartnerID     int64
	Currency      string
	Amount        int64
	State         LineState
	Reference     string // ours, for the bank
	DetailsID     int64
	BankReference string // once it is paid
	Reason        string // why it failed or was released
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

const lineColumns = `run_id, partner_id, currency, amount, state, reference, details_id, bank_reference, reason,
	created_at, updated_at`

func scanLine(r *sqldb.Row, l *Line) error {
	return r.Scan(&l.RunID, &l.PartnerID, &l.Currency, &l.Amount, (*string)(&l.State), &l.Reference, &l.DetailsID,
		&l.BankReference, &l.Reason, &l.CreatedAt, &l.UpdatedAt)
}

// final reports whether the line is settled.
func (l Line) final() bool { return l.State == Paid || l.State == Released }
