package mail

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// CountWaiting is how many mails are still to be sent.
func CountWaiting(ctx context.Context, db *sqldb.DB) (int64, error) {
	n, err := sqldb.One(ctx, db, sqldb.Value[int64], `SELECT count(*) FROM mails WHERE `+isWaiting)
	if err != nil {
		return 0, fmt.Errorf("count the mails that wait: %w", err)
	}
	return n, nil
}
