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

// Sessions keeps what browsers' sessions hold, for a session manager such as
// alexedwards/scs, whose Store and CtxStore it is. What they hold is not its
// business. Tokens are kept as hashes, whatever the manager does.
type Sessions struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// deletedKept is how long it is known that a session was deleted: longer than a
// request takes.
const deletedKept = time.Hour

// sessionIDLength is how much of the hash of a session names it.
const sessionIDLength = 16

// SessionID is the name by which the audit knows the session of a key, which is what the
// session manager gives this store for a token: enough of the hash under which it is
// stored to find it.
func SessionID(key string) string {
	if key == "" {
		return ""
	}
	return secret.Hash(key)[:sessionIDLength]
}

// FindCtx returns what the session of a token holds, if it has not ended.
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

// find reads a session and, where the caller asked for it by WithHolder, its user.
func (s *Sessions) find(ctx context.Context, hash string) (string, error) {
	now := s.Now()
	if holder, ok := ctx.Value(holderKey{}).(*User); ok {
		var text string
		u, err := sqldb.One(ctx, s.DB, func(r *sqldb.Row, u *User) error { return r.Scan(append(u.dest(), &text)...) },
			`SELECT `+columns+`, data FROM sessions JOIN signed_sessions ON signed_sessions.hash = sessions.hash JOIN users ON users.id = user_id
			WHERE sessions.hash = $1 AND sessions.expires_at > $2 AND data <> ''`, hash, now)
		if !errors.Is(err, sqldb.ErrNone) {
			*holder = u
			return text, err
		}
		// Nobody is signed in with it, unless it has ended.
	}
	return sqldb.One(ctx, s.DB, sqldb.Value[string],
		`SELECT data FROM sessions WHERE hash = $1 AND expires_at > $2 AND data <> ''`, hash, now)
}

// holderKey is where a context has the user of its session.
type holderKey struct{}

// WithHolder returns a context in which FindCtx also reads who was noted as signed in
// with the session, for Holder: a request for a page needs both, and one query is sooner
// answered than two.
func WithHolder(ctx context.Context) context.Context {
	return context.WithValue(ctx, holderKey{}, &User{})
}

// Holder returns the user that FindCtx read together with the session, a zero User if it
// read none. Who is signed in is what the session holds: a note may be missing.
func Holder(ctx context.Context) User {
	if u, ok := ctx.Value(holderKey{}).(*User); ok {
		return *u
	}
	return User{}
}

// CommitCtx stores what the session of a token holds from now on, and when it
// ends. A session that was deleted stays so: a request that was under way when
// somebody signed out must not bring it back.
func (s *Sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO sessions (hash, data, expires_at) VALUES ($1, $2, $3)
			ON CONFLICT (hash) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at WHERE sessions.data <> ''`,
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
		tx.Queue(`UPDATE sessions SET data = '', expires_at = $2 WHERE hash = $1`, secret.Hash(token), s.Now().Add(deletedKept))
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete a session: %w", err)
	}
	return nil
}

// Find is FindCtx without a deadline.
func (s *Sessions) Find(token string) (data []byte, found bool, err error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a deadline.
func (s *Sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx without a deadline.
func (s *Sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// Prune removes the sessions that have ended, and returns how many there were.
func (s *Sessions) Prune(ctx context.Context) (int64, error) {
	n, err := s.DB.DeleteInBatches(ctx, s.Now(), `DELETE FROM sessions WHERE hash IN (
		SELECT hash FROM sessions WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("prune sessions: %w", err)
	}
	return n, nil
}
