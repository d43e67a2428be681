package webhook

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Kept is how long the record of an attempt is kept.
const Kept = 400 * 24 * time.Hour

// Keeper removes the records of attempts whose time is over.
type Keeper struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// Forget removes the records older than Kept and returns how many there were.
// They are written nearly in the order of their ids, so it begins with the
// lowest and needs no index by age; the odd one that an answer of the next batch
// overtook goes with a later round. Deliveries and events stay.
func (k *Keeper) Forget(ctx context.Context) (int64, error) {
	n, err := k.DB.Sweep(ctx, k.Now().Add(-Kept), `DELETE FROM webhook_responses WHERE created_at < $1 AND id IN (
		SELECT id FROM webhook_responses ORDER BY id LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("forget webhook responses: %w", err)
	}
	return n, nil
}
