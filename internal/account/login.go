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

// login reads a user who was not erased, with its password.
func (b *Book) login(ctx context.Context, id int64) (login, error) {
	l, err := sqldb.One(ctx, b.DB, scanLogin, `SELECT `+columns+`, password_hash FROM users WHERE id = $1`, id)
	return foundLogin(l, err, "get a user")
}

// lockLogin is lock with the password.
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

// changeLogin locks a user and returns what change made of it.
func (b *Book) changeLogin(ctx context.Context, id int64, doing string, change func(*sqldb.Tx, *login, time.Time) error) (User, error) {
	var l login
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if l, err = lockLogin(ctx, tx, id); err != nil {
			return err
		}
		return change(tx, &l, b.Now())
	})
	if err != nil {
		return User{}, fmt.Errorf("%s: %w", doing, err)
	}
	return l.User, nil
}

// prove notes that the address has proven itself, the first time. A user without
// one has nothing to prove, or the address of a later purchase would pass for
// proven.
func (l *login) prove(at time.Time) {
	if l.ProvenAt.IsZero() && l.Email != "" {
		l.ProvenAt = at
	}
}

// setPassword gives the user a password and ends what was begun without it.
func (l *login) setPassword(tx *sqldb.Tx, by audit.Actor, p Password, at time.Time) {
	l.password = p
	l.endSessions(tx, at)
	l.save(tx, at)
	audit.Record(tx, at, by, "user.password", subject(l.ID), nil, nil)
}

// endSessions ends the user's sessions, and the links that could begin new ones
// or choose a password.
func (l *login) endSessions(tx *sqldb.Tx, at time.Time) {
	l.SessionEpoch++
	tx.Queue(`UPDATE login_links SET expires_at = $2, name = '', password_hash = '', browser_hash = ''
		WHERE user_id = $1 AND expires_at > $2`, l.ID, at)
}

// save stores what the functions above change. Whoever they are about is more than
// a sign-up.
func (l *login) save(tx *sqldb.Tx, at time.Time) {
	l.UpdatedAt, l.PendingSince = at, time.Time{}
	tx.Queue(`UPDATE users SET name = $2, password_hash = $3, session_epoch = $4, proven_at = $5, second_factor = $7, pending_since = 0, updated_at = $6 WHERE id = $1`,
		l.ID, l.Name, l.password, l.SessionEpoch, l.ProvenAt, at, l.SecondFactor)
}

// SignIn returns the user with that address if the password is right. An address
// that nobody has, or a user without a password, takes as long to refuse as a
// wrong password, and is refused in the same words. Beside that it is refused when
// too many wait, and when there were too many wrong passwords for the
// address.
func (b *Book) SignIn(ctx context.Context, email, typed string, c Client) (User, error) {
	if address, err := validate.Email("email", email); err == nil {
		email = address
	} else {
		email = "" // Nobody's.
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

// proves returns whoever has an address, in the form in which addresses are
// compared, if the password is theirs.
func (b *Book) proves(ctx context.Context, email, typed string) (login, error) {
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

// signedIn records that somebody signed in by password. One that was changed
// while it was being compared does not let in any more.
func (b *Book) signedIn(ctx context.Context, seen login, c Client, tries string) (User, error) {
	var u User
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		u, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1 AND password_hash = $2`, seen.ID, seen.password)
		if errors.Is(err, sqldb.ErrNone) {
			return wrongCredentials()
		}
		giveBack(tx, tries)
		audit.Record(tx, b.Now(), self(u.ID, c.Address), "user.sign_in", subject(u.ID), nil, firstStep(u, audit.Facts{"by": "password"}))
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

// self is a user as the one who acts, who has no session yet.
func self(id int64, client string) audit.Actor {
	return audit.Actor{Kind: audit.ByUser, ID: id, Client: client}
}

// firstStep adds to the facts of a sign-in that it is not complete, if it is not.
func firstStep(u User, facts audit.Facts) audit.Facts {
	if u.SecondFactor {
		facts["second_step"] = "awaited"
	}
	return facts
}
