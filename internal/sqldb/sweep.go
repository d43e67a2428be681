package sqldb

import (
	"context"
	"time"
)

// sweepBatch is the number of rows that one transaction of a sweep changes. It is small so that
// other writers never wait long.
const sweepBatch = 1000

// DeleteInBatches repeats a statement, each time in its own transaction, until it changes fewer
// rows than its limit. It returns the number of changed rows. The statement takes a time ($1) and
// the limit ($2). It must select only rows that it changes, by an index: a row that it selects and
// leaves would end the deletion. DeleteAged is for tables without such an index.
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
