package account_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"

	"claviger/internal/account"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var (
	_ scs.Store    = (*account.Sessions)(nil)
	_ scs.CtxStore = (*account.Sessions)(nil)
)

// holds returns the stored data of a token's session, nil if there is none.
func holds(t *testing.T, s *account.Sessions, token string) []byte {
	t.Helper()
	data, found, err := s.Find(token)
	if err != nil || found != (data != nil) {
		t.Fatalf("Find(%q) = %v, %v, %v", token, data, found, err)
	}
	return data
}

func TestSessions(t *testing.T) {
	now := noon
	s := &account.Sessions{DB: sqldbtest.Open(t), Now: func() time.Time { return now }}
	commit := func(token string, data []byte, expiry time.Time) {
		t.Helper()
		if err := s.Commit(token, data, expiry); err != nil {
			t.Fatal(err)
		}
	}
	odd := []byte{0, 0xff, '\'', 10}
	commit("first", odd, noon.Add(time.Hour))
	commit("second", []byte("a"), noon.Add(time.Hour))
	commit("second", []byte("b"), noon.Add(2*time.Hour))
	for token, want := range map[string][]byte{"first": odd, "second": []byte("b"), "third": nil, "": nil, "\x00\xff": nil} {
		if got := holds(t, s, token); !slices.Equal(got, want) {
			t.Errorf("%q holds %v, want %v", token, got, want)
		}
	}
	stored, err := sqldb.All(t.Context(), s.DB, sqldb.Value[string], `SELECT hash FROM sessions`)
	if err != nil || len(stored) != 2 || strings.Contains(strings.Join(stored, " "), "first") {
		t.Errorf("tokens are stored as %q, %v", stored, err)
	}

	named := func(hash string) bool { return hash[:16] == account.SessionID("first") }
	if !slices.ContainsFunc(stored, named) || account.SessionID("") != "" {
		t.Errorf("the audit names %q, of %q", account.SessionID("first"), stored)
	}
	now = noon.Add(time.Hour)
	if holds(t, s, "first") != nil || holds(t, s, "second") == nil {
		t.Error("at the end of the first, not only the second is left")
	}
	for _, token := range []string{"second", "second", "none"} {
		if err := s.Delete(token); err != nil || holds(t, s, token) != nil {
			t.Errorf("Delete(%q): %v", token, err)
		}
	}
	// A request that was running when the session was deleted.
	commit("second", []byte("c"), noon.Add(48*time.Hour))
	if got := holds(t, s, "second"); got != nil {
		t.Errorf("a deleted session came back with %q", got)
	}
}

// TestSessionWithHolder checks that one read returns the session and its noted user.
func TestSessionWithHolder(t *testing.T) {
	book := open(t)
	s := &account.Sessions{DB: book.DB, Now: book.Now}
	u := book.create(t, account.Person{Email: "ann@example.com"})
	for _, token := range []string{"ann", "nobody"} {
		if err := s.Commit(token, []byte(token), book.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := book.NoteSession(t.Context(), "ann", account.NewSession{UserID: u.ID}); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int64{"ann": u.ID, "nobody": 0, "none": 0} {
		ctx := account.WithHolder(t.Context())
		data, found, err := s.FindCtx(ctx, token)
		if err != nil || found != (token != "none") || found && string(data) != token {
			t.Errorf("%s holds %q, %v, %v", token, data, found, err)
		}
		if got := account.Holder(ctx); got.ID != want || want != 0 && got.Email != u.Email {
			t.Errorf("%s belongs to %+v, want user %d", token, got, want)
		}
	}
	if got := account.Holder(t.Context()); got.ID != 0 {
		t.Errorf("nobody asked, and it is %+v", got)
	}
}

func TestForgetSessions(t *testing.T) {
	now := noon
	s := &account.Sessions{DB: sqldbtest.Open(t), Now: func() time.Time { return now }}
	const old = 2005 // more than two batches
	err := s.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		for i := range old {
			tx.Queue(`INSERT INTO sessions (hash, data, expires_at) VALUES ($1, 'YQ==', $2)`, strconv.Itoa(i), noon.Add(-time.Duration(i+1)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"live", "deleted"} {
		if err := s.Commit(token, []byte("a"), noon.Add(48*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete("deleted"); err != nil {
		t.Fatal(err)
	}
	if n, err := prune.Rows(t.Context(), s.DB, now, account.Expiring()); n != old || err != nil {
		t.Errorf("Forget = %d, %v; want %d", n, err, old)
	}
	now = noon.Add(2 * time.Hour)
	if n, err := prune.Rows(t.Context(), s.DB, now, account.Expiring()); n != 1 || err != nil || holds(t, s, "live") == nil {
		t.Errorf("Forget = %d, %v; want the deleted one gone and the live one not", n, err)
	}
}

// TestSessionManager runs a session through the manager that the pages use: begun, found again,
// renewed at sign-in, over.
func TestSessionManager(t *testing.T) {
	store := &account.Sessions{DB: sqldbtest.Open(t), Now: func() time.Time { return time.Now().UTC() }}
	m := scs.New()
	m.Store, m.HashTokenInStore = store, true
	m.Lifetime, m.IdleTimeout = 30*24*time.Hour, 7*24*time.Hour
	load := func(token string) context.Context {
		t.Helper()
		ctx, err := m.Load(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return ctx
	}
	commit := func(ctx context.Context) string {
		t.Helper()
		token, _, err := m.Commit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}

	ctx := load("")
	m.Put(ctx, "browser", "secret")
	first := commit(ctx)

	ctx = load(first)
	if got := m.GetString(ctx, "browser"); got != "secret" {
		t.Errorf("found again: %q", got)
	}
	late := load(first) // a request that is answered later
	if err := m.RenewToken(ctx); err != nil {
		t.Fatal(err)
	}
	m.Put(ctx, "user", int64(7))
	second := commit(ctx)
	if first == second {
		t.Error("the token was not renewed")
	}
	commit(late)
	if ctx := load(first); m.Exists(ctx, "browser") {
		t.Error("the token from before the sign-in still works")
	}

	ctx = load(second)
	if m.GetInt64(ctx, "user") != 7 || m.GetString(ctx, "browser") != "secret" {
		t.Errorf("after the sign-in: %v", m.Keys(ctx))
	}
	if err := m.Destroy(ctx); err != nil {
		t.Fatal(err)
	}
	if ctx := load(second); m.Exists(ctx, "user") {
		t.Error("the session is not over")
	}
}
