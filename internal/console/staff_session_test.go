package console_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/visitor/pagetest"
)

// staffed returns a harness with a stopped clock and the staff session limits of a service.
func staffed(t *testing.T) (*harness, *apptest.Clock) {
	t.Helper()
	clock := apptest.StoppedClock(time.Now().UTC().Truncate(time.Second))
	return start(t, clock.Set, func(cfg *app.Config) {
		cfg.StaffLife, cfg.StaffIdle = app.Defaults(app.Serve).StaffLife, app.Defaults(app.Serve).StaffIdle
	}), clock
}

// TestStaffSessionIdle: after an hour without use, console and portal ask for a new sign-in and
// then show the requested page. The shop does not ask, and its pages do not revive the staff
// session.
func TestStaffSessionIdle(t *testing.T) {
	h, clock := staffed(t)
	portal := fmt.Sprintf("/portal/%d/overview", h.tide.ID)
	for _, c := range []struct{ email, page string }{{support, path("/people?email=x")}, {member, portal}} {
		b := h.web.NewBrowser().SignIn(c.email, password)
		for range 3 { // it lasts as long as it is used
			clock.Advance(50 * time.Minute)
			if got := b.Get(c.page); got.Status != http.StatusOK {
				t.Fatalf("%s in use: %d to %q", c.page, got.Status, got.Header.Get("Location"))
			}
		}
		clock.Advance(50 * time.Minute)
		b.Get("/licenses").Want(http.StatusOK, "My licenses") // the shop counts as use
		clock.Advance(50 * time.Minute)
		if got := b.Get(c.page); got.Status != http.StatusOK {
			t.Fatalf("%s after the shop: %d", c.page, got.Status)
		}
		clock.Advance(time.Hour + time.Minute)
		for range 2 {
			b.Get("/licenses").Want(http.StatusOK, "My licenses")
			clock.Advance(6 * time.Minute)
			b.Get(c.page).WantRedirect(again(c.page))
		}
		b.Press(b.Get(again(c.page)), "Sign in", "email", c.email, "password", password).WantRedirect(c.page)
		if got := b.Get(c.page); got.Status != http.StatusOK {
			t.Errorf("%s after a new sign-in: %d", c.page, got.Status)
		}
	}
}

// TestStaffSessionLife: after twelve hours they ask, even if the session was in use.
func TestStaffSessionLife(t *testing.T) {
	h, clock := staffed(t)
	b := h.as(support)
	for range 12 {
		b.Get(path("")).Want(http.StatusOK, "Today")
		clock.Advance(time.Hour)
	}
	b.Get(path("")).Want(http.StatusOK, "Today")
	clock.Advance(time.Second)
	b.Get(path("")).WantRedirect(again("/console"))
	b.Get("/licenses").Want(http.StatusOK, "My licenses")
}

// TestOldStaffSessionActs: a form of a session that is too old is not executed, and leads back to
// its page after the sign-in, as after a sign-out.
func TestOldStaffSessionActs(t *testing.T) {
	h, clock := staffed(t)
	b := h.as(admin)
	b.Get(path("/team")).Want(http.StatusOK, "Team")
	clock.Advance(61 * time.Minute)
	send := func(header ...string) *pagetest.Page {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.App.URL()+path("/team/invite"), strings.NewReader("email=new@market.example&role=admin"))
		h.Must(err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Referer", h.App.URL()+path("/team?x=1"))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		r.AddCookie(b.Cookie())
		answer, err := http.DefaultTransport.RoundTrip(r)
		h.Must(err)
		body, err := io.ReadAll(answer.Body)
		h.Must(err)
		return &pagetest.Page{Status: answer.StatusCode, Header: answer.Header, Body: string(body)}
	}
	if got := send(); got.Status != http.StatusSeeOther || got.Header.Get("Location") != again("/console/team?x=1") {
		t.Errorf("a form: %d to %q", got.Status, got.Header.Get("Location"))
	}
	got := send("HX-Request", "true", "HX-Request-Type", "partial", "HX-Current-URL", h.App.URL()+path("/team?x=1"))
	if got.Status != http.StatusUnauthorized || got.Header.Get("HX-Redirect") != again("/console/team?x=1") {
		t.Errorf("a form of htmx: %d to %q", got.Status, got.Header.Get("HX-Redirect"))
	}
	if n := h.Count(`SELECT count(*) FROM invitations`); n != 0 {
		t.Error("the act was executed")
	}
}

// TestOpenPageIsNoUse: an open live page does not keep the session alive: its stream ends and
// cannot be reopened.
func TestOpenPageIsNoUse(t *testing.T) {
	h, clock := staffed(t)
	b := h.as(support)
	b.Get(path("")).Want(http.StatusOK, "Today")
	for minutes := 6; minutes <= 66; minutes += 6 {
		clock.Advance(6 * time.Minute)
		open := b.Send(t.Context(), http.MethodGet, path("/today/live"), nil, "same-origin")
		_ = open.Body.Close()
		wanted := http.StatusOK
		if minutes > 60 {
			wanted = http.StatusUnauthorized
		}
		if open.StatusCode != wanted {
			t.Errorf("the stream after %d minutes: %d", minutes, open.StatusCode)
		}
	}
	b.Get(path("")).WantRedirect(again("/console"))
}
