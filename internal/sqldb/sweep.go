package sqldb

import (
	"context"
	"time"
)

// sweepBatch is how many rows one transaction of a sweep changes, so that it never
// holds up the writers beside it for long.
const sweepBatch = 1000

// DeleteInBatches runs a statement again and again, each time in a transaction of its own,
// until it changes less than it may, and returns how many rows it changed. The
// statement takes a time ($1) and how many rows it may change ($2).
func (db *DB) DeleteInBatches(ctx context.Context, before time.Time, sql string) (n int64, err error) {
	for {
		var gone int64
		err := db.Write(ctx, func(tx *Tx) (err error) {
			gone, err = tx.Exec(ctx, sql, before, sweepBatch)
			return err
		})
		n += gone
		if err != nil || gone < sweepBatch {
			return n, err
		}
	}
}
