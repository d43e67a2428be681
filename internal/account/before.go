package account

import (
	"context"
	"fmt"
	"math"

	"claviger/internal/sqldb"
)

// Before returns the users that match f and have a smaller id, newest first, and whether more
// follow; 0 begins with the newest. It costs the same at any depth.
func (b *Store) Before(ctx context.Context, f Filter, id int64, limit int) (users []User, more bool, err error) {
	if id <= 0 {
		id = math.MaxInt64
	}
	where, args := f.where(id, limit+1)
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
