// Package prune deletes rows that have expired. It owns no table: the owner of a table lists its
// expiring rows as rules, and internal/app makes one job of all rules.
package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// batch is the number of rows that one transaction changes. It is small so that other writers never
// wait long.
const batch = 1000

// Rule describes the expiring rows of a table. A rule without Do has a Table and At.
type Rule struct {
	Table string
	Key   string        // columns that identify a row; empty: id
	At    string        // column with a time
	Keep  time.Duration // a row expires when At is longer ago
	If    string        // further condition; empty: none
	Hours bool          // At is a number of hours, not a time
	Clear string        // text column that is emptied; empty: the row is deleted

	// ByID is for tables without an index on At: their rows are searched in the order of their
	// ids, which is nearly that of time. Without ByID, an index must lead with At, or be for If.
	ByID  bool
	Batch int // with ByID: number of rows per transaction, fewer if a row is large; 0: 1,000

	// Do deletes rows that no such condition finds, in batches, and returns their number.
	Do func(ctx context.Context, db *sqldb.DB, now time.Time) (int64, error)
}

// Rows deletes the rows that have expired, and returns their number. A rule that fails does not
// stop the others.
func Rows(ctx context.Context, db *sqldb.DB, now time.Time, rules []Rule) (int64, error) {
	var sum int64
	var errs []error
	for _, r := range rules {
		n, err := r.apply(ctx, db, now)
		sum += n
		if err != nil {
			errs = append(errs, fmt.Errorf("prune %s: %w", r.Table, err))
		}
	}
	return sum, errors.Join(errs...)
}

// apply deletes the rows of one rule.
func (r Rule) apply(ctx context.Context, db *sqldb.DB, now time.Time) (int64, error) {
	switch {
	case r.Do != nil:
		return r.Do(ctx, db, now)
	case r.ByID:
		return walkIDs(ctx, db, r, now.Add(-r.Keep))
	}
	return r.inBatches(ctx, db, r.limit(now))
}

// limit is the value that At must be below.
func (r Rule) limit(now time.Time) any {
	before := now.Add(-r.Keep)
	if r.Hours {
		return before.Unix() / 3600
	}
	return before
}

// expired is the condition for an expired row; $1 is the limit.
func (r Rule) expired() string {
	if r.If == "" {
		return r.At + ` < $1`
	}
	return r.If + ` AND ` + r.At + ` < $1`
}

// Statement changes one batch of rows; $1 is the limit and $2 the size of the batch. The condition
// appears twice: PostgreSQL evaluates the outer one again after a wait for the row, because its
// previous holder may have changed it.
func (r Rule) Statement() string {
	change := `DELETE FROM ` + r.Table
	if r.Clear != "" {
		change = `UPDATE ` + r.Table + ` SET ` + r.Clear + ` = ''`
	}
	key := cmp.Or(r.Key, "id")
	return change + ` WHERE ` + r.expired() + ` AND (` + key + `) IN (
		SELECT ` + key + ` FROM ` + r.Table + ` WHERE ` + r.expired() + ` ORDER BY ` + r.At + ` LIMIT $2)`
}

// inBatches repeats the statement, each time in its own transaction, until it changes fewer rows
// than a batch.
func (r Rule) inBatches(ctx context.Context, db *sqldb.DB, limit any) (n int64, err error) {
	for {
		var changed int64
		err := db.Write(ctx, func(tx *sqldb.Tx) (err error) {
			changed, err = tx.Exec(ctx, r.Statement(), limit, batch)
			return err
		})
		n += changed
		if err != nil || changed < batch {
			return n, err
		}
	}
}
