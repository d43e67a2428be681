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
)

// LinkLife is how long a sign-in link works.
const LinkLife = 15 * time.Minute

// linkKept is how long a dead link is kept, so that its holder learns that it is
// dead and not that it never was.
const linkKept = 24 * time.Hour

// Link makes a link that signs a user in once. It is shown this once; only its
// hash is kept.
func (b *Book) Link(ctx context.Context, by audit.Actor, userID int64) (url string, expires time.Time, err error) {
	token := secret.Make("")
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := lock(ctx, tx, userID); err != nil {
			return err
		}
		now := b.Now()
		expires = now.Add(LinkLife)
		tx.Queue(`DELETE FROM login_links WHERE user_id = $1 AND expires_at < $2`, userID, now.Add(-linkKept))
		tx.Queue(`INSERT INTO login_links (user_id, hash, created_at, expires_at, used_at) VALUES ($1, $2, $3, $4, 0)`,
			userID, secret.Hash(token), now, expires)
		audit.Record(tx, now, by, "user.link", subject(userID), nil, nil)
		return nil
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("make a sign-in link: %w", err)
	}
	return b.PublicURL + "/sign-in/link?token=" + token, expires, nil
}

// link is a row of login_links.
type link struct {
	userID            int64
	expiresAt, usedAt time.Time
}

func scanLink(r *sqldb.Row, l *link) error { return r.Scan(&l.userID, &l.expiresAt, &l.usedAt) }

// UseLink returns the user whom the token of a link signs in. Of any number who
// use it at once, one gets in.
func (b *Book) UseLink(ctx context.Context, token string) (User, error) {
	var u User
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		// This conditional update is the gate: it succeeds for one caller only.
		id, err := sqldb.One(ctx, tx, sqldb.Value[int64], `UPDATE login_links SET used_at = $2
			WHERE hash = $1 AND used_at = 0 AND expires_at > $2 RETURNING user_id`, secret.Hash(token), now)
		if errors.Is(err, sqldb.ErrNone) {
			return deadLink(ctx, tx, token)
		}
		if err != nil {
			return err
		}
		u, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1`, id)
		if err != nil {
			return err
		}
		audit.Record(tx, now, audit.Actor{Kind: audit.ByUser, ID: id}, "user.sign_in", subject(id), nil, audit.Facts{"by": "link"})
		return nil
	})
	if err != nil {
		return User{}, fmt.Errorf("use a sign-in link: %w", err)
	}
	return u, nil
}

// deadLink says why a link does not work.
func deadLink(ctx context.Context, tx *sqldb.Tx, token string) error {
	l, err := sqldb.One(ctx, tx, scanLink,
		`SELECT user_id, expires_at, used_at FROM login_links WHERE hash = $1`, secret.Hash(token))
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return fault.New(fault.Unknown, "invalid_link", "This sign-in link is not valid; check that it was copied whole, or ask for a new one.")
	case err != nil:
		return err
	case !l.usedAt.IsZero():
		return fault.New(fault.Unknown, "link_used", "This sign-in link was used already; ask for a new one.")
	}
	return fault.New(fault.Unknown, "link_expired", "This sign-in link has expired; ask for a new one.")
}
