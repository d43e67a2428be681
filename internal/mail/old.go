package mail

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// sealOld seals waiting emails that an older version stored in the clear.
func (s *Sender) sealOld(ctx context.Context) error {
	for {
		var n int
		err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			list, err := sqldb.All(
				ctx,
				tx,
				scanOutgoing,
				`SELECT id, cause, thread, recipient, subject, sealed, body, html, transient, attempts, created_at
				FROM mails WHERE `+isWaiting+` AND sealed = FALSE ORDER BY id LIMIT $1`,
				s.batch(),
			)
			if err != nil {
				return err
			}
			for _, o := range list {
				text, html := o.seal(s.Sealer)
				tx.Queue(
					`UPDATE mails SET sealed = $2, body = $3, html = $4 WHERE id = $1
						AND `+isWaiting+` AND sealed = FALSE`,
					o.ID,
					true,
					text,
					html,
				)
			}
			n = len(list)
			return nil
		})
		if err != nil {
			return fmt.Errorf("seal mails: %w", err)
		}
		if n < s.batch() {
			return nil
		}
	}
}
