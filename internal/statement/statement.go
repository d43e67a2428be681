// Package statement writes the monthly statements of partners. It owns the tables statements and
// statement_months.
//
// A statement is about one partner, one month and one currency. Its balance is the amount that the
// marketplace owes to the partner: open disputes reduce it, and money that becomes payable does not
// change it.
//
// A statement covers a range of the ids of postings. Transactions that post hold the lock of the partner,
// so ids are in the order of commits, and a closed statement never changes: a posting that commits
// after the closing is in the open month, also if its fact is from an earlier one.
package statement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
)

// Store closes months and reads statements.
type Store struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Zone     *time.Location // of the marketplace; months begin and end in it
	Defaults ledger.Defaults
	Log      *slog.Logger

	// Mail is the queue of emails about new statements; nil: none are written.
	Mail        *mail.Outbox
	Marketplace string // its name in emails
	PublicURL   string // of the portal, without a trailing slash

	running cache
}

// Sums are the changes of the owed amount in a month, by their reason. Changes that reduce it are negative.
type Sums struct {
	Sales       int64
	Settled     int64 // outside the ledger
	Refunds     int64
	Disputes    int64
	Fees        int64 // that the partner bears
	Adjustments int64
	Payouts     int64
}

// Total returns the change of the owed amount.
func (s Sums) Total() int64 {
	return s.Sales + s.Settled + s.Refunds + s.Disputes + s.Fees + s.Adjustments + s.Payouts
}

// add adds a change by the kind of its posting.
func (s *Sums) add(kind ledger.Kind, change int64) {
	switch kind {
	case ledger.Sold, ledger.WasDivided:
		s.Sales += change
	case ledger.WasSettled, ledger.NotSettled:
		s.Settled += change
	case ledger.Refunded, ledger.RefundFailed:
		s.Refunds += change
	case ledger.DisputeOpened, ledger.DisputeWon, ledger.DisputeLost:
		s.Disputes += change
	case ledger.FeeTaken:
		s.Fees += change
	case ledger.PayoutReserved, ledger.PayoutPaid, ledger.PayoutReleased:
		s.Payouts += change
	case ledger.Adjustment, ledger.BecamePayable:
		s.Adjustments += change
	default: // of a later version: the balance must be right
		s.Adjustments += change
	}
}

// Statement is the statement of a month in one currency. The closing amount is the opening one and all
// changes.
type Statement struct {
	PartnerID int64
	Number    int64 // 1, 2, 3 … of the partner; 0: the month is open
	Currency  string
	Month     Month
	BeginsAt  time.Time
	EndsAt    time.Time
	First     int64 // the range of ids of its postings
	Last      int64
	Opening   int64
	Sums
	Closing   int64
	CreatedAt time.Time
}

// Span returns the postings of the statement.
func (s Statement) Span() ledger.Span {
	return ledger.Span{PartnerID: s.PartnerID, Currency: s.Currency, First: s.First, Last: s.Last}
}

const columns = `partner_id, number, currency, month, begins_at, ends_at, first_posting, last_posting, opening, sales,
	settled, refunds, disputes, fees, adjustments, payouts, closing, created_at`

func scan(r *sqldb.Row, s *Statement) error {
	return r.Scan(
		&s.PartnerID,
		&s.Number,
		&s.Currency,
		(*int)(&s.Month),
		&s.BeginsAt,
		&s.EndsAt,
		&s.First,
		&s.Last,
		&s.Opening,
		&s.Sales,
		&s.Settled,
		&s.Refunds,
		&s.Disputes,
		&s.Fees,
		&s.Adjustments,
		&s.Payouts,
		&s.Closing,
		&s.CreatedAt,
	)
}

// insert queues the rows of new statements.
func insert(tx *sqldb.Tx, list []Statement) {
	rows := make([][]any, len(list))
	for i, s := range list {
		rows[i] = []any{
			s.PartnerID, s.Number, s.Currency, int(s.Month), s.BeginsAt, s.EndsAt, s.First, s.Last, s.Opening, s.Sales,
			s.Settled, s.Refunds, s.Disputes, s.Fees, s.Adjustments, s.Payouts, s.Closing, s.CreatedAt,
		}
	}
	tx.Insert("statements", []string{
		"partner_id", "number", "currency", "month", "begins_at", "ends_at", "first_posting", "last_posting", "opening",
		"sales", "settled", "refunds", "disputes", "fees", "adjustments", "payouts", "closing", "created_at",
	}, rows)
}

// Get returns a statement of a partner.
func (s *Store) Get(ctx context.Context, partnerID, number int64) (Statement, error) {
	found, err := sqldb.One(ctx, s.DB, scan, `SELECT `+columns+` FROM statements
		WHERE partner_id = $1 AND number = $2`, partnerID, number)
	if errors.Is(err, sqldb.ErrNone) {
		return found, Unknown(strconv.FormatInt(number, 10))
	}
	if err != nil {
		return found, fmt.Errorf("read statement %d of partner %d: %w", number, partnerID, err)
	}
	return found, nil
}

// Unknown is the fault for a number that no statement of the partner has.
func Unknown(number string) error {
	return fault.New(
		fault.Missing, CodeUnknown, "There is no statement %q. The list of statements has the numbers.", number,
	)
}

// List returns the statements of a partner, newest first, before a number; 0 starts with the newest. next
// is the number before which the next page begins; 0: there is none.
func (s *Store) List(
	ctx context.Context, partnerID, before int64, limit int,
) (list []Statement, next int64, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	list, err = sqldb.All(ctx, s.DB, scan, `SELECT `+columns+` FROM statements
		WHERE partner_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3`, partnerID, before, limit+1)
	if err != nil {
		return nil, 0, fmt.Errorf("list the statements of partner %d: %w", partnerID, err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Number
	}
	return list, next, nil
}

// Lines returns a page of the postings of a statement, oldest first, after an id; 0 starts with the first.
// next is the id after which the next page begins; 0: there is none. A page may be short although there
// is a next one.
func (s *Store) Lines(ctx context.Context, of Statement, after int64, limit int) ([]Line, int64, error) {
	postings, next, err := ledger.FindSpan(ctx, s.DB, of.Span(), after, limit)
	if err != nil {
		return nil, 0, err
	}
	list := make([]Line, len(postings))
	for i, p := range postings {
		list[i] = lineOf(p, of.Currency)
	}
	return list, next, nil
}

// Line is a posting as the partner sees it.
type Line struct {
	ID         int64
	Kind       ledger.Kind
	PurchaseID int64 // 0: none
	Tier       int
	Amount     int64     // change of the owed amount
	Reason     string    // of an adjustment
	At         time.Time // of the fact
	PostedAt   time.Time
}

func lineOf(p ledger.Posting, currency string) Line {
	return Line{
		ID: p.ID, Kind: p.Kind, PurchaseID: p.PurchaseID, Tier: p.Tier, Amount: p.Owed()[currency], Reason: p.Reason,
		At: p.At, PostedAt: p.CreatedAt,
	}
}
