package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// sessionKept is how long the user of a session is stored: the maximum life of a session.
const sessionKept = 31 * 24 * time.Hour

// maxSessions is how many sessions people see, most recently used first.
const maxSessions = 50

// SignedSession is a session of a user, in the form shown to them.
type SignedSession struct {
	ID      string // the id in the audit
	Browser string // a description of the browser
	Client  string // the address it was last used from
	BegunAt time.Time
	SeenAt  time.Time // accurate to a few minutes

	hash string
}

func scanSession(r *sqldb.Row, s *SignedSession) error {
	err := r.Scan(&s.hash, &s.Browser, &s.Client, &s.BegunAt, &s.SeenAt)
	s.ID = s.hash[:min(len(s.hash), sessionIDLength)]
	return err
}

// NewSession describes the sign-in of a session.
type NewSession struct {
	UserID, Epoch   int64
	Browser, Client string
	BegunAt         time.Time
	Replaces        string // the key of the session that it continues; "": none
	NewBrowser      bool   // sign-in from a browser that is new for the user: they are notified
}

// NoteSession records the user of the session that is stored under a key, and its use at this
// moment.
func (b *Store) NoteSession(ctx context.Context, key string, s NewSession) error {
	now := b.Now()
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		hash := secret.Hash(key)
		if s.Replaces != "" {
			tx.Queue(
				`UPDATE signed_sessions SET hash = $2 WHERE hash = $1 AND user_id = $3`,
				secret.Hash(s.Replaces),
				hash,
				s.UserID,
			)
		}
		tx.Queue(`INSERT INTO signed_sessions (hash, user_id, epoch, browser, client, begun_at, seen_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (hash) DO UPDATE SET
			user_id = excluded.user_id, epoch = excluded.epoch, browser = excluded.browser, client = excluded.client,
			seen_at = excluded.seen_at`,
			hash, s.UserID, s.Epoch, s.Browser, s.Client, s.BegunAt, now, now.Add(sessionKept))
		if !s.NewBrowser || !b.Mail.Sends(mail.NewSignIn) {
			return nil
		}
		u, err := sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1 AND erased_at = 0`, s.UserID)
		if errors.Is(err, sqldb.ErrNone) {
			return nil
		}
		b.tellSignIn(tx, u, s, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("note who is signed in: %w", err)
	}
	return nil
}

// SessionsOf lists a user's signed-in sessions, most recently used first.
func (b *Store) SessionsOf(ctx context.Context, u User) ([]SignedSession, error) {
	list, err := sqldb.All(ctx, b.DB, scanSession, `SELECT g.hash, g.browser, g.client, g.begun_at, g.seen_at
		FROM signed_sessions AS g JOIN sessions ON sessions.hash = g.hash
		WHERE g.user_id = $1 AND g.epoch = $2 AND sessions.expires_at > $3 AND sessions.data <> ''
		ORDER BY g.seen_at DESC LIMIT $4`, u.ID, u.SessionEpoch, b.Now(), maxSessions)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}

// EndSession ends one of a user's sessions. by is the user, or an operator. Sessions are read at
// every request, so it takes effect on every node with the next one.
func (b *Store) EndSession(ctx context.Context, by audit.Actor, u User, id string) error {
	list, err := b.SessionsOf(ctx, u)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.ID == id {
			return b.endSession(ctx, by, u, s)
		}
	}
	return sessionOver()
}

// endSession ends a listed session. It deletes the row first: if the row is missing, the session
// has ended or continues under another key, and nothing is changed here.
func (b *Store) endSession(ctx context.Context, by audit.Actor, u User, s SignedSession) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		_, err := sqldb.One(
			ctx,
			tx,
			sqldb.Value[string],
			`DELETE FROM signed_sessions WHERE hash = $1 AND user_id = $2 RETURNING hash`,
			s.hash,
			u.ID,
		)
		if errors.Is(err, sqldb.ErrNone) {
			return sessionOver()
		}
		tx.Queue(`UPDATE sessions SET data = '', expires_at = $2 WHERE hash = $1`, s.hash, now.Add(deletedKept))
		audit.Record(tx, now, by, "user.session_end", subject(u.ID), audit.Facts{"session": s.ID}, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// sessionOver returns the fault for a session that has ended.
func sessionOver() error {
	return fault.New(
		fault.Missing,
		CodeUnknownSession,
		"There is no such session; it may have ended already. List the sessions again.",
	)
}
