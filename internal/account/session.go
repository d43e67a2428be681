package account

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Sessions stores the data of browser sessions. It implements Store and CtxStore of the session
// manager alexedwards/scs, and does not interpret the data. It stores only hashes of tokens, even
// if the manager already hashes them.
type Sessions struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// deletedKept is how long a deleted session is remembered: longer than a request takes.
const deletedKept = time.Hour

// sessionIDLength is the length of the prefix of a session's hash that identifies it.
const sessionIDLength = 16

// SessionID returns the audit's id of a session, for the key that the session manager passes to
// this store. It is a prefix of the stored hash, long enough to find the session.
func SessionID(key string) string {
	if key == "" {
		return ""
	}
	return secret.Hash(key)[:sessionIDLength]
}

// FindCtx returns the data of the session of a token, if it has not ended.
func (s *Sessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	text, err := s.find(ctx, secret.Hash(token))
	if errors.Is(err, sqldb.ErrNone) {
		return nil, false, nil
	}
	if err == nil {
		data, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil {
		return nil, false, fmt.Errorf("find a session: %w", err)
	}
	return data, true, nil
}

// find reads a session and, if the caller asked for it by WithHolder, its user.
func (s *Sessions) find(ctx context.Context, hash string) (string, error) {
	now := s.Now()
	if holder, ok := ctx.Value(holderKey{}).(*User); ok {
		var text string
		u, err := sqldb.One(
			ctx,
			s.DB,
			func(r *sqldb.Row, u *User) error { return r.Scan(append(u.dest(), &text)...) },
			`SELECT `+columns+`, data FROM sessions JOIN signed_sessions ON signed_sessions.hash = sessions.hash
				JOIN users ON users.id = user_id
			WHERE sessions.hash = $1 AND sessions.expires_at > $2 AND data <> ''`,
			hash,
			now,
		)
		if !errors.Is(err, sqldb.ErrNone) {
			*holder = u
			return text, err
		}
		// The session has no signed-in user, or it has ended.
	}
	return sqldb.One(ctx, s.DB, sqldb.Value[string],
		`SELECT data FROM sessions WHERE hash = $1 AND expires_at > $2 AND data <> ''`, hash, now)
}

// holderKey is the context key of the session's user.
type holderKey struct{}

// WithHolder returns a context in which FindCtx also reads the user noted for the session, for
// Holder. Page requests need both, and one query is faster than two.
func WithHolder(ctx context.Context) context.Context {
	return context.WithValue(ctx, holderKey{}, &User{})
}

// Holder returns the user that FindCtx read together with the session, or a zero User. The data of
// the session decides on the signed-in user: the note may be missing.
func Holder(ctx context.Context) User {
	if u, ok := ctx.Value(holderKey{}).(*User); ok {
		return *u
	}
	return User{}
}

// CommitCtx stores the data and expiry of the session of a token. A deleted session stays deleted:
// a request that was running during a sign-out must not bring it back.
func (s *Sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO sessions (hash, data, expires_at) VALUES ($1, $2, $3)
			ON CONFLICT (hash) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at
			WHERE sessions.data <> ''`,
			secret.Hash(token), base64.StdEncoding.EncodeToString(data), expiry)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store a session: %w", err)
	}
	return nil
}

// DeleteCtx ends the session of a token, if there is one.
func (s *Sessions) DeleteCtx(ctx context.Context, token string) error {
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(
			`UPDATE sessions SET data = '', expires_at = $2 WHERE hash = $1`,
			secret.Hash(token),
			s.Now().Add(deletedKept),
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete a session: %w", err)
	}
	return nil
}

// Find calls FindCtx without a deadline.
func (s *Sessions) Find(token string) (data []byte, found bool, err error) {
	return s.FindCtx(context.Background(), token)
}

// Commit calls CommitCtx without a deadline.
func (s *Sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete calls DeleteCtx without a deadline.
func (s *Sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
