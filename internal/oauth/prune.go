package oauth

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// grantRetention is the minimum retention of a grant. It allows the error for a late use of its
// code to name the cause. A grant with tokens stays.
const grantRetention = 31 * 24 * time.Hour

// pruneBatch is the number of rows that one transaction deletes, so that other writers do not wait.
const pruneBatch = 1000

// PruneAnswers deletes the answers stored for repeated refreshes after repeatTime. They contain
// sealed tokens, so it runs every minute.
func (s *Server) PruneAnswers(ctx context.Context) (int64, error) {
	n, err := s.DB.DeleteInBatches(ctx, s.Now().Add(-repeatTime), `DELETE FROM oauth_answers WHERE used_at <= (
		SELECT max(used_at) FROM (SELECT used_at FROM oauth_answers WHERE used_at < $1 ORDER BY used_at
		LIMIT $2) AS old)`)
	if err != nil {
		return n, fmt.Errorf("prune stored answers: %w", err)
	}
	return n, nil
}

// Prune deletes expired tokens and old grants without tokens. It returns the number of deleted
// rows.
func (s *Server) Prune(ctx context.Context) (int64, error) {
	now := s.Now()
	tokens, err := s.DB.DeleteInBatches(ctx, now, `DELETE FROM oauth_tokens WHERE hash IN (
		SELECT hash FROM oauth_tokens WHERE expires_at < $1 LIMIT $2)`)
	if err != nil {
		return tokens, fmt.Errorf("prune tokens: %w", err)
	}
	grants, err := s.pruneGrants(ctx, now.Add(-grantRetention))
	if err != nil {
		return tokens + grants, fmt.Errorf("prune grants: %w", err)
	}
	return tokens + grants, nil
}

// pruneGrants deletes old grants without tokens. It finds them outside the write transaction,
// because it may skip many that still have tokens. It scans all tokens, which saves every refresh
// an index by grant.
func (s *Server) pruneGrants(ctx context.Context, before time.Time) (n int64, err error) {
	last := int64(0)
	for {
		list, err := sqldb.All(
			ctx,
			s.DB,
			sqldb.Value[int64],
			`SELECT g.id FROM oauth_grants g WHERE g.id > $1 AND g.created_at < $2
			AND g.id NOT IN (SELECT grant_id FROM oauth_tokens) ORDER BY g.id LIMIT $3`,
			last,
			before,
			pruneBatch,
		)
		if err != nil || len(list) == 0 {
			return n, err
		}
		err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			for _, id := range list {
				tx.Queue(`DELETE FROM oauth_grants WHERE id = $1`, id)
			}
			return nil
		})
		if err != nil {
			return n, err
		}
		n += int64(len(list))
		last = list[len(list)-1]
	}
}
