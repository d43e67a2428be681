package oauth

import (
	"context"
	"time"

	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// grantRetention is the minimum retention of a grant. It allows the error for a late use of its
// code to name the cause. A grant with tokens stays.
const grantRetention = 31 * 24 * time.Hour

// pruneBatch is the number of rows that one transaction deletes, so that other writers do not wait.
const pruneBatch = 1000

// ExpiringAnswers lists the answers stored for repeated refreshes. They contain sealed tokens, so
// they must not stay long.
func ExpiringAnswers() []prune.Rule {
	return []prune.Rule{{Table: "oauth_answers", Key: "used_at", At: "used_at", Keep: repeatTime}}
}

// Expiring lists the other rows that expire: tokens, and old grants without tokens.
func Expiring() []prune.Rule {
	return []prune.Rule{
		{Table: "oauth_tokens", Key: "hash", At: "expires_at"},
		{Table: "oauth_grants", Do: pruneGrants},
	}
}

// pruneGrants deletes old grants without tokens. It finds them outside the write transaction,
// because it may skip many that still have tokens. It scans all tokens, which saves every refresh
// an index by grant.
func pruneGrants(ctx context.Context, db *sqldb.DB, now time.Time) (n int64, err error) {
	before := now.Add(-grantRetention)
	last := int64(0)
	for {
		list, err := sqldb.All(
			ctx,
			db,
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
		err = db.Write(ctx, func(tx *sqldb.Tx) error {
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
