package ui_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/go-cmp/cmp"

	"claviger/internal/ui"
	"claviger/internal/wire"
)

// memory stores sessions in a map, and can be unavailable.
type memory struct {
	rows   map[string]row
	now    func() time.Time
	writes int
	err    error
}

type row struct {
	data  []byte
	until time.Time
}

func (m *memory) FindCtx(_ context.Context, token string) (data []byte, found bool, err error) {
	r, ok := m.rows[token]
	return r.data, ok && m.now().Before(r.until), m.err
}

func (m *memory) CommitCtx(_ context.Context, token string, data []byte, until time.Time) error {
	if m.err != nil {
		return m.err
	}
	m.writes++
	m.rows[token] = row{data, until}
	return nil
}

func (m *memory) DeleteCtx(_ context.Context, token string) error {
	delete(m.rows, token)
	return m.err
}

func (m *memory) Find(token string) ([]byte, bool, error) {
	return m.FindCtx(context.Background(), token)
}

func (m *memory) Commit(token string, data []byte, until time.Time) error {
	return m.CommitCtx(context.Background(), token, data, until)
}

func (m *memory) Delete(token string) error { return m.DeleteCtx(context.Background(), token) }

var _ scs.CtxStore = (*memory)(nil)

// visitor is a browser with one cookie.
type visitor struct {
	t        *testing.T
	store    *memory
	sessions *ui.Sessions
	cookie   *http.Cookie
}

func newVisitor(t *testing.T, secure bool) *visitor {
	m := &memory{rows: make(map[string]row), now: time.Now}
	return &visitor{t: t, store: m, sessions: ui.NewSessions(m, secure)}
}

// visit sends a request that do serves, and stores the cookie of the answer.
func (v *visitor) visit(do func(ctx context.Context, w http.ResponseWriter)) *httptest.ResponseRecorder {
	v.t.Helper()
	ctx, _ := wire.Begin(v.t.Context(), "req_7", "")
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	w := httptest.NewRecorder()
	v.sessions.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { do(r.Context(), w) })).ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		v.cookie = c
		if c.MaxAge < 0 {
			v.cookie = nil
		}
	}
	return w
}

func (v *visitor) signIn(id int64) {
	v.t.Helper()
	v.visit(func(ctx context.Context, _ http.ResponseWriter) {
		if err := v.sessions.SignIn(ctx, ui.Signed{UserID: id, Epoch: 3, At: sold}); err != nil {
			v.t.Error(err)
		}
	})
}

// who returns the id of the signed-in user, 0 for none.
func (v *visitor) who() (id int64) {
	v.t.Helper()
	v.visit(func(ctx context.Context, _ http.ResponseWriter) {
		s, _ := v.sessions.SignedIn(ctx)
		id = s.UserID
	})
	return id
}

func TestCookie(t *testing.T) {
	for _, c := range []struct {
		secure bool
		name   string
	}{{true, "__Host-claviger"}, {false, "claviger"}} {
		v := newVisitor(t, c.secure)
		v.signIn(7)
		got := v.cookie
		if got.Name != c.name || got.Secure != c.secure || !got.HttpOnly || got.SameSite != http.SameSiteLaxMode || got.Path != "/" || got.Domain != "" {
			t.Errorf("secure %v: cookie %s", c.secure, got)
		}
		if _, plain := v.store.rows[got.Value]; plain || len(v.store.rows) != 1 {
			t.Error("the store knows the token itself, not its hash alone")
		}
	}
}

func TestAVisitorGetsNoCookie(t *testing.T) {
	v := newVisitor(t, false)
	w := v.visit(func(ctx context.Context, w http.ResponseWriter) {
		if _, ok := v.sessions.SignedIn(ctx); ok {
			t.Error("somebody is signed in")
		}
		if got := v.sessions.Pop(ctx, "x"); got != "" {
			t.Errorf("found %q", got)
		}
		w.WriteHeader(http.StatusOK)
	})
	if v.cookie != nil || v.store.writes != 0 || w.Header().Get("Vary") != "Cookie" {
		t.Errorf("cookie %v, %d writes, headers %v", v.cookie, v.store.writes, w.Header())
	}
	v.cookie = &http.Cookie{Name: "claviger", Value: "made-up"}
	if v.who() != 0 || v.store.writes != 0 {
		t.Error("a made-up token became a session")
	}
}

func TestSignInRenewsTheToken(t *testing.T) {
	v := newVisitor(t, false)
	v.visit(func(ctx context.Context, _ http.ResponseWriter) { v.sessions.Put(ctx, "browser", "secret") })
	before := *v.cookie
	v.signIn(7)
	if before.Value == v.cookie.Value || len(v.store.rows) != 1 {
		t.Error("the token from before the sign-in is still good")
	}
	v.visit(func(ctx context.Context, _ http.ResponseWriter) {
		got, ok := v.sessions.SignedIn(ctx)
		if diff := cmp.Diff(ui.Signed{UserID: 7, Epoch: 3, At: sold, Used: got.Used}, got); diff != "" || !ok {
			t.Errorf("who (-want +got):\n%s", diff)
		}
		if got := v.sessions.Get(ctx, "browser"); got != "secret" {
			t.Errorf("the browser's secret is %q after the sign-in", got)
		}
	})
	v.cookie = &before
	if v.who() != 0 {
		t.Error("who knew the old token is signed in too")
	}
}

// TestOldSessions: users who signed in before sessions were stored as JSON are still signed in.
// Their session is written as JSON when something in it changes.
func TestOldSessions(t *testing.T) {
	v := newVisitor(t, false)
	v.signIn(7)
	old, err := scs.GobCodec{}.Encode(time.Now().Add(time.Hour), map[string]any{
		"user": int64(8), "epoch": int64(3), "at": sold.UnixNano(), "factor": true, "flash": "Saved.",
	})
	for key, r := range v.store.rows {
		v.store.rows[key] = row{old, r.until}
	}
	if err != nil || v.who() != 8 {
		t.Errorf("signed in is %d, %v", v.who(), err)
	}
	v.visit(func(ctx context.Context, _ http.ResponseWriter) { v.sessions.Put(ctx, "browser", "secret") })
	v.visit(func(ctx context.Context, _ http.ResponseWriter) {
		got, _ := v.sessions.SignedIn(ctx)
		if diff := cmp.Diff(ui.Signed{UserID: 8, Epoch: 3, At: sold, Factor: true, Used: got.Used}, got); diff != "" || v.sessions.Get(ctx, "browser") != "secret" {
			t.Errorf("who (-want +got):\n%s", diff)
		}
	})
	for _, r := range v.store.rows {
		if !strings.HasPrefix(string(r.data), `{"deadline":`) {
			t.Errorf("the session is stored as %q", r.data)
		}
	}
}

func TestSignOut(t *testing.T) {
	v := newVisitor(t, false)
	v.signIn(7)
	old := *v.cookie
	v.visit(func(ctx context.Context, _ http.ResponseWriter) {
		if err := v.sessions.SignOut(ctx); err != nil {
			t.Error(err)
		}
	})
	if v.cookie != nil || len(v.store.rows) != 0 {
		t.Errorf("after signing out: cookie %v, %d rows", v.cookie, len(v.store.rows))
	}
	v.cookie = &old
	if v.who() != 0 {
		t.Error("the cookie still signs in")
	}
}

// TestSessionsEnd: after a week without use, and after thirty days in any case. Use is stored only
// once per touch.
func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVisitor(t, false)
		v.signIn(7)
		for range 5 {
			v.who()
		}
		if v.store.writes != 1 {
			t.Errorf("%d writes for one sign-in and five visits", v.store.writes)
		}
		for day := 6; day < 30; day += 6 {
			time.Sleep(6 * 24 * time.Hour)
			if v.who() != 7 {
				t.Fatalf("signed out on day %d", day)
			}
		}
		if v.store.writes != 5 {
			t.Errorf("%d writes, want one for each visit after a while", v.store.writes)
		}
		time.Sleep(6*24*time.Hour + time.Minute)
		if v.who() != 0 {
			t.Error("still signed in after thirty days")
		}
		v.signIn(7)
		time.Sleep(7*24*time.Hour + time.Minute)
		if v.who() != 0 {
			t.Error("still signed in after a week without a visit")
		}
	})
}

// TestStoreUnavailable: no one is signed out because the database is unavailable, and no answer
// claims something that was not stored.
func TestStoreUnavailable(t *testing.T) {
	v := newVisitor(t, false)
	v.signIn(7)
	v.store.err = errors.New("dial tcp 10.0.0.5: refused")
	w := v.visit(func(context.Context, http.ResponseWriter) { t.Error("the page was made without knowing who asks") })
	if body := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(body, "req_7") || strings.Contains(body, "10.0.0.5") {
		t.Errorf("loading: status %d\n%s", w.Code, body)
	}
	if len(w.Result().Cookies()) != 0 {
		t.Error("the cookie was taken away")
	}
	v.store.err = nil
	w = v.visit(func(ctx context.Context, w http.ResponseWriter) {
		v.sessions.Flash(ctx, "Saved.")
		v.store.err = errors.New("refused")
		w.Header().Set("Location", "/next")
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusSeeOther)
		if n, err := w.Write([]byte("Saved")); n != 5 || err != nil {
			t.Errorf("the handler was told %d, %v", n, err)
		}
		if sent, ok := w.(interface{ Written() bool }); !ok || !sent.Written() {
			t.Error("the handler may answer a second time")
		}
	})
	body := w.Body.String()
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Location") != "" || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
		t.Errorf("saving: status %d, headers %v\n%s", w.Code, w.Header(), body)
	}
}
