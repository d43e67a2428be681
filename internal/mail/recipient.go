package mail

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// To returns the newest emails to an address, newest first, without their texts.
func To(ctx context.Context, r sqldb.Reader, address string, n int) ([]Record, error) {
	if address == "" {
		return nil, nil
	}
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, m *Record) error {
		return r.Scan(
			&m.ID,
			&m.Cause,
			&m.To,
			&m.Subject,
			&m.State,
			&m.Attempts,
			&m.DueAt,
			&m.Error,
			&m.CreatedAt,
			&m.SentAt,
		)
	}, `SELECT id, cause, recipient, subject, state, attempts, due_at, error, created_at, sent_at
		FROM mails WHERE recipient_key = $1 ORDER BY id DESC LIMIT $2`, validate.EmailKey(clean(address)), n)
	if err != nil {
		return nil, fmt.Errorf("list the mails to an address: %w", err)
	}
	return list, nil
}
