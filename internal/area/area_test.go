package area_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/live"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

var tester = audit.System("test")

// visit is a visit of the test's area, which needs scopes.
type visit struct{ area.Admitted }

func (v *visit) Meets(needs any) bool { return v.User.Role.May(needs.(account.Scope)) }

func (v *visit) Path(path string, values ...any) string {
	return "/area" + fmt.Sprintf(path, values...)
}

// harness is an area with a page and a stream, for one operator.
type harness struct {
	*testing.T
	db       *sqldb.DB
	accounts *account.Store
	user     account.User
	server   *httptest.Server
	cookie   *http.Cookie
	exports  area.Exports
	shown    area.Shown
}

func start(t *testing.T) *harness {
	t.Helper()
	h := &harness{T: t, db: sqldbtest.Open(t)}
	now := func() time.Time { return time.Now().UTC() }
	h.accounts = &account.Store{DB: h.db, Now: now, Mail: &mail.Outbox{}}
	h.user, _, _ = h.accounts.Create(t.Context(), tester, account.Person{Email: "ann@market.example"})
	h.setRole(h.user.ID, account.RoleSupport)
	pages, err := ui.New(fstest.MapFS{"page.html": {Data: []byte(`<h1>Page</h1>{{define "now"}}{{.Data}}{{end}}`)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	site := &visitor.Site{
		Pages: pages, Sessions: ui.NewSessions(&account.Sessions{DB: h.db, Now: now}, false), Accounts: h.accounts, Partners: &partner.Store{DB: h.db, Now: now},
	}
	a := &area.Area{
		Name: "area", Prefix: "/area", Site: site, Now: now, Streams: &ui.Streams{Recheck: time.Hour}, Title: func(area.Visit) string { return "Area" },
		Rights: &live.Versions{Read: h.accounts.AccessVersions, Every: time.Millisecond},
		Enter: func(_ context.Context, _ *http.Request, a area.Admitted) (area.Visit, error) {
			if v := (&visit{a}); v.Meets(a.Needs) {
				return v, nil
			}
			return nil, area.NotFound()
		},
	}
	needs := func(area.Kind, bool) any { return account.Support }
	h.exports = area.Exports{Exporter: &export.Exporter{DB: h.db, Now: now}}
	a.Table = slices.Concat(h.exports.Routes(needs), area.Lives("/shown", needs, func(*http.Request, area.Visit) (area.Shown, error) {
		return h.shown, nil
	}), []area.Route{{Kind: area.Stream, Path: "/live", Needs: account.Support, Serve: func(w http.ResponseWriter, r *http.Request, v area.Visit) error {
		return a.Follow(w, r, v, nil, func(context.Context) ([]ui.Message, error) { return nil, nil })
	}}})
	routes := append(a.Routes(), site.Route(http.MethodPost, "/sign-in", visitor.Anyone, func(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
		return site.SignIn(r, account.Entry{User: h.user}, now(), false)
	}))
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, _ := wire.Begin(r.Context(), "req_1", "192.0.2.7")
		wire.NewMux(routes...).ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(h.server.Close)
	answer := h.do(http.MethodPost, "/sign-in")
	h.cookie = answer.Cookies()[0]
	return h
}

func (h *harness) setRole(id int64, role account.Role) {
	h.Helper()
	if err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		u, err := account.SetRole(h.Context(), tx, tester, id, role, time.Now().UTC())
		if id == h.user.ID {
			h.user = u
		}
		return err
	}); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) do(method, path string) *http.Response {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.server.URL+path, http.NoBody)
	if err != nil {
		h.Fatal(err)
	}
	if h.cookie != nil {
		r.AddCookie(h.cookie)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// TestStreamEndsWithTheRole: when a person loses the role, their open stream ends at the next check
// of the team, even without news; it continues if the new role suffices.
func TestStreamEndsWithTheRole(t *testing.T) {
	h := start(t)
	answer := h.do(http.MethodGet, "/area/live")
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the stream is answered %d", answer.StatusCode)
	}
	other, _, err := h.accounts.Create(t.Context(), tester, account.Person{Email: "bea@market.example"})
	if err != nil {
		t.Fatal(err)
	}
	h.setRole(other.ID, account.RoleAdmin)
	h.setRole(h.user.ID, account.RoleViewer)
	var events []string
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if text := lines.Text(); strings.HasPrefix(text, "event:") {
			events = append(events, text)
		}
	}
	if len(events) != 1 || events[0] != "event: close" {
		t.Errorf("the stream sent %q", events)
	}
	if got := h.do(http.MethodGet, "/area/live"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the next one is answered %d", got.StatusCode)
	}
}

// TestShownOnce: a page is sent again only if its content has changed.
func TestShownOnce(t *testing.T) {
	h := start(t)
	texts := make(chan string)
	var version atomic.Int64
	h.shown = area.Shown{
		Topic: 1, Page: "page",
		Versions: &live.Versions{Every: time.Millisecond, Read: func(context.Context, []int64) (map[int64]string, error) {
			return map[int64]string{1: strconv.FormatInt(version.Load(), 10)}, nil
		}},
		View: func(*http.Request) (ui.View, string, error) {
			return ui.View{Fragment: "now", Data: <-texts}, "", nil
		},
	}
	answer := h.do(http.MethodGet, "/area/shown/live?since=0")
	for _, text := range []string{"one", "one", "two"} {
		version.Add(1)
		texts <- text
	}
	lines := bufio.NewScanner(answer.Body)
	for _, want := range []string{"data: one", "data: two"} {
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
			continue
		}
		if got := lines.Text(); got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
}

// TestReadsAreOfNoRequest: versions are read for all pages, so the read is independent of the
// request of the first page.
func TestReadsAreOfNoRequest(t *testing.T) {
	h := start(t)
	of := make(chan any)
	h.shown = area.Shown{
		Topic: 1, Page: "page",
		Versions: &live.Versions{Every: time.Millisecond, Read: func(ctx context.Context, _ []int64) (map[int64]string, error) {
			select {
			case of <- ctx.Value(http.LocalAddrContextKey):
			case <-ctx.Done():
			}
			return nil, ctx.Err()
		}},
	}
	_ = h.do(http.MethodGet, "/area/shown/live?since=0")
	if address := <-of; address != nil {
		t.Errorf("the read has the context of the request to %v", address)
	}
}
