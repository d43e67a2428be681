package oauth

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// grantsKept is how long a grant is kept at least, so that the use of its code can
// be answered by what became of it. While it has tokens it stays.
const grantsKept = 31 * 24 * time.Hour

// forgetBatch is how many rows are removed in one transaction: others write too.
const forgetBatch = 1000

// PruneAnswers removes the answers kept for a repeated refresh whose time is
// over. They hold tokens, sealed as they are, so this is done every minute.
func (s *Server) PruneAnswers(ctx context.Context) (int64, error) {
	n, err := s.DB.DeleteInBatches(ctx, s.Now().Add(-repeatTime), `DELETE FROM oauth_answers WHERE used_at <= (
		SELECT max(used_at) FROM (SELECT used_at FROM oauth_answers WHERE used_at < $1 ORDER BY used_at LIMIT $2) AS old)`)
	if err != nil {
		return n, fmt.Errorf("prune kept answers: %w", err)
	}
	return n, nil
}

// Prune removes what serves nobody any more: tokens that have expired, and old
// grants without tokens. It returns how many.
func (s *Server) Prune(ctx context.Context) (int64, error) {
	now := s.Now()
	tokens, err := s.DB.DeleteInBatches(ctx, now, `DELETE FROM oauth_tokens WHERE hash IN (
		SELECT hash FROM oauth_tokens WHERE expires_at < $1 LIMIT $2)`)
	if err != nil {
		return tokens, fmt.Errorf("prune tokens: %w", err)
	}
	grants, err := s.forgetGrants(ctx, now.Add(-grantsKept))
	if err != nil {
		return tokens + grants, fmt.Errorf("prune grants: %w", err)
	}
	return tokens + grants, nil
}

// forgetGrants removes grants without tokens. There may be many old ones that
// still have some; they are passed over by a reader, so that no writer waits. It
// goes through all tokens, which spares every refresh an index by grant.
func (s *Server) forgetGrants(ctx context.Context, before time.Time) (n int64, err error) {
	last := int64(0)
	for {
		list, err := sqldb.All(ctx, s.DB, sqldb.Value[int64], `SELECT g.id FROM oauth_grants g WHERE g.id > $1 AND g.created_at < $2
			AND g.id NOT IN (SELECT grant_id FROM oauth_tokens) ORDER BY g.id LIMIT $3`, last, before, forgetBatch)
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
