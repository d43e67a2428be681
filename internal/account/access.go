package account

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// AccessVersions returns a version text per user. It changes when the user's operator role changes,
// when they lose a right, and when one of their sessions begins or ends. Open pages poll it on
// every node, and check then whether their user may still see them.
func (b *Store) AccessVersions(ctx context.Context, userIDs []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(ctx, b.DB, userIDs, 5, `SELECT u.id, u.session_epoch, u.staff_epoch,
			CASE u.operator_role WHEN $3 THEN 4 WHEN $4 THEN 3 WHEN $5 THEN 2 WHEN $6 THEN 1 ELSE 0 END,
			count(s.hash), coalesce(max(g.begun_at), 0)
		FROM users AS u
		LEFT JOIN signed_sessions AS g ON g.user_id = u.id
		LEFT JOIN sessions AS s ON s.hash = g.hash AND s.data <> '' AND s.expires_at > $2
		WHERE u.id = ANY($1) GROUP BY u.id`, b.Now(), RoleAdmin, RoleSupport, RoleSales, RoleViewer)
	if err != nil {
		return nil, fmt.Errorf("read the versions of the access of users: %w", err)
	}
	return found, nil
}
