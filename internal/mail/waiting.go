package mail

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// CountWaiting returns the number of emails still to be sent.
func CountWaiting(ctx context.Context, db *sqldb.DB) (int64, error) {
	n, err := sqldb.One(ctx, db, sqldb.Value[int64], `SELECT count(*) FROM mails WHERE `+isWaiting)
	if err != nil {
		return 0, fmt.Errorf("count the mails that wait: %w", err)
	}
	return n, nil
}

// Depth counts unsent emails.
type Depth struct {
	Waiting, GivenUp int64
	Oldest           time.Time // of the waiting ones; zero: none
}

// ReadDepth counts unsent emails.
func ReadDepth(ctx context.Context, db *sqldb.DB) (Depth, error) {
	d, err := sqldb.One(
		ctx,
		db,
		func(r *sqldb.Row, d *Depth) error { return r.Scan(&d.Waiting, &d.Oldest, &d.GivenUp) },
		`SELECT count(*), coalesce(min(created_at), 0), (SELECT count(*) FROM mails
			WHERE `+isGivenUp+`) FROM mails WHERE `+isWaiting,
	)
	if err != nil {
		return Depth{}, fmt.Errorf("count the mails that are not sent: %w", err)
	}
	return d, nil
}
