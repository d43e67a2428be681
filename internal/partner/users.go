package partner

import (
	"context"

	"claviger/internal/account"
	"claviger/internal/sqldb"
)

// ranked ends sessions of a user after a change of role with a partner. If the user gained a right,
// it returns the epoch of sessions that may continue.
func (r *Store) ranked(
	ctx context.Context,
	tx *sqldb.Tx,
	userID int64,
	before, after Role,
) (epoch int64, err error) {
	switch {
	case ranks[after] > ranks[before]:
		return account.Gained(ctx, tx, userID, r.Now())
	case ranks[after] < ranks[before]:
		account.Lost(tx, userID)
	}
	return 0, nil
}
