package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/field"
	"claviger/internal/sqldb"
)

// The bounds of a password: in characters, and in bytes what is worth hashing.
const (
	minPassword = 8
	maxPassword = 1024
)

// cost is what one look at a password takes: about 35 ms and 19 MiB.
var cost = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// seats bounds how many passwords are hashed at once, and so the memory that
// signing in can take.
var seats = make(chan struct{}, 2)

// Password is a password as it is stored: an argon2id string. A type of its own,
// so that what somebody typed cannot be stored by mistake.
type Password string

// NewPassword checks and hashes what somebody typed. It takes its time, so it is
// called before a transaction and not in one.
func NewPassword(ctx context.Context, typed string) (Password, error) {
	if !utf8.ValidString(typed) || utf8.RuneCountInString(typed) < minPassword || len(typed) > maxPassword {
		return "", fault.Field("password", "must have at least %d characters and at most %d bytes.", minPassword, maxPassword)
	}
	return seated(ctx, func() (Password, error) {
		hash, err := argon2id.CreateHash(typed, cost)
		if err != nil {
			return "", fmt.Errorf("hash a password: %w", err)
		}
		return Password(hash), nil
	})
}

// seated runs f when a seat is free.
func seated[T any](ctx context.Context, f func() (T, error)) (T, error) {
	select {
	case seats <- struct{}{}:
		defer func() { <-seats }()
		return f()
	case <-ctx.Done():
		var zero T
		return zero, fmt.Errorf("wait to hash a password: %w", context.Cause(ctx))
	}
}

// SetPassword gives a user a password in the caller's transaction.
func SetPassword(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, p Password, at time.Time) error {
	if _, err := lock(ctx, tx, id); err != nil {
		return err
	}
	tx.Queue(`UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1`, id, p, at)
	audit.Record(tx, at, by, "user.password", subject(id), nil, nil)
	return nil
}

// login is a user with its password.
type login struct {
	User
	password Password
}

func scanLogin(r *sqldb.Row, l *login) error {
	u := &l.User
	return r.Scan(&u.ID, &u.Email, &u.Name, &u.ExternalID, &u.Operator, &u.CreatedAt, &u.UpdatedAt, &u.ErasedAt, &l.password)
}

// SignIn returns the user with that address if the password is right. An address
// that nobody has, or a user without a password, takes as long to refuse as a
// wrong password, and is refused in the same words.
func (b *Book) SignIn(ctx context.Context, email, typed string) (User, error) {
	l, err := sqldb.One(ctx, b.DB, scanLogin,
		`SELECT `+columns+`, password_hash FROM users WHERE email_key = $1 AND email_key <> ''`, field.EmailKey(email))
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return User{}, fmt.Errorf("find who signs in: %w", err)
	}
	known := err == nil && l.password != ""
	if !known {
		l.password = nobody()
	}
	if len(typed) > maxPassword {
		typed = "" // Longer than any password; it is not hashed at its length.
	}
	right, err := seated(ctx, func() (bool, error) {
		return argon2id.ComparePasswordAndHash(typed, string(l.password))
	})
	if err != nil {
		return User{}, fmt.Errorf("compare a password: %w", err)
	}
	if !right || !known {
		return User{}, fault.New(fault.Unknown, "invalid_credentials", "The e-mail address or the password is not right.")
	}
	return l.User, nil
}

// nobody is a password that nothing typed can match, at the cost of a real one.
var nobody = sync.OnceValue(func() Password {
	hash, err := argon2id.CreateHash("", cost)
	if err != nil {
		panic(err) // The system has no randomness to give.
	}
	return Password(hash)
})
