package account

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Limits of a password: the minimum in characters; the maximum in bytes, to bound the hashing.
const (
	minPassword = 8
	maxPassword = 1024
)

// HashCost is the cost of hashing one password. The zero value is for production: 19 MiB and 2
// passes, about 35 ms. Tests that are not about it use less.
type HashCost struct{ KiB, Passes uint32 }

func (c HashCost) params() *argon2id.Params {
	return &argon2id.Params{
		Memory: cmp.Or(c.KiB, 19*1024), Iterations: cmp.Or(c.Passes, 2), Parallelism: 1, SaltLength: 16, KeyLength: 32,
	}
}

// Password is a password in its stored form: an argon2id string. It has its own type so that typed
// text cannot be stored by mistake.
type Password string

// NewPassword checks and hashes a password chosen by the person with the email address. It is slow,
// so call it before a transaction and not in one.
func (b *Store) NewPassword(ctx context.Context, email, typed string) (Password, error) {
	return b.newPassword(ctx, Client{Known: true}, email, typed)
}

// newPassword does the same as NewPassword, for a client that may be a stranger.
func (b *Store) newPassword(ctx context.Context, c Client, email, typed string) (Password, error) {
	if !utf8.ValidString(typed) || utf8.RuneCountInString(typed) < minPassword || len(typed) > maxPassword {
		return "", fault.Field(
			"password",
			"must have at least %d characters and at most %d bytes.",
			minPassword,
			maxPassword,
		)
	}
	if err := checkGuessable(typed, email, b.marketplace()); err != nil {
		return "", err
	}
	return hashed(ctx, hashing, c, func() (Password, error) {
		hash, err := argon2id.CreateHash(typed, b.HashCost.params())
		if err != nil {
			return "", fmt.Errorf("hash a password: %w", err)
		}
		return Password(hash), nil
	})
}

// matches compares typed text with a password. Its caller has a slot of the queue.
func (p Password) matches(typed string) (bool, error) {
	if len(typed) > maxPassword {
		typed = "" // longer than any password: do not hash it at its length
	}
	right, err := argon2id.ComparePasswordAndHash(typed, string(p))
	if err != nil {
		return false, fmt.Errorf("compare a password: %w", err)
	}
	return right, nil
}

// nobody returns a password that no typed text matches, at the cost of a real one.
func (b *Store) nobody() Password {
	if made, ok := nobodies.Load(b.HashCost); ok {
		return made.(Password)
	}
	hash, err := argon2id.CreateHash("", b.HashCost.params())
	if err != nil {
		panic(err) // the system has no source of randomness
	}
	nobodies.Store(b.HashCost, Password(hash))
	return Password(hash)
}

var nobodies sync.Map // by HashCost

// SetPassword gives a user a password in the caller's transaction. The caller vouches for the
// address: it counts as proven.
func SetPassword(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, p Password, at time.Time) error {
	l, err := lockLogin(ctx, tx, id)
	if err != nil {
		return err
	}
	l.prove(at)
	l.setPassword(tx, by, p, at)
	return nil
}

// newPasswordOf calls NewPassword with the address of a user.
func (b *Store) newPasswordOf(ctx context.Context, userID int64, typed string) (Password, error) {
	u, err := b.Get(ctx, userID)
	if err != nil {
		return "", err
	}
	return b.NewPassword(ctx, u.Email, typed)
}

// ChangePassword gives a user a new password. It requires the current one if there is one. It ends
// all sessions except those begun with the returned user.
func (b *Store) ChangePassword(ctx context.Context, by audit.Actor, userID int64, current, typed string) (User, error) {
	hash, err := b.newPasswordOf(ctx, userID, typed)
	if err != nil {
		return User{}, err
	}
	seen, key, err := b.checkPassword(ctx, userID, current)
	if err != nil {
		return User{}, err
	}
	return b.changeLogin(ctx, userID, "change a password", func(tx *sqldb.Tx, l *login, now time.Time) error {
		if l.password != seen {
			return wrongPassword() // changed in the meantime
		}
		giveBack(tx, key)
		b.replacePassword(tx, l, by, hash, now)
		return nil
	})
}

// ResetPassword gives a user a new password without the current one: if there is none, or once
// within an hour after a reset link was used. It ends all sessions except those begun with the
// returned user.
func (b *Store) ResetPassword(ctx context.Context, by audit.Actor, userID int64, typed string) (User, error) {
	hash, err := b.newPasswordOf(ctx, userID, typed)
	if err != nil {
		return User{}, err
	}
	return b.changeLogin(ctx, userID, "reset a password", func(tx *sqldb.Tx, l *login, now time.Time) error {
		may, err := sqldb.One(
			ctx,
			tx,
			sqldb.Value[bool],
			`SELECT count(*) > 0 FROM login_links WHERE user_id = $1 AND purpose = $2 AND used_at > 0
				AND expires_at > $3`,
			userID,
			ForReset,
			now,
		)
		if err != nil {
			return err
		}
		if l.password != "" && !may {
			return fault.New(
				fault.Conflict,
				CodeResetOver,
				"The time to choose a new password is over; ask for a new link.",
			)
		}
		b.replacePassword(tx, l, by, hash, now)
		return nil
	})
}

// replacePassword gives the user a password and notifies them, unless it is their first.
func (b *Store) replacePassword(tx *sqldb.Tx, l *login, by audit.Actor, p Password, at time.Time) {
	first := l.password == ""
	l.setPassword(tx, by, p, at)
	if !first {
		b.tell(tx, l.User, by, toldPassword, at)
	}
}

// SignOutEverywhere ends all sessions and unused links of a user.
func (b *Store) SignOutEverywhere(ctx context.Context, by audit.Actor, userID int64) (User, error) {
	return b.changeLogin(ctx, userID, "sign out everywhere", func(tx *sqldb.Tx, l *login, now time.Time) error {
		l.endSessions(tx, now)
		l.save(tx, now)
		audit.Record(tx, now, by, "user.sign_out_everywhere", subject(userID), nil, nil)
		return nil
	})
}
