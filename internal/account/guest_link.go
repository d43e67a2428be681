package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// guestLink is a row of guest_links with its guest.
type guestLink struct {
	userID            int64
	email, next       string // next is "" once the guest has become an account
	expiresAt, usedAt time.Time
}

// liveGuestLink returns the link of a token, or the fault that explains why it does not work.
func liveGuestLink(ctx context.Context, r sqldb.Reader, token string, now time.Time) (guestLink, error) {
	l, err := sqldb.One(ctx, r, func(r *sqldb.Row, l *guestLink) error {
		return r.Scan(&l.userID, &l.email, &l.next, &l.expiresAt, &l.usedAt)
	}, `SELECT l.user_id, u.guest_email, COALESCE(g.next, ''), l.expires_at, l.used_at FROM guest_links AS l
		JOIN users AS u ON u.id = l.user_id LEFT JOIN guests AS g ON g.user_id = l.user_id
		WHERE l.hash = $1`, secret.Hash(token))
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return guestLink{}, invalidLink()
	case err != nil:
		return guestLink{}, err
	}
	return l, linkOver(l.usedAt, l.expiresAt, now)
}

// useGuestLink proves the address of a guest and signs in its user: the account with the address, or
// the guest itself, who becomes an account.
func (b *Store) useGuestLink(ctx context.Context, tx *sqldb.Tx, token, client string) (Entry, error) {
	now := b.Now()
	l, err := liveGuestLink(ctx, tx, token, now)
	if err != nil {
		return Entry{}, err
	}
	guest, err := lockLogin(ctx, tx, l.userID)
	if err != nil {
		return Entry{}, err
	}
	// This conditional update is the gate: it succeeds for one caller only.
	n, err := tx.Exec(ctx, `UPDATE guest_links SET used_at = $2 WHERE hash = $1 AND used_at = 0 AND expires_at > $2`,
		secret.Hash(token), now)
	if err != nil {
		return Entry{}, err
	}
	if n == 0 || !guest.Guest() {
		return Entry{}, linkUsed()
	}
	who, err := b.proveGuest(ctx, tx, guest, now)
	if err != nil {
		return Entry{}, err
	}
	facts := audit.Facts{"by": "link", "purpose": ForPurchase}
	audit.Record(tx, now, self(who.ID, client), "user.sign_in", subject(who.ID), nil, firstStep(who.User, facts))
	return Entry{User: who.User, Purpose: ForPurchase, Next: l.next, First: who.ProvenAt.Equal(now)}, nil
}

// proveGuest returns the account with the address of a guest, which is proven now. If there is none,
// the guest becomes it.
func (b *Store) proveGuest(ctx context.Context, tx *sqldb.Tx, guest login, now time.Time) (login, error) {
	key := validate.EmailKey(guest.GuestEmail)
	who, err := sqldb.One(ctx, tx, scanLogin, `UPDATE users SET updated_at = updated_at
		WHERE email_key = $1 AND email_key <> '' AND erased_at = 0 RETURNING `+columns+`, password_hash`, key)
	if err == nil {
		who.prove(now)
		who.save(tx, now)
		return who, nil
	}
	if !errors.Is(err, sqldb.ErrNone) {
		return login{}, err
	}
	guest.Email = guest.GuestEmail
	guest.GuestEmail = ""
	guest.ProvenAt = now
	guest.UpdatedAt = now
	guest.endSessions(tx, now)
	_, err = tx.Exec(ctx, `UPDATE users SET email = $2, email_key = $3, guest_email = '', guest_email_key = '',
		proven_at = $4, updated_at = $4, session_epoch = $5 WHERE id = $1`,
		guest.ID, guest.Email, key, now, guest.SessionEpoch)
	if sqldb.IsDuplicate(err) {
		return login{}, conflict("Another request took this email address at the same time; open the link again.")
	}
	if err != nil {
		return login{}, fmt.Errorf("make a guest an account: %w", err)
	}
	endGuest(tx, guest.ID, now)
	return guest, nil
}

// Absorb turns a user into a tombstone, in the transaction that moves the user's licenses and orders to
// another one. It ends the user's sessions, links and guest browsers.
func Absorb(ctx context.Context, tx *sqldb.Tx, from, into int64, at time.Time) (User, error) {
	u, err := lockLogin(ctx, tx, from)
	if err != nil {
		return User{}, err
	}
	tx.Queue(`UPDATE users SET email = '', email_key = '', name = '', external_id = '', password_hash = '',
		guest_email = '', guest_email_key = '', proven_at = 0, pending_since = 0, session_epoch = session_epoch + 1,
		updated_at = $2, erased_at = $2, merged_into = $3 WHERE id = $1`, from, at, into)
	tx.Queue(`UPDATE users SET merged_into = $2 WHERE merged_into = $1 AND merged_into <> 0`, from, into)
	endGuest(tx, from, at)
	tx.Queue(`DELETE FROM login_links WHERE user_id = $1`, from)
	tx.Queue(`DELETE FROM signed_sessions WHERE user_id = $1`, from)
	return u.User, nil
}

// Merged returns the users that were merged into a user. Tokens that were given to them keep their
// subjects.
func Merged(ctx context.Context, r sqldb.Reader, userID int64) ([]int64, error) {
	ids, err := sqldb.All(ctx, r, sqldb.Value[int64],
		`SELECT id FROM users WHERE merged_into = $1 AND merged_into <> 0 ORDER BY id`, userID)
	if err != nil {
		return nil, fmt.Errorf("find who was merged into a user: %w", err)
	}
	return ids, nil
}

func linkUsed() error {
	return fault.New(fault.Unknown, CodeLinkUsed, "This link was used already, and works only once; ask for a new one.")
}

// linkOver returns the fault of a link that was used or has expired.
func linkOver(usedAt, expiresAt, now time.Time) error {
	switch {
	case !usedAt.IsZero():
		return linkUsed()
	case !expiresAt.After(now):
		return fault.New(
			fault.Unknown,
			CodeLinkExpired,
			"This link no longer works: its time is over, or another one was used instead. Ask for a new one.",
		)
	}
	return nil
}
