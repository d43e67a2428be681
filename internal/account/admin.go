package account

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// PlainBuyer refuses users who have more than licenses: a role, a membership, an open invitation or a
// second factor. Otherwise an act on the account could give its rights to another person.
func (b *Store) PlainBuyer(ctx context.Context, r sqldb.Reader, userID int64) error {
	u, err := sqldb.One(ctx, r, scan, `SELECT `+columns+` FROM users WHERE id = $1`, userID)
	if u, err = found(u, err, "read a user"); err != nil {
		return err
	}
	if err := u.present(); err != nil {
		return err
	}
	has := ""
	switch {
	case u.Operator():
		has = "is an operator"
	case u.SecondFactor:
		has = "has a second factor"
	}
	if has == "" && b.Serves != nil {
		serves, err := b.Serves(ctx, r, u.ID)
		if err != nil {
			return err
		}
		if serves {
			has = "is a member of a partner"
		}
	}
	if has == "" && u.Email != "" {
		invited, err := invitation.Waits(ctx, r, u.Email, b.Now())
		if err != nil {
			return err
		}
		if invited {
			has = "has an open invitation to a team"
		}
	}
	if has == "" {
		return nil
	}
	return fault.New(fault.Conflict, CodeHasRole,
		"%s %s. Remove that first: only buyers without it can be merged or get another email address.",
		personOf(u), has)
}

// personOf names a user in a sentence.
func personOf(u User) string { return fmt.Sprintf("The person with the number %d", u.ID) }

// EndAll ends all sessions and links of a user, in the caller's transaction.
func (b *Store) EndAll(ctx context.Context, tx *sqldb.Tx, userID int64) (User, error) {
	l, err := lockLogin(ctx, tx, userID)
	if err != nil {
		return User{}, err
	}
	at := b.Now()
	l.endSessions(tx, at)
	l.save(tx, at)
	return l.User, nil
}

// SetEmail gives a buyer another email address, by an admin. The address is not proven until its
// mailed link is opened. Both addresses are told. All sessions and links end, and the password is
// deleted, because the owner of the old mailbox may know it. For a guest it corrects the typed address,
// and mails the link to the right one.
func (b *Store) SetEmail(ctx context.Context, by audit.Actor, userID int64, email string) (u User, err error) {
	if email, err = validate.Email("email", email); err != nil {
		return User{}, err
	}
	return b.changeLogin(ctx, userID, "change an address", func(tx *sqldb.Tx, l *login, now time.Time) error {
		if err := b.PlainBuyer(ctx, tx, l.ID); err != nil || l.Address() == email {
			return err
		}
		audit.Record(tx, now, by, "user.email", subject(l.ID), nil, audit.Facts{"guest": l.Guest()})
		if l.Guest() {
			return b.correctGuest(ctx, tx, l, email, now)
		}
		old := l.User
		l.endSessions(tx, now)
		l.Email = email
		l.ProvenAt = time.Time{}
		l.UpdatedAt = now
		_, err := tx.Exec(ctx, `UPDATE users SET email = $2, email_key = $3, password_hash = '', proven_at = 0,
			pending_since = 0, updated_at = $4, session_epoch = $5 WHERE id = $1`,
			l.ID, email, validate.EmailKey(email), now, l.SessionEpoch)
		if sqldb.IsDuplicate(err) {
			return fault.New(fault.Conflict, codeUserConflict,
				"Another person has this email address. Merge the two instead.").On("email")
		}
		if err != nil {
			return err
		}
		b.tellOldEmail(tx, old, by, now)
		_, err = b.post(ctx, tx, l.User, link{purpose: ForSignIn}, movedWords, now)
		return err
	})
}

// correctGuest corrects the address that a guest typed. Links to the old one end.
func (b *Store) correctGuest(ctx context.Context, tx *sqldb.Tx, l *login, email string, now time.Time) error {
	l.GuestEmail = email
	l.UpdatedAt = now
	tx.Queue(`UPDATE users SET guest_email = $2, guest_email_key = $3, updated_at = $4 WHERE id = $1`,
		l.ID, email, validate.EmailKey(email), now)
	tx.Queue(`DELETE FROM guest_links WHERE user_id = $1`, l.ID)
	return b.mailGuestAgain(ctx, tx, l.ID)
}
