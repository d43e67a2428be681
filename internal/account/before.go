package account

import (
	"context"
	"fmt"
	"math"

	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Before returns the users that match f and have a smaller id, newest first, and whether more
// follow; 0 begins with the newest. It costs the same at any depth.
func (b *Store) Before(ctx context.Context, f Filter, id int64, limit int) (users []User, more bool, err error) {
	if id <= 0 {
		id = math.MaxInt64
	}
	where := ""
	args := []any{id, limit + 1}
	add := func(column, value string) {
		args = append(args, value)
		// The second half lets the database use the partial index on the column.
		where += fmt.Sprintf(" AND %s = $%d AND %s <> ''", column, len(args), column)
	}
	if f.Email != "" {
		add("email_key", validate.EmailKey(f.Email))
	}
	if f.ExternalID != "" {
		add("external_id", f.ExternalID)
	}
	users, err = sqldb.All(
		ctx,
		b.DB,
		scan,
		`SELECT `+columns+` FROM users WHERE id < $1`+where+` ORDER BY id DESC LIMIT $2`,
		args...)
	if err != nil {
		return nil, false, fmt.Errorf("list users: %w", err)
	}
	if len(users) > limit {
		return users[:limit], true, nil
	}
	return users, false, nil
}
