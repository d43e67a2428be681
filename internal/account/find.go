package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Find returns the user that a person is, and makes one if there is none. The
// external id decides first, then the email address (letter case aside). What
// the user lacks of the two is filled in; what it has is never changed, so that
// no purchase moves an account to another address. Callers who name the same
// person at the same time get the same user.
func Find(ctx context.Context, tx *sqldb.Tx, p Person, at time.Time) (User, error) {
	u, _, _, err := find(ctx, tx, p, at)
	if err == nil {
		u.settle(tx)
	}
	return u, err
}

// settle notes that a user is known by more than a sign-up.
func (u *User) settle(tx *sqldb.Tx) {
	if !u.PendingSince.IsZero() {
		u.PendingSince = time.Time{}
		tx.Queue(`UPDATE users SET pending_since = 0 WHERE id = $1`, u.ID)
	}
}

// tries bounds how often find looks again after another transaction was faster.
const tries = 4

func find(ctx context.Context, tx *sqldb.Tx, p Person, at time.Time) (u User, created, changed bool, err error) {
	if p, err = p.checked(); err != nil {
		return User{}, false, false, err
	}
	for range tries {
		candidates, err := candidates(ctx, tx, p)
		if err != nil {
			return User{}, false, false, err
		}
		if len(candidates) > 0 {
			u, changed, err := complete(ctx, tx, choose(candidates, p), p, len(candidates) > 1, at)
			return u, false, changed, err
		}
		u, err := insert(ctx, tx, p, at)
		if errors.Is(err, sqldb.ErrNone) {
			continue // Another transaction made it; the next look sees it.
		}
		return u, err == nil, false, err
	}
	return User{}, false, false, conflict("The user was changed by several requests at once; repeat the request.")
}

// candidates are the users with the person's external id or address: two when
// those belong to different users. Erased users have neither. Their rows are
// taken for the rest of the transaction, so that nobody erases a user to whom
// something is being sold.
func candidates(ctx context.Context, tx *sqldb.Tx, p Person) ([]User, error) {
	// Two selects and not one with OR: each is served by its partial index. The
	// condition on erased_at is looked at again after a wait for the row.
	list, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE erased_at = 0 AND id IN (
			SELECT id FROM users WHERE external_id = $1 AND external_id <> ''
			UNION SELECT id FROM users WHERE email_key = $2 AND email_key <> '')`+tx.ForUpdate(),
		p.ExternalID, validate.EmailKey(p.Email))
	if err != nil {
		return nil, fmt.Errorf("find a user: %w", err)
	}
	return list, nil
}

// choose picks the user by external id if there is one, else the one by address.
func choose(list []User, p Person) User {
	for _, u := range list {
		if p.ExternalID != "" && u.ExternalID == p.ExternalID {
			return u
		}
	}
	return list[0]
}

// complete fills in what the user lacks and the person has. taken says that the
// person's address belongs to somebody else: then it stays there.
func complete(ctx context.Context, tx *sqldb.Tx, u User, p Person, taken bool, at time.Time) (User, bool, error) {
	if p.ExternalID != "" && u.ExternalID != "" && u.ExternalID != p.ExternalID {
		return User{}, false, conflict("A user with this email address has another external_id; send that one, or leave external_id out.")
	}
	needsID := u.ExternalID == "" && p.ExternalID != ""
	needsEmail := u.Email == "" && p.Email != "" && !taken
	if !needsID && !needsEmail {
		return u, false, nil
	}
	if needsID {
		u.ExternalID = p.ExternalID
	}
	if needsEmail {
		u.Email = p.Email
	}
	u.UpdatedAt = at
	_, err := tx.Exec(ctx, `UPDATE users SET email = $2, email_key = $3, external_id = $4, updated_at = $5 WHERE id = $1`,
		u.ID, u.Email, validate.EmailKey(u.Email), u.ExternalID, at)
	if sqldb.IsDuplicate(err) {
		return User{}, false, conflict("Another request took this email address or external_id at the same time; repeat the request.")
	}
	if err != nil {
		return User{}, false, fmt.Errorf("complete a user: %w", err)
	}
	return u, true, nil
}

// insert makes the user, or returns sqldb.ErrNone when another transaction has
// just made one with the same external id or address.
func insert(ctx context.Context, tx *sqldb.Tx, p Person, at time.Time) (User, error) {
	u, err := sqldb.One(ctx, tx, scan, `INSERT INTO users
		(email, email_key, name, external_id, operator, password_hash, proven_at, created_at, updated_at, erased_at)
		VALUES ($1, $2, $3, $4, $5, '', 0, $6, $6, 0) ON CONFLICT DO NOTHING RETURNING `+columns,
		p.Email, validate.EmailKey(p.Email), p.Name, p.ExternalID, false, at)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return User{}, fmt.Errorf("create a user: %w", err)
	}
	return u, err
}

func conflict(text string) error { return fault.New(fault.Conflict, codeUserConflict, "%s", text) }
