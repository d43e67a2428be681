package ui

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"
)

// How long a session lasts: at most lifetime, and idle without a visit. A visit
// is written down every touch and not each time, so idle may be that much short.
const (
	lifetime = 30 * 24 * time.Hour
	idle     = 7 * 24 * time.Hour
	touch    = 5 * time.Minute
)

// Names of the values of a session.
const (
	keyUser   = "user"
	keyEpoch  = "epoch"
	keyAt     = "at"
	keyFactor = "factor"
	keySeen   = "seen"
	keyFlash  = "flash"
	keyValue  = "kept." // a prefix, as stored sessions have it
)

// sessionsKey marks the context of a request whose session is loaded.
type sessionsKey struct{}

// touchedKey marks the context of a request that wrote down its visit.
type touchedKey struct{}

// Sessions know who is signed in at a browser, by a cookie. A visitor gets one when
// there is something to store, and not before.
type Sessions struct {
	// Fail shows the page of a store that is unavailable. NewSessions sets one
	// without a brand; Pages.Fail is better.
	Fail func(w http.ResponseWriter, r *http.Request, err error)

	scs *scs.SessionManager
}

// Signed is who is signed in at a browser.
type Signed struct {
	UserID int64
	Epoch  int64     // of the user's sessions; another one than the user's now means signed out
	At     time.Time // when the person proved who they are
	Factor bool      // they proved it by a second factor as well
}

// NewSessions makes sessions that are stored in store. secure says that browsers
// reach us by https only; the cookie is then never sent another way.
func NewSessions(store scs.CtxStore, secure bool) *Sessions {
	name := "claviger"
	if secure {
		// Browsers accept a cookie of this name only from this host, over https.
		name = "__Host-claviger"
	}
	// Not scs.New: it starts a goroutine that never ends. The price is that the
	// sessions of two stores cannot be wrapped around one another.
	m := &scs.SessionManager{
		Store:    idleStore{store},
		Lifetime: lifetime,
		Codec:    codec{},
		Cookie:   scs.SessionCookie{Name: name, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure, Persist: true},
	}
	return &Sessions{Fail: plain.Fail, scs: m}
}

// idleStore ends a session that is not used for a while. scs could do so too, but
// would then write on each request. The store below is given a hash of the token, which
// scs could do as well, but nobody would know it then; see Key.
type idleStore struct{ scs.CtxStore }

// CommitCtx stores the session for as long as it may be idle, if not shorter.
func (s idleStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	if until := time.Now().Add(idle); until.Before(expiry) {
		expiry = until
	}
	return s.CtxStore.CommitCtx(ctx, storeKey(token), data, expiry)
}

// FindCtx returns what the session of a token holds.
func (s idleStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	return s.CtxStore.FindCtx(ctx, storeKey(token))
}

// DeleteCtx ends the session of a token.
func (s idleStore) DeleteCtx(ctx context.Context, token string) error {
	return s.CtxStore.DeleteCtx(ctx, storeKey(token))
}

// storeKey is what the store knows a token by.
func storeKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Wrap loads the session of a request, and saves it before the answer when it has
// changed. When the store is unavailable, a page says so: nobody counts as signed
// out because of it.
func (s *Sessions) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Cookie")
		ctx, err := s.scs.Load(r.Context(), s.cookie(r))
		if err != nil {
			s.Fail(w, r, fmt.Errorf("load the session: %w", unavailable{err}))
			return
		}
		ctx = context.WithValue(ctx, sessionsKey{}, s)
		if seen := s.scs.GetInt64(ctx, keySeen); seen != 0 && time.Since(time.Unix(0, seen)) > touch {
			s.scs.Put(ctx, keySeen, time.Now().UnixNano())
			ctx = context.WithValue(ctx, touchedKey{}, true)
		}
		r = r.WithContext(ctx)
		sw := &sessionWriter{ResponseWriter: w, request: r, sessions: s}
		next.ServeHTTP(sw, r)
		sw.save() //nolint:contextcheck // it has the request, and WriteHeader calls it too
	})
}

// cookie is the token of a request's session, "" if it has none.
func (s *Sessions) cookie(r *http.Request) string {
	cookie, err := r.Cookie(s.scs.Cookie.Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// unavailable is the error of a store that did not answer.
type unavailable struct{ error }

// Unwrap returns the error of the store.
func (e unavailable) Unwrap() error { return e.error }

// Unavailable says that it is worth trying again.
func (e unavailable) Unavailable() bool { return true }

// sessionWriter saves the session before the first byte of the answer is out.
// That of scs goes on with the handler's answer when saving fails.
type sessionWriter struct {
	http.ResponseWriter
	request  *http.Request
	sessions *Sessions
	saved    bool // saving was tried
	lost     bool // it failed, and the answer is a page that says so
	written  bool
}

// save writes the session and its cookie, once. It reports whether the handler's
// answer may go out.
func (w *sessionWriter) save() bool {
	if w.saved {
		return !w.lost
	}
	w.saved = true
	s, ctx := w.sessions.scs, w.request.Context()
	switch s.Status(ctx) {
	case scs.Modified:
		if s.GetInt64(ctx, keySeen) == 0 {
			s.Put(ctx, keySeen, time.Now().UnixNano())
		}
		token, expiry, err := s.Commit(ctx)
		if err != nil {
			w.lost, w.written = true, true
			w.Header().Del("Location")
			w.Header().Del(headerRedirect)
			w.Header().Del("Content-Disposition")
			w.sessions.Fail(w.ResponseWriter, w.request, fmt.Errorf("save the session: %w", unavailable{err}))
			return false
		}
		s.WriteSessionCookie(ctx, w.ResponseWriter, token, expiry)
	case scs.Destroyed:
		s.WriteSessionCookie(ctx, w.ResponseWriter, "", time.Time{})
	case scs.Unmodified:
		return true
	}
	w.Header().Set("Cache-Control", "no-store")
	return true
}

// WriteHeader saves the session and begins the answer.
func (w *sessionWriter) WriteHeader(status int) {
	if w.save() {
		w.written = true
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write saves the session if need be and goes on with the answer.
func (w *sessionWriter) Write(b []byte) (int, error) {
	if !w.save() {
		return len(b), nil // the error was answered and logged already
	}
	w.written = true
	return w.ResponseWriter.Write(b)
}

// Written reports whether the answer has begun.
func (w *sessionWriter) Written() bool { return w.written }

// Unwrap gives http.ResponseController the writer below.
func (w *sessionWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SignIn makes this the session of a user. It gets a new token, so that nobody
// who knew the old one is signed in with them.
func (s *Sessions) SignIn(ctx context.Context, who Signed) error {
	if err := s.Renew(ctx); err != nil {
		return err
	}
	s.scs.Put(ctx, keyUser, who.UserID)
	s.scs.Put(ctx, keyEpoch, who.Epoch)
	s.scs.Put(ctx, keyAt, who.At.UnixNano())
	s.scs.Put(ctx, keyFactor, who.Factor)
	s.scs.Put(ctx, keySeen, time.Now().UnixNano())
	return nil
}

// Renew gives this session a new token: whoever knew the old one has nothing of what is
// stored from now on.
func (s *Sessions) Renew(ctx context.Context) error {
	if err := s.scs.RenewToken(ctx); err != nil {
		return fmt.Errorf("renew the session: %w", unavailable{err})
	}
	return nil
}

// Key is what the store knows this session by now, "" when there is none.
func (s *Sessions) Key(ctx context.Context) string {
	if token := s.scs.Token(ctx); token != "" {
		return storeKey(token)
	}
	return ""
}

// Touched reports whether this request wrote down that the session was used, which
// happens every few minutes.
func (s *Sessions) Touched(ctx context.Context) bool { return ctx.Value(touchedKey{}) != nil }

// Token is the secret of this request's session, as it was when the request came;
// "" when it has none.
func (s *Sessions) Token(ctx context.Context) string { return s.scs.Token(ctx) }

// SignOut ends this session and everything in it.
func (s *Sessions) SignOut(ctx context.Context) error {
	if err := s.scs.Destroy(ctx); err != nil {
		return fmt.Errorf("end the session: %w", unavailable{err})
	}
	return nil
}

// SignedIn returns who is signed in at the browser of this request.
func (s *Sessions) SignedIn(ctx context.Context) (Signed, bool) {
	id := s.scs.GetInt64(ctx, keyUser)
	if id == 0 {
		return Signed{}, false
	}
	return Signed{
		UserID: id,
		Epoch:  s.scs.GetInt64(ctx, keyEpoch),
		At:     time.Unix(0, s.scs.GetInt64(ctx, keyAt)).UTC(),
		Factor: s.scs.GetBool(ctx, keyFactor),
	}, true
}

// SignedInNow returns who is signed in with a session's token as it is stored now, for
// answers that last longer than a request.
func (s *Sessions) SignedInNow(ctx context.Context, token string) (Signed, bool, error) {
	ctx, err := s.scs.Load(withoutValues{ctx}, token)
	if err != nil {
		return Signed{}, false, fmt.Errorf("load the session: %w", unavailable{err})
	}
	signed, ok := s.SignedIn(ctx) //nolint:contextcheck // it is ctx, without the session of the request
	return signed, ok, nil
}

// Holder returns who is signed in with the cookie of a request that Wrap did not see, and
// the key of the session.
func (s *Sessions) Holder(ctx context.Context, r *http.Request) (signed Signed, key string, ok bool, err error) {
	token := s.cookie(r)
	if token == "" {
		return Signed{}, "", false, nil
	}
	signed, ok, err = s.SignedInNow(ctx, token)
	return signed, storeKey(token), ok, err
}

// withoutValues hides the session that a request was loaded with.
type withoutValues struct{ context.Context }

// Value returns nothing.
func (withoutValues) Value(any) any { return nil }

// Put stores a value of this browser under a name, such as the secret that binds a
// mailed link to it. Signing out removes it.
func (s *Sessions) Put(ctx context.Context, name, value string) {
	s.scs.Put(ctx, keyValue+name, value)
}

// Get returns a stored value, "" if there is none.
func (s *Sessions) Get(ctx context.Context, name string) string {
	return s.scs.GetString(ctx, keyValue+name)
}

// Pop returns a stored value and removes it.
func (s *Sessions) Pop(ctx context.Context, name string) string {
	return s.scs.PopString(ctx, keyValue+name)
}
