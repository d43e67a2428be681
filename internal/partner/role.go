package partner

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/sqldb"
)

// RoleOf returns the role of a user with a partner; "" when they have none.
func RoleOf(ctx context.Context, from sqldb.Reader, partnerID, userID int64) (Role, error) {
	role, err := sqldb.One(ctx, from, sqldb.Value[string], `SELECT role FROM members WHERE partner_id = $1 AND user_id = $2`, partnerID, userID)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return "", fmt.Errorf("read the role of user %d with partner %d: %w", userID, partnerID, err)
	}
	return Role(role), nil
}
