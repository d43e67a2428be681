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

// Limits of a session: its age and its time without use. Last use is stored at most every touch, so
// the idle timeout is accurate to that.
const (
	SessionLife = 30 * 24 * time.Hour
	SessionIdle = 7 * 24 * time.Hour
	touch       = 5 * time.Minute
)

// Names of the values of a session.
const (
	keyUser     = "user"
	keyEpoch    = "epoch"
	keyStaff    = "staff-epoch"
	keyAt       = "at"
	keyFactor   = "factor"
	keyAssisted = "assisted"
	keySeen     = "seen" // last use
	keyUsed     = "used" // last use before the staff session was idle for too long
	keyFlash    = "flash"
	keyValue    = "kept." // a prefix; stored sessions have this name
)

// sessionsKey marks the context of a request with a loaded session.
type sessionsKey struct{}

// touchedKey marks the context of a request that stored its last use.
type touchedKey struct{}

// Sessions identifies the signed-in person of a browser by a cookie. Visitors get a cookie only
// when there is something to store.
type Sessions struct {
	// Pages have the error page that is shown if the store is unavailable. NewSessions sets pages
	// without a brand.
	Pages *Pages

	// Now is the clock of the service; NewSessions sets the machine's clock.
	Now func() time.Time

	// Limits of a session in the console and the portal: time since the person authenticated, and
	// time without use. 0: no limit. See StaffOver.
	StaffLife, StaffIdle time.Duration

	scs *scs.SessionManager
}

// Signed is the person signed in at a browser.
type Signed struct {
	UserID   int64
	Epoch    int64     // of the user's sessions; signed out if it differs from the user's current one
	Staff    int64     // the same for sessions in the console and the portal
	At       time.Time // time of authentication
	Factor   bool      // with a second factor
	Assisted bool      // with a link that someone else made
	Used     time.Time // last use, accurate to a few minutes. SignIn sets it
}

// NewSessions returns sessions stored in store. secure means that browsers reach us only over
// https; the cookie is then never sent another way.
func NewSessions(store scs.CtxStore, secure bool) *Sessions {
	name := "claviger"
	if secure {
		// Browsers accept a cookie with this name only from this host, over https.
		name = "__Host-claviger"
	}
	// Not scs.New: it starts a goroutine that never ends. The price is that the sessions of two
	// stores cannot be nested.
	s := &Sessions{Pages: plain, Now: time.Now}
	s.scs = &scs.SessionManager{
		Store:    idleStore{store, s},
		Lifetime: SessionLife,
		Codec:    codec{},
		Cookie: scs.SessionCookie{
			Name:     name,
			Path:     "/",
			HttpOnly: true,
			SameSite: http.SameSiteLaxMode,
			Secure:   secure,
			Persist:  true,
		},
	}
	return s
}

// idleStore ends idle sessions. scs could do that too, but with a write per request. The store
// below gets a hash of the token. scs could hash too, but would not expose the hash; see Key.
type idleStore struct {
	scs.CtxStore
	sessions *Sessions
}

// CommitCtx stores the session until its idle timeout, or its expiry if that is earlier.
func (s idleStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	if until := s.sessions.Now().Add(SessionIdle); until.Before(expiry) {
		expiry = until
	}
	return s.CtxStore.CommitCtx(ctx, storeKey(token), data, expiry)
}

// FindCtx returns the data of the session of a token.
func (s idleStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	return s.CtxStore.FindCtx(ctx, storeKey(token))
}

// DeleteCtx ends the session of a token.
func (s idleStore) DeleteCtx(ctx context.Context, token string) error {
	return s.CtxStore.DeleteCtx(ctx, storeKey(token))
}

// storeKey returns the key of a token in the store.
func storeKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Wrap loads the session of a request, and saves a changed one before the answer. If the store is
// unavailable, it shows an error page: no one is signed out because of it.
func (s *Sessions) Wrap(next http.Handler) http.Handler { return s.wrap(next, s.use) }

// WrapLive is Wrap for automatic requests of an open page, which do not count as use.
func (s *Sessions) WrapLive(next http.Handler) http.Handler {
	return s.wrap(next, func(ctx context.Context) context.Context { return ctx })
}

func (s *Sessions) wrap(next http.Handler, use func(context.Context) context.Context) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Cookie")
		ctx, err := s.scs.Load(r.Context(), s.cookie(r))
		if err != nil {
			s.Pages.Fail(w, r, fmt.Errorf("load the session: %w", unavailable{err}))
			return
		}
		r = r.WithContext(use(context.WithValue(ctx, sessionsKey{}, s)))
		sw := &sessionWriter{ResponseWriter: w, request: r, sessions: s}
		next.ServeHTTP(sw, r)
		sw.save() //nolint:contextcheck // it has the request, and WriteHeader also calls it
	})
}

// cookie returns the token of a request's session, "" if it has none.
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

// Unavailable reports that a retry may help.
func (e unavailable) Unavailable() bool { return true }

// sessionWriter saves the session before the first byte of the answer. The writer of scs continues
// with the handler's answer if saving fails.
type sessionWriter struct {
	http.ResponseWriter
	request  *http.Request
	sessions *Sessions
	saved    bool // tried to save
	lost     bool // saving failed, and the answer is an error page
	written  bool
}

// save stores the session and its cookie, once. It reports whether the handler's answer may be
// sent.
func (w *sessionWriter) save() bool {
	if w.saved {
		return !w.lost
	}
	w.saved = true
	s := w.sessions.scs
	ctx := w.request.Context()
	switch s.Status(ctx) {
	case scs.Modified:
		if s.GetInt64(ctx, keySeen) == 0 {
			w.sessions.begin(ctx)
		}
		token, expiry, err := s.Commit(ctx)
		if err != nil {
			w.lost = true
			w.written = true
			w.Header().Del("Location")
			w.Header().Del(headerRedirect)
			w.Header().Del("Content-Disposition")
			w.sessions.Pages.Fail(w.ResponseWriter, w.request, fmt.Errorf("save the session: %w", unavailable{err}))
			return false
		}
		// Browsers use the machine's clock, not that of the service.
		s.WriteSessionCookie(ctx, w.ResponseWriter, token, time.Now().Add(expiry.Sub(w.sessions.Now())))
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

// Write saves the session if needed and writes the answer.
func (w *sessionWriter) Write(b []byte) (int, error) {
	if !w.save() {
		return len(b), nil // already answered and logged
	}
	w.written = true
	return w.ResponseWriter.Write(b)
}

// Written reports whether the answer has begun.
func (w *sessionWriter) Written() bool { return w.written }

// Unwrap returns the inner writer for http.ResponseController.
func (w *sessionWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SignIn makes this the session of a user. It gets a new token, so knowledge of the old one is
// worthless.
func (s *Sessions) SignIn(ctx context.Context, who Signed) error {
	if err := s.Renew(ctx); err != nil {
		return err
	}
	s.scs.Put(ctx, keyUser, who.UserID)
	s.scs.Put(ctx, keyEpoch, who.Epoch)
	s.scs.Put(ctx, keyStaff, who.Staff)
	s.scs.Put(ctx, keyAt, who.At.UnixNano())
	s.scs.Put(ctx, keyFactor, who.Factor)
	s.scs.Put(ctx, keyAssisted, who.Assisted)
	s.scs.Put(ctx, keyUsed, s.Now().UnixNano())
	return nil
}

// Renew gives this session a new token. The old one gives no access to data stored from now on.
func (s *Sessions) Renew(ctx context.Context) error {
	if err := s.scs.RenewToken(ctx); err != nil {
		return fmt.Errorf("renew the session: %w", unavailable{err})
	}
	s.begin(ctx)
	return nil
}

// begin sets the end of the session by the clock of the service: scs used the machine's clock.
func (s *Sessions) begin(ctx context.Context) {
	now := s.Now()
	s.scs.SetDeadline(ctx, now.Add(SessionLife).UTC())
	s.scs.Put(ctx, keySeen, now.UnixNano())
}

// Key returns the key of this session in the store, "" if there is none.
func (s *Sessions) Key(ctx context.Context) string {
	if token := s.scs.Token(ctx); token != "" {
		return storeKey(token)
	}
	return ""
}

// Touched reports whether this request stored the session's last use, which happens every few
// minutes.
func (s *Sessions) Touched(ctx context.Context) bool { return ctx.Value(touchedKey{}) != nil }

// Token returns the secret of this request's session at the start of the request, "" if it has
// none.
func (s *Sessions) Token(ctx context.Context) string { return s.scs.Token(ctx) }

// SignOut ends this session and deletes its data.
func (s *Sessions) SignOut(ctx context.Context) error {
	if err := s.scs.Destroy(ctx); err != nil {
		return fmt.Errorf("end the session: %w", unavailable{err})
	}
	return nil
}

// SignedIn returns the person signed in at the browser of this request.
func (s *Sessions) SignedIn(ctx context.Context) (Signed, bool) {
	id := s.scs.GetInt64(ctx, keyUser)
	if id == 0 {
		return Signed{}, false
	}
	return Signed{
		UserID:   id,
		Epoch:    s.scs.GetInt64(ctx, keyEpoch),
		Staff:    s.scs.GetInt64(ctx, keyStaff),
		At:       s.time(ctx, keyAt),
		Factor:   s.scs.GetBool(ctx, keyFactor),
		Assisted: s.scs.GetBool(ctx, keyAssisted),
		Used:     s.used(ctx),
	}, true
}

// SignedInNow returns the person signed in with a session's token as stored now, for answers that
// outlast a request.
func (s *Sessions) SignedInNow(ctx context.Context, token string) (Signed, bool, error) {
	ctx, err := s.scs.Load(withoutValues{ctx}, token)
	if err != nil {
		return Signed{}, false, fmt.Errorf("load the session: %w", unavailable{err})
	}
	signed, ok := s.SignedIn(ctx) //nolint:contextcheck // it is ctx without the session of the request
	return signed, ok, nil
}

// Holder returns the person signed in with the cookie of a request that Wrap did not handle, and
// the key of the session.
func (s *Sessions) Holder(ctx context.Context, r *http.Request) (signed Signed, key string, ok bool, err error) {
	token := s.cookie(r)
	if token == "" {
		return Signed{}, "", false, nil
	}
	signed, ok, err = s.SignedInNow(ctx, token)
	return signed, storeKey(token), ok, err
}

// withoutValues hides the loaded session of a request.
type withoutValues struct{ context.Context }

// Value returns nothing.
func (withoutValues) Value(any) any { return nil }

// Put stores a value for this browser under a name, such as the secret that binds an emailed link
// to it. Signing out removes it.
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
