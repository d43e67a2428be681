package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Kept is how long the record of an attempt is kept.
const Kept = 400 * 24 * time.Hour

// forgetBatch is how many records are removed in one transaction.
const forgetBatch = 1000

// Keeper removes the records of attempts whose time is over.
type Keeper struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// Forget removes the records older than Kept and returns how many there were.
// They are written nearly in the order of their ids, so it begins with the
// lowest and needs no index by age; the odd one that an answer of the next batch
// overtook goes with a later round. Deliveries and events stay.
func (k *Keeper) Forget(ctx context.Context) (n int64, err error) {
	before := k.Now().Add(-Kept)
	for {
		var gone int64
		err := k.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
			gone, err = tx.Exec(ctx, `DELETE FROM webhook_responses WHERE created_at < $1 AND id IN (
				SELECT id FROM webhook_responses ORDER BY id LIMIT $2)`, before, forgetBatch)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("forget webhook responses: %w", err)
		}
		n += gone
		if gone < forgetBatch {
			return n, nil
		}
	}
}
