package partner

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/sqldb"
)

// RoleOf returns the role of a user with a partner; "" if they have none.
func RoleOf(ctx context.Context, from sqldb.Reader, partnerID, userID int64) (Role, error) {
	role, err := sqldb.One(
		ctx,
		from,
		sqldb.Value[string],
		`SELECT role FROM members WHERE partner_id = $1 AND user_id = $2`,
		partnerID,
		userID,
	)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return "", fmt.Errorf("read the role of user %d with partner %d: %w", userID, partnerID, err)
	}
	return Role(role), nil
}

// AccessVersions returns a version text per user. It changes whenever a membership or a support
// visit of theirs begins, changes or ends. Users without any are left out.
func (r *Store) AccessVersions(ctx context.Context, userIDs []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(
		ctx,
		r.DB,
		userIDs,
		3,
		`SELECT user_id, partner_id, CASE role WHEN $2 THEN 3 WHEN $3 THEN 2 ELSE 1 END AS role, 0 AS acts
			FROM members WHERE user_id = ANY($1)
		UNION ALL SELECT user_id, partner_id, -id, acts_since FROM support_visits WHERE user_id = ANY($1)
		AND `+openVisit+`$4
		ORDER BY user_id, partner_id, role`,
		Admin,
		Developer,
		r.Now(),
	)
	if err != nil {
		return nil, fmt.Errorf("read the versions of the access of users: %w", err)
	}
	return found, nil
}

// Admins returns the users who are admins of a partner, the earliest first.
func Admins(ctx context.Context, from sqldb.Reader, partnerID int64) ([]int64, error) {
	list, err := sqldb.All(ctx, from, sqldb.Value[int64], `SELECT user_id FROM members
		WHERE partner_id = $1 AND role = $2 ORDER BY created_at, user_id`, partnerID, Admin)
	if err != nil {
		return nil, fmt.Errorf("list the admins of partner %d: %w", partnerID, err)
	}
	return list, nil
}
