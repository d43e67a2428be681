package console_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/visitor/pagetest"
)

// sessionLinks returns the links on a person's page that end one session each.
func sessionLinks(p *pagetest.Page) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.Links("/sessions/"))), func(to string) bool { return strings.HasSuffix(to, "/sessions/end") })
}

// TestPersonSessions: a person's sessions are listed and ended, one or all. Support does this for a
// buyer; only admins do it for members and operators. The audit names the operator.
func TestPersonSessions(t *testing.T) {
	h := start(t)
	u := h.User(buyer)
	person := path("/people/%d", u.ID)
	second := h.web.NewBrowser().SignIn(buyer, password)
	if p := h.as(viewer).Get(person); len(p.Links("/sessions/")) != 0 || strings.Contains(p.Text(), "A browser") {
		t.Errorf("a viewer sees the sessions:\n%s", p.Text())
	}
	page := h.as(support).Get(person)
	want(t, page, 200, "A browser 127.0.0.1", "Last used", "/operator/v1/users/"+fmt.Sprint(u.ID)+"/sessions")
	links := sessionLinks(page)
	if len(links) != 2 || strings.Contains(page.Body, second.Cookie().Value) {
		t.Fatalf("the sessions of the page lead to %q:\n%s", links, page.Text())
	}
	other := h.Session(h.User(member), "key")
	want(t, h.as(admin).Get(person+"/sessions/"+other+"/end"), 404) // another person's

	// One of two.
	ask := h.as(support).Get(links[0])
	want(t, ask, 200, "End this session", "is signed out at once", "curl -X DELETE")
	want(t, send(h.as(support), ask), 200, "The session has ended.")
	act := h.lastAct(fmt.Sprintf("user:%d", u.ID))
	if act.Action != "user.session_end" || act.Actor.Kind != audit.ByUser || act.Actor.ID != h.User(support).ID || act.Actor.Session == "" {
		t.Errorf("the audit has %+v", act)
	}
	want(t, h.as(support).Post(links[0]), 404)
	signed := 0
	for _, b := range []*pagetest.Browser{h.as(buyer), second} {
		if b.Get("/account").Status == http.StatusOK {
			signed++
		}
	}
	if left := sessionLinks(h.as(support).Get(person)); signed != 1 || len(left) != 1 {
		t.Errorf("%d browsers are signed in, the page lists %q", signed, left)
	}

	// All of them.
	second = h.web.NewBrowser().SignIn(buyer, password)
	want(t, send(h.as(support), h.as(support).Get(person+"/sessions/end")), 200, "The person is signed out everywhere.", "signed in nowhere")
	second.WantSignedIn("")
	if act := h.lastAct(fmt.Sprintf("user:%d", u.ID)); act.Action != "user.sign_out_everywhere" || act.Actor.ID != h.User(support).ID {
		t.Errorf("the audit has %+v", act)
	}
}

// TestSessionsOfTheTeams: only admins see the sessions of members and operators; signing out closes
// open pages.
func TestSessionsOfTheTeams(t *testing.T) {
	h := start(t)
	for _, who := range []string{member, viewer} {
		u := h.User(who)
		person, id := path("/people/%d", u.ID), h.Session(u, "key of "+who)
		want(t, h.as(support).Get(person), 200, "Needs the role admin")
		for _, end := range []string{"/sessions/end", "/sessions/" + id + "/end"} {
			want(t, h.as(support).Get(person+end), 403, "needs the role admin")
			want(t, h.as(support).Post(person+end), 403, "needs the role admin")
		}
		h.as(who).WantSignedIn(who)
		if got := len(sessionLinks(h.as(admin).Get(person))); got != 2 {
			t.Errorf("an admin sees %d sessions of %s", got, who)
		}
		want(t, send(h.as(admin), h.as(admin).Get(person+"/sessions/end")), 200, "signed out everywhere")
		h.as(who).WantSignedIn("")
	}
	// Signing out immediately ends the open pages of that browser, although they have no news.
	open := h.as(sales).Send(t.Context(), http.MethodGet, path("/today/live"), nil, "same-origin")
	defer open.Body.Close() //nolint:errcheck // the test has read the body
	h.as(sales).Post("/sign-out")
	if told, err := io.ReadAll(open.Body); err != nil || !strings.Contains(string(told), "event: close") || strings.Contains(string(told), ": still here") {
		t.Errorf("an open page gets %q, %v", told, err)
	}

	// Also for oneself: the page says so.
	me := path("/people/%d/sessions/end", h.User(admin).ID)
	ask := h.as(admin).Get(me)
	want(t, ask, 200, "This is you")
	h.as(admin).Press(ask, "End all of them")
	h.as(admin).WantSignedIn("")
}

// TestOperatorsOnTwoNodes: after one node removes a role, a place in the team or a session, the
// other refuses the next request. Open pages end, too.
func TestOperatorsOnTwoNodes(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("an SQLite file has one node")
	}
	h := start(t)
	node := h.Node()
	node.Serve()
	web := pagetest.At(t, node.App.URL(), node.DB)
	at := func(email string) *pagetest.Browser { return web.NewBrowser().SignIn(email, password) }
	s, v := at(support), at(viewer)
	buyerPage := path("/people/%d/link", h.User(buyer).ID)
	s.Get(buyerPage).Want(http.StatusOK, "Make a sign-in link")
	_, err := h.Accounts.ChangeRole(t.Context(), h.actor(admin), h.User(support).ID, account.RoleSupport, account.RoleViewer)
	h.Must(err)
	s.Get(buyerPage).WantRedirect(again(buyerPage))
	if got := s.SignIn(support, password).Post(buyerPage); got.Status != http.StatusNotFound {
		t.Fatalf("with a lower role: %d", got.Status)
	}

	v.Get(path("")).Want(http.StatusOK, "Today")
	open := v.Send(t.Context(), http.MethodGet, path("/today/live"), nil, "same-origin")
	defer open.Body.Close() //nolint:errcheck // the test has read the body
	h.Must(h.Accounts.RemoveOperator(t.Context(), h.actor(admin), h.User(viewer).ID))
	v.Get(path("")).WantRedirect(again("/console"))
	if told, err := io.ReadAll(open.Body); err != nil || !strings.Contains(string(told), "event: close") {
		t.Errorf("an open page gets %q, %v", told, err)
	}

	b := at(sales)
	list, err := h.Accounts.SessionsOf(t.Context(), h.User(sales))
	h.Must(err)
	b.Get(path("")).Want(http.StatusOK, "Today")
	for _, session := range list {
		h.Must(h.Accounts.EndSession(t.Context(), apptest.Tester, h.User(sales), session.ID))
	}
	b.WantSignedIn("")
}
