package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// login is a user with its password.
type login struct {
	User
	password Password
}

func scanLogin(r *sqldb.Row, l *login) error {
	return r.Scan(append(l.dest(), &l.password)...)
}

// login reads a user that is not erased, with its password.
func (b *Store) login(ctx context.Context, id int64) (login, error) {
	l, err := sqldb.One(ctx, b.DB, scanLogin, `SELECT `+columns+`, password_hash FROM users WHERE id = $1`, id)
	return foundLogin(l, err, "get a user")
}

// lockLogin locks a user's row and reads it with its password. Unlike lock, it does not change
// pending_since.
func lockLogin(ctx context.Context, tx *sqldb.Tx, id int64) (login, error) {
	l, err := sqldb.One(ctx, tx, scanLogin,
		`UPDATE users SET updated_at = updated_at WHERE id = $1 RETURNING `+columns+`, password_hash`, id)
	return foundLogin(l, err, "lock a user")
}

func foundLogin(l login, err error, doing string) (login, error) {
	if _, err = found(l.User, err, doing); err != nil {
		return login{}, err
	}
	return l, l.present()
}

// changeLogin locks a user, calls change, and returns the changed user.
func (b *Store) changeLogin(
	ctx context.Context,
	id int64,
	doing string,
	change func(*sqldb.Tx, *login, time.Time) error,
) (User, error) {
	var u User
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		u, err = b.changeLoginIn(ctx, tx, id, doing, func(l *login, now time.Time) error { return change(tx, l, now) })
		return err
	})
	return u, err
}

// changeLoginIn does the same as changeLogin, in the caller's transaction.
func (b *Store) changeLoginIn(
	ctx context.Context, tx *sqldb.Tx, id int64, doing string, change func(*login, time.Time) error,
) (User, error) {
	l, err := lockLogin(ctx, tx, id)
	if err == nil {
		err = change(&l, b.Now())
	}
	if err != nil {
		return User{}, fmt.Errorf("%s: %w", doing, err)
	}
	return l.User, nil
}

// prove records the first proof of the address. For a user without an address it does nothing:
// otherwise the address of a later purchase would count as proven.
func (l *login) prove(at time.Time) {
	if l.ProvenAt.IsZero() && l.Email != "" {
		l.ProvenAt = at
	}
}

// setPassword gives the user a password and ends the sessions and links begun without it.
func (l *login) setPassword(tx *sqldb.Tx, by audit.Actor, p Password, at time.Time) {
	l.password = p
	l.endSessions(tx, at)
	l.save(tx, at)
	audit.Record(tx, at, by, "user.password", subject(l.ID), nil, nil)
}

// save stores the fields that are changed above. It clears pending_since: the user is more than a
// sign-up.
func (l *login) save(tx *sqldb.Tx, at time.Time) {
	l.UpdatedAt = at
	l.PendingSince = time.Time{}
	tx.Queue(
		`UPDATE users SET name = $2, password_hash = $3, session_epoch = $4, proven_at = $5, second_factor = $7,
			pending_since = 0, updated_at = $6 WHERE id = $1`,
		l.ID,
		l.Name,
		l.password,
		l.SessionEpoch,
		l.ProvenAt,
		at,
		l.SecondFactor,
	)
}

// SignIn returns the user with the address if the password is right. For an unknown address or a
// user without a password, the refusal takes as long and says the same as for a wrong password.
// SignIn also refuses when too many clients wait, and after too many wrong passwords for the
// address.
func (b *Store) SignIn(ctx context.Context, email, typed string, c Client) (User, error) {
	if address, err := validate.Email("email", email); err == nil {
		email = address
	} else {
		email = "" // no user's
	}
	email = validate.EmailKey(email)
	key := triesKey(email)
	l, err := hashed(ctx, hashing, c, func() (login, error) {
		if err := b.countTry(ctx, key, passwordTries); err != nil {
			return login{}, err
		}
		return b.proves(ctx, email, typed)
	})
	if err != nil {
		return User{}, err
	}
	return b.signedIn(ctx, l, c, key)
}

// proves returns the user with an address, given as validate.EmailKey returns it, if the password
// is right.
func (b *Store) proves(ctx context.Context, email, typed string) (login, error) {
	l, err := sqldb.One(ctx, b.DB, scanLogin,
		`SELECT `+columns+`, password_hash FROM users WHERE email_key = $1 AND email_key <> ''`, email)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return login{}, fmt.Errorf("find who signs in: %w", err)
	}
	known := err == nil && l.password != ""
	if !known {
		l.password = b.nobody()
	}
	right, err := l.password.matches(typed)
	if err != nil {
		return login{}, err
	}
	if !right || !known {
		return login{}, wrongCredentials()
	}
	return l, nil
}

// signedIn records a sign-in by password. It refuses if the password was changed while it was being
// compared.
func (b *Store) signedIn(ctx context.Context, seen login, c Client, tries string) (User, error) {
	var u User
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		u, err = sqldb.One(
			ctx,
			tx,
			scan,
			`SELECT `+columns+` FROM users WHERE id = $1 AND password_hash = $2`,
			seen.ID,
			seen.password,
		)
		if errors.Is(err, sqldb.ErrNone) {
			return wrongCredentials()
		}
		giveBack(tx, tries)
		audit.Record(
			tx,
			b.Now(),
			self(u.ID, c.Address),
			"user.sign_in",
			subject(u.ID),
			nil,
			firstStep(u, audit.Facts{"by": "password"}),
		)
		return err
	})
	if err != nil {
		return User{}, fmt.Errorf("sign in: %w", err)
	}
	return u, nil
}

func wrongCredentials() error {
	return fault.New(fault.Unknown, CodeInvalidCredentials, "The email address or the password is not right.")
}

// self returns the user as the actor, without a session.
func self(id int64, client string) audit.Actor {
	return audit.Actor{Kind: audit.ByUser, ID: id, Client: client}
}

// firstStep adds to the facts of a sign-in that the second step is still missing, if so.
func firstStep(u User, facts audit.Facts) audit.Facts {
	if u.SecondFactor {
		facts["second_step"] = "awaited"
	}
	return facts
}
