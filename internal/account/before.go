package account

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"claviger/internal/sqldb"
	"claviger/internal/validate"
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

// FindOne returns the user with an email address: the account, or else the guest who came last. found
// is false if nobody has or typed the address.
func (b *Store) FindOne(ctx context.Context, email string) (u User, found bool, err error) {
	u, err = sqldb.One(ctx, b.DB, scan, `SELECT `+columns+` FROM users WHERE id IN (
			SELECT id FROM users WHERE email_key = $1 AND email_key <> ''
			UNION SELECT id FROM users WHERE guest_email_key = $1 AND guest_email_key <> '')
		ORDER BY guest_email <> '', id DESC LIMIT 1`, validate.EmailKey(email))
	if errors.Is(err, sqldb.ErrNone) {
		return User{}, false, nil
	}
	if err != nil {
		return User{}, false, fmt.Errorf("find a user by the address: %w", err)
	}
	return u, true, nil
}

// maxOfAddress bounds the guests of one address that FindAll returns.
const maxOfAddress = 100

// FindAll returns the ids of the users with an email address: the account first, then the guests who
// paid, then other guests, newest first. Unpaid guests of an address can't hide a purchase.
func (b *Store) FindAll(ctx context.Context, email string) ([]int64, error) {
	ids, err := sqldb.All(ctx, b.DB, sqldb.Value[int64], `SELECT id FROM users WHERE id IN (
			SELECT id FROM users WHERE email_key = $1 AND email_key <> ''
			UNION SELECT id FROM users WHERE guest_email_key = $1 AND guest_email_key <> '')
		ORDER BY guest_email <> '', NOT EXISTS (SELECT 1 FROM guests WHERE user_id = users.id AND paid_at <> 0),
			id DESC LIMIT $2`, validate.EmailKey(email), maxOfAddress)
	if err != nil {
		return nil, fmt.Errorf("find the users with an address: %w", err)
	}
	return ids, nil
}

// where returns the condition, and the arguments of the query after those of its own.
func (f Filter) where(args ...any) (string, []any) {
	var where strings.Builder
	if f.Email != "" {
		args = append(args, validate.EmailKey(f.Email))
		// Two selects instead of one with OR, so that each uses its partial index.
		fmt.Fprintf(&where, ` AND id IN (SELECT id FROM users WHERE email_key = $%[1]d AND email_key <> ''
			UNION SELECT id FROM users WHERE guest_email_key = $%[1]d AND guest_email_key <> '')`, len(args))
	}
	if f.ExternalID != "" {
		args = append(args, f.ExternalID)
		fmt.Fprintf(&where, " AND external_id = $%d AND external_id <> ''", len(args))
	}
	return where.String(), args
}
