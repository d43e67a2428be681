package visitor_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

var tester = audit.System("test")

// harness is a site with one page on its own database, and a browser that keeps its cookies.
type harness struct {
	*testing.T
	db      *sqldb.DB
	site    *visitor.Site
	user    account.User
	routes  []wire.Route
	seen    []*visitor.Visitor // by the handlers, in order
	cookies []*http.Cookie
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{T: t, db: sqldbtest.Open(t)}
	now := func() time.Time { return time.Now().UTC() }
	pages, err := ui.New(fstest.MapFS{"page.html": {Data: []byte(`<h1>{{.Data}}</h1>`)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	accounts := &account.Store{DB: h.db, Now: now, Mail: &mail.Outbox{}}
	h.site = &visitor.Site{Pages: pages, Sessions: ui.NewSessions(&account.Sessions{DB: h.db, Now: now}, false), Accounts: accounts, Partners: &partner.Store{DB: h.db, Now: now}}
	if h.user, _, err = accounts.Create(t.Context(), tester, account.Person{Email: "ann@example.com", Name: "Ann"}); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		h.routes = append(h.routes,
			h.site.Route(method, "/anyone", visitor.Anyone, h.page),
			h.site.Route(method, "/own", visitor.SignedIn, h.page),
			h.site.Route(method, "/hidden", func(*http.Request, *visitor.Visitor) error {
				return fault.New(fault.Missing, "unknown_partner", "There is no such partner.")
			}, h.page),
			h.site.CrossSiteRoute(method, "/cross", visitor.Anyone, h.page),
		)
	}
	h.routes = append(h.routes,
		h.site.Route(http.MethodPost, "/sign-in", visitor.Anyone, func(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
			err := h.site.SignIn(r, account.Entry{User: h.user, Next: "/own"}, now(), false)
			ui.SeeOther(w, r, "/own")
			return err
		}),
		h.site.Route(http.MethodGet, "/console/page", visitor.SignedIn, h.page),
		h.site.Route(http.MethodPost, "/console/act", visitor.SignedIn, h.page),
		h.site.StreamRoute("/console/stream", visitor.SignedIn, h.page),
		h.site.Route(http.MethodGet, "/broken", visitor.Anyone, func(http.ResponseWriter, *http.Request, *visitor.Visitor) error {
			return errors.New("the disk is full")
		}))
	return h
}

// storeKey returns the key of a token in the store of sessions.
func storeKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (h *harness) page(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	h.seen = append(h.seen, v)
	return h.site.Render(w, r, v, "page", ui.View{Title: "Page", Data: "Shown"})
}

// do sends a request with headers given as name, value, ….
func (h *harness) do(method, path string, headers ...string) *httptest.ResponseRecorder {
	h.Helper()
	ctx, log := wire.Begin(h.Context(), "req_1", "192.0.2.7")
	r := httptest.NewRequestWithContext(ctx, method, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	for _, c := range h.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	wire.NewMux(h.routes...).ServeHTTP(w, r)
	if set := w.Result().Cookies(); len(set) > 0 {
		h.cookies = set
	}
	w.Header().Set("Who", log.Who)
	return w
}

// setRole gives the user a role.
func (h *harness) setRole(role account.Role) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) (err error) {
		h.user, err = account.SetRole(h.Context(), tx, tester, h.user.ID, role, h.user.CreatedAt)
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) signIn() {
	h.Helper()
	if w := h.do(http.MethodPost, "/sign-in"); w.Code != http.StatusSeeOther || len(h.cookies) != 1 {
		h.Fatalf("signing in: %d, cookies %v", w.Code, h.cookies)
	}
}

// TestAccess: the answer of each page, signed in or not.
func TestAccess(t *testing.T) {
	h := newHarness(t)
	for _, signedIn := range []bool{false, true} {
		if signedIn {
			h.signIn()
		}
		for _, c := range []struct {
			path   string
			status int
		}{
			{"/anyone", http.StatusOK},
			{"/cross", http.StatusOK},
			{"/hidden", http.StatusNotFound},
			{"/broken", http.StatusInternalServerError},
			{"/own", map[bool]int{false: http.StatusSeeOther, true: http.StatusOK}[signedIn]},
		} {
			h.seen = nil
			w := h.do(http.MethodGet, c.path)
			if w.Code != c.status || (len(h.seen) == 1) != (c.status == http.StatusOK) {
				t.Errorf("signed in %v: %s answers %d, the handler ran %d times", signedIn, c.path, w.Code, len(h.seen))
			}
			if w.Header().Get("Content-Security-Policy") == "" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s lacks headers: %v", c.path, w.Header())
			}
		}
	}
}

// TestVisitor: the data about the visitor in handlers, pages, the audit and the log.
func TestVisitor(t *testing.T) {
	h := newHarness(t)
	w := h.do(http.MethodGet, "/anyone")
	if v := h.seen[0]; v.SignedIn() || w.Header().Get("Who") != "" || !strings.Contains(w.Body.String(), `href="/sign-in"`) {
		t.Errorf("a stranger is %+v, logged as %q, and sees %s", v, w.Header().Get("Who"), w.Body)
	}
	h.signIn()
	w = h.do(http.MethodGet, "/own")
	v := h.seen[1]
	if want := fmt.Sprintf("user:%d", h.user.ID); !v.SignedIn() || v.User.ID != h.user.ID || v.Signed.UserID != h.user.ID || w.Header().Get("Who") != want {
		t.Errorf("Ann is %+v, logged as %q", v, w.Header().Get("Who"))
	}
	a := v.Actor()
	if a.Kind != audit.ByUser || a.ID != h.user.ID || a.Client != "192.0.2.7" || a.Session != account.SessionID(storeKey(h.cookies[0].Value)) || a.Name != "" {
		t.Errorf("the audit learns %+v", a)
	}
	for _, want := range []string{"Signed in as </span>Ann", `href="/licenses"`, `href="/account"`, "<h1>Shown</h1>"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %s:\n%s", want, w.Body)
		}
	}
}

// TestEndedSession: signing out everywhere and erasing a user end sessions immediately.
func TestEndedSession(t *testing.T) {
	for name, end := range map[string]func(h *harness) error{
		"signed out everywhere": func(h *harness) error {
			_, err := h.site.Accounts.SignOutEverywhere(h.Context(), tester, h.user.ID)
			return err
		},
		"erased": func(h *harness) error {
			return h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
				_, err := tx.Exec(h.Context(), `UPDATE users SET erased_at = created_at WHERE id = $1`, h.user.ID)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.signIn()
			if err := end(h); err != nil {
				t.Fatal(err)
			}
			if w := h.do(http.MethodGet, "/own"); w.Code != http.StatusSeeOther || len(h.seen) != 0 {
				t.Errorf("got %d, the handler ran %d times", w.Code, len(h.seen))
			}
		})
	}
}

// TestHolder: the session determines the user, with their current data at each request, independent
// of the notes beside the session.
func TestHolder(t *testing.T) {
	h := newHarness(t)
	other, _, err := h.site.Accounts.Create(t.Context(), tester, account.Person{Email: "bob@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	h.signIn()
	for _, change := range []string{
		`UPDATE users SET name = 'Anna' WHERE id = $1`,
		`UPDATE signed_sessions SET user_id = $2 WHERE user_id = $1`,
		`DELETE FROM signed_sessions WHERE user_id <> $1`,
	} {
		err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), change, []any{h.user.ID, other.ID}[:strings.Count(change, "$")]...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		h.seen = nil
		if h.do(http.MethodGet, "/own"); len(h.seen) != 1 || h.seen[0].User.ID != h.user.ID || h.seen[0].User.Name != "Anna" {
			t.Errorf("after %s: %+v", change, h.seen)
		}
	}
}

// TestWayToSignIn: a page leads back to itself, a form to its page.
func TestWayToSignIn(t *testing.T) {
	h := newHarness(t)
	for _, c := range []struct{ method, path, referer, next string }{
		{http.MethodGet, "/own?a=1&b=2", "", "%2Fown%3Fa%3D1%26b%3D2"},
		{http.MethodHead, "/own", "", "%2Fown"},
		{http.MethodPost, "/own", "http://example.com/page?x=1", "%2Fpage%3Fx%3D1"},
		{http.MethodPost, "/own", "", ""},
		{http.MethodPost, "/own", "::no URL", ""},
	} {
		w := h.do(c.method, c.path, "Referer", c.referer, "Sec-Fetch-Site", "same-origin")
		if got, want := w.Header().Get("Location"), "/sign-in?next="+c.next; w.Code != http.StatusSeeOther || got != want {
			t.Errorf("%s %s from %q: %d to %s, want %s", c.method, c.path, c.referer, w.Code, got, want)
		}
	}
}

// TestFormsOfOtherSites: forms of other sites are refused, unless the route accepts them.
func TestFormsOfOtherSites(t *testing.T) {
	h := newHarness(t)
	h.signIn()
	for path, status := range map[string]int{"/anyone": http.StatusForbidden, "/own": http.StatusForbidden, "/cross": http.StatusOK} {
		if w := h.do(http.MethodPost, path, "Sec-Fetch-Site", "cross-site"); w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
	}
}

// TestHTMXHasToSignIn: htmx would follow a redirect and show the sign-in page inside
// an element. It gets an error that makes it leave the page, and the person returns to
// the page, not to a fragment of it.
func TestHTMXHasToSignIn(t *testing.T) {
	h := newHarness(t)
	const current = "http://example.com/list?status=failed"
	for name, c := range map[string]struct {
		method, kind, current, next string
	}{
		"fragment":                {http.MethodGet, "partial", current, "%2Flist%3Fstatus%3Dfailed"},
		"fragment after a form":   {http.MethodPost, "partial", current, "%2Flist%3Fstatus%3Dfailed"},
		"fragment from nowhere":   {http.MethodGet, "partial", "", ""},
		"whole page":              {http.MethodGet, "full", current, "%2Fown%3Fa%3D1"},
		"whole page after a form": {http.MethodPost, "full", current, ""},
	} {
		w := h.do(c.method, "/own?a=1", "HX-Request", "true", "HX-Request-Type", c.kind, "HX-Current-URL", c.current, "Sec-Fetch-Site", "same-origin")
		if got, want := w.Header().Get("HX-Redirect"), "/sign-in?next="+c.next; w.Code != http.StatusUnauthorized || got != want || w.Header().Get("Location") != "" {
			t.Errorf("%s: %d to %q, want %q", name, w.Code, got, want)
		}
		if body := w.Body.String(); !strings.Contains(body, "You are no longer signed in.") || strings.Contains(body, "<html") == (c.kind == "partial") {
			t.Errorf("%s: it says\n%s", name, body)
		}
	}
	if len(h.seen) > 0 {
		t.Error("the handler ran")
	}
}

// TestStart: error pages of an area link to its first page, and those of the first page to a public
// one.
func TestStart(t *testing.T) {
	for path, want := range map[string]string{
		"/console/licenses/x": "/console/", "/console/": "", "/console": "", "/consoles/x": "",
		"/portal/7/deliveries/9": "/portal/", "/portal/7": "/portal/", "/portal/": "", "/portal": "",
		"/licenses/x": "", "/": "",
	} {
		if got := visitor.Start(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)); got != want {
			t.Errorf("%s begins at %q, want %q", path, got, want)
		}
	}
}
