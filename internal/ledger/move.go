package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Codes of faults.
const (
	CodeMoving = "ledger_moving" // sales are still settled by a new beginning
	CodeFrozen = "ledger_frozen" // there was a payout run, so the beginning is final
)

// Beginning is the moment from which sales count in the balances, and how it may change.
type Beginning struct {
	From    time.Time // zero: the ledger has not begun
	PaidAt  time.Time // the first payout run; From is final since
	MovedAt time.Time // From was changed, and some sales are not settled by it yet; zero: all are

	partner, purchase int64 // the last sale that is
}

// Moving reports whether some sales are not settled by the new beginning yet.
func (b Beginning) Moving() bool { return !b.MovedAt.IsZero() }

// Final returns the refusal of a change after the first payout run; nil: the moment can change.
func (b Beginning) Final() error {
	if b.PaidAt.IsZero() {
		return nil
	}
	return fault.New(fault.Conflict, CodeFrozen,
		"The first payout run was prepared at %s, so this moment is final. Correct balances with adjustments.",
		b.PaidAt.Format(time.RFC3339))
}

const beginning = `SELECT began_at, paid_at, moved_at, moved_partner, moved_purchase FROM ledger_state WHERE id = 1`

func scanBeginning(r *sqldb.Row, b *Beginning) error {
	return r.Scan(&b.From, &b.PaidAt, &b.MovedAt, &b.partner, &b.purchase)
}

// ReadBeginning returns the beginning of the ledger.
func ReadBeginning(ctx context.Context, r sqldb.Reader) (Beginning, error) {
	b, err := sqldb.One(ctx, r, scanBeginning, beginning)
	if err != nil {
		return b, fmt.Errorf("read when the ledger began: %w", err)
	}
	return b, nil
}

// lockBeginning locks the beginning for a change. A transaction locks it before partners: the other order
// would deadlock with the walk over all sales.
func lockBeginning(ctx context.Context, tx *sqldb.Tx) (Beginning, error) {
	b, err := sqldb.One(ctx, tx, scanBeginning, beginning+tx.ForUpdate)
	if err != nil {
		return b, fmt.Errorf("lock the beginning of the ledger: %w", err)
	}
	return b, nil
}

// HoldFrom returns the moment from which sales count. It does not change before the transaction ends. The
// transaction locks partners only after this call.
func HoldFrom(ctx context.Context, tx *sqldb.Tx) (time.Time, error) {
	b, err := sqldb.One(ctx, tx, scanBeginning, beginning+tx.ForShare)
	if err != nil {
		return time.Time{}, fmt.Errorf("hold the beginning of the ledger: %w", err)
	}
	return b.From, nil
}

// earliest is the first moment from which sales may count.
var earliest = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Move changes the moment from which sales count, and returns the previous beginning. MoveOn settles the
// sales by it. The same moment again changes nothing.
func Move(ctx context.Context, tx *sqldb.Tx, from, now time.Time) (was Beginning, changed bool, err error) {
	if was, err = lockBeginning(ctx, tx); err != nil {
		return was, false, err
	}
	switch {
	case from.Truncate(time.Microsecond).Equal(was.From.Truncate(time.Microsecond)): // as the API writes it
		return was, false, nil
	case !was.PaidAt.IsZero():
		return was, false, was.Final()
	case from.After(now):
		return was, false, fault.Field("from", "must not be in the future: choose a moment up to now.")
	case from.Before(earliest):
		return was, false, fault.Field("from", "must not be before the year %d.", earliest.Year())
	}
	tx.Queue(`UPDATE ledger_state SET began_at = $1, moved_at = $2, moved_partner = 0, moved_purchase = 0
		WHERE id = 1`, from, now)
	return was, true, nil
}

// Freeze makes the beginning final, and lets one payout run at a time begin. The transaction that prepares a
// run calls it before it locks a partner. It fails while sales are settled by a new beginning.
func Freeze(ctx context.Context, tx *sqldb.Tx, now time.Time) error {
	b, err := lockBeginning(ctx, tx)
	if err != nil || !b.PaidAt.IsZero() {
		return err
	}
	if b.Moving() {
		return fault.New(fault.Conflict, CodeMoving, "The moment from which sales count was changed, "+
			"and balances still change because of it. Try again in a few minutes.")
	}
	tx.Queue(`UPDATE ledger_state SET paid_at = $1 WHERE id = 1 AND paid_at = 0`, now)
	return nil
}

// moveBatch is the number of sales that one transaction checks.
const moveBatch = 500

// moveDelay is the time after the new beginning at which its sales are settled. Then each sale from before
// it has committed, also those of nodes with a slower clock.
const moveDelay = time.Minute

// MoveOn settles some sales by a new beginning. It reports whether there may be more.
func MoveOn(ctx context.Context, db *sqldb.DB, now time.Time) (more bool, err error) {
	b, err := ReadBeginning(ctx, db)
	if err != nil || !b.Moving() || now.Before(b.From.Add(moveDelay)) {
		return false, err
	}
	err = db.Write(ctx, func(tx *sqldb.Tx) error {
		if b, err = lockBeginning(ctx, tx); err != nil {
			return err
		}
		if more = b.Moving() && !now.Before(b.From.Add(moveDelay)); !more {
			return nil
		}
		return moveOn(ctx, tx, b, now)
	})
	if err != nil {
		return false, fmt.Errorf("settle sales by the new beginning of the ledger: %w", err)
	}
	return more, nil
}

// dated is the posted state of a sale, as far as it decides whether the sale is settled again.
type dated struct {
	purchaseID int64
	settled    int64
	soldAt     time.Time
}

// moveOn settles the next sales of one partner, and stores the last one.
func moveOn(ctx context.Context, tx *sqldb.Tx, b Beginning, now time.Time) error {
	partnerID, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT partner_id FROM ledger_sales
		WHERE (partner_id, purchase_id) > ($1, $2) ORDER BY partner_id, purchase_id LIMIT 1`, b.partner, b.purchase)
	if errors.Is(err, sqldb.ErrNone) {
		tx.Queue(`UPDATE ledger_state SET moved_at = 0, moved_partner = 0, moved_purchase = 0 WHERE id = 1`)
		return nil
	}
	if err != nil {
		return err
	}
	if err := Lock(ctx, tx, partnerID); err != nil {
		return err
	}
	last := int64(0)
	if partnerID == b.partner {
		last = b.purchase
	}
	list, err := sqldb.All(ctx, tx, func(r *sqldb.Row, d *dated) error {
		return r.Scan(&d.purchaseID, &d.settled, &d.soldAt)
	}, `SELECT purchase_id, settled, sold_at FROM ledger_sales WHERE partner_id = $1 AND purchase_id > $2
		ORDER BY purchase_id LIMIT $3`, partnerID, last, moveBatch)
	if err != nil {
		return err
	}
	var ids []int64
	for _, d := range list {
		last = d.purchaseID
		if d.settled != notSettled || d.soldAt.Before(b.From) {
			ids = append(ids, d.purchaseID)
		}
	}
	journal := New(tx, partnerID, now)
	if err := journal.Settle(ctx, b.From, ids...); err != nil {
		return err
	}
	tx.Queue(`UPDATE ledger_state SET moved_partner = $1, moved_purchase = $2 WHERE id = 1`, partnerID, last)
	return journal.Save()
}
