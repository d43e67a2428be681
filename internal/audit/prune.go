package audit

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// ClientKept is how long the address of a person's client is stored.
const ClientKept = 90 * 24 * time.Hour

// Pruner removes expired data from entries.
type Pruner struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// Prune blanks the addresses of clients that are older than ClientKept, and returns their number.
// The entries stay.
func (p *Pruner) Prune(ctx context.Context) (int64, error) {
	n, err := p.DB.DeleteInBatches(ctx, p.Now().Add(-ClientKept), `UPDATE audit_entries SET client = '' WHERE id IN (
		SELECT id FROM audit_entries WHERE client <> '' AND at < $1 ORDER BY at LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("blank the addresses of clients: %w", err)
	}
	return n, nil
}

// EraseUser blanks the addresses of a user's clients, in the caller's transaction.
func EraseUser(tx *sqldb.Tx, userID int64) {
	tx.Queue(
		`UPDATE audit_entries SET client = '' WHERE actor_kind = '`+ByUser+`' AND actor_id = $1 AND client <> ''`,
		userID,
	)
}
