package portal_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/portal"
	"claviger/internal/sqldb"
)

// TestLanding: after signing in, each person gets to their own pages.
func TestLanding(t *testing.T) {
	h := start(t)
	both := h.member(h.tide, "both@tide.example", partner.Viewer)
	_, err := h.Partners.AddMember(t.Context(), apptest.Tester, h.reef.ID, both.ID, partner.Viewer)
	h.Must(err)
	operator := h.User("operator@market.example")
	h.SetPassword(operator.ID, password)
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetRole(t.Context(), tx, apptest.Tester, operator.ID, account.RoleAdmin, h.Accounts.Now())
		return err
	}))
	for email, want := range map[string]string{
		viewer: h.path(""), buyer: "/licenses", "both@tide.example": "/portal/", "operator@market.example": "/console/",
	} {
		b := h.web.NewBrowser()
		b.Post("/sign-in", "email", email, "password", password).WantRedirect(want)
		b.Get("/sign-in").WantRedirect(want)
		if email == "operator@market.example" {
			b.Get("/console/").Want(http.StatusOK, "Today")
			if got := b.Get("/account").Links("/console/"); got["/console/"] == "" {
				t.Error("the menu does not lead to the console")
			}
		}
		b.Post("/sign-in?next=%2Faccount%2Fpassword", "email", email, "password", password).WantRedirect("/account/password")
	}
	if got := h.as(buyer).Get("/console/"); got.Status != http.StatusNotFound {
		t.Errorf("a buyer in the console: %d", got.Status)
	}
	h.as("").Get("/console/").WantRedirect("/sign-in?next=%2Fconsole%2F")
}

// TestSwitch: people with several roles can switch from every page.
func TestSwitch(t *testing.T) {
	h := start(t)
	for _, path := range []string{"/account", h.path("/setup")} {
		links := h.as(viewer).Get(path).Links("/")
		if links["/portal/"] != "Partner portal" || links["/licenses"] != "My licenses" || links["/account"] == "" || links["/console/"] != "" {
			t.Errorf("%s leads to %v", path, links)
		}
	}
	if links := h.as(buyer).Get("/account").Links("/"); links["/portal/"] != "" {
		t.Errorf("a buyer is led to %v", links)
	}
}

// TestChooser: a single partner opens immediately, several are listed, without one there is no
// page.
func TestChooser(t *testing.T) {
	h := start(t)
	h.as(viewer).Get("/portal/").WantRedirect(h.path(""))
	h.as("").Get("/portal/").WantRedirect("/sign-in?next=%2Fportal%2F")
	if got := h.as(buyer).Get("/portal/"); got.Status != http.StatusNotFound {
		t.Errorf("a buyer gets %d", got.Status)
	}
	u := h.User(viewer)
	_, err := h.Partners.AddMember(t.Context(), apptest.Tester, h.reef.ID, u.ID, partner.Admin)
	h.Must(err)
	page := h.as(viewer).SignIn(viewer, password).Get("/portal/").Want(http.StatusOK, "Choose an application")
	if links := page.Links("/portal/"); links[h.path("")] != "Tide Planner" || len(links) < 3 || !strings.Contains(page.Text(), "You are an admin.") {
		t.Errorf("the chooser leads to %v: %s", links, page.Text())
	}
	if links := h.as(viewer).Get(h.path("/setup")).Links("/portal/"); links["/portal/"] == "" {
		t.Errorf("the page does not lead to the chooser: %v", links)
	}
}

// TestRoleIsReadPerRequest: a changed or removed role takes effect with the next request.
func TestRoleIsReadPerRequest(t *testing.T) {
	h := start(t)
	h.as(viewer).Get(h.path("/setup")).Want(http.StatusOK, "Set-up")
	h.Exec(`DELETE FROM members WHERE user_id = $1`, h.User(viewer).ID)
	if got := h.as(viewer).Get(h.path("/setup")); got.Status != http.StatusNotFound {
		t.Errorf("a member who was removed gets %d", got.Status)
	}
}

// TestNavigation lists the existing pages that the role may see, and marks the current one.
func TestNavigation(t *testing.T) {
	h := start(t)
	for _, m := range roles {
		links := h.as(m.email).Get(h.path("/setup")).Links(h.path("/"))
		for _, rt := range table() {
			if rt.Kind == portal.Page && links[h.path("%s", rt.Path)] != "" && !m.role.Covers(needsOf(rt).Least) {
				t.Errorf("a %s is led to %s", m.role, rt.Path)
			}
		}
		if links[h.path("/setup")] != "Set-up" {
			t.Errorf("a %s is led to %v", m.role, links)
		}
	}
	if body := h.as(viewer).Get(h.path("/setup")).Body; !strings.Contains(body, `href="`+h.path("/setup")+`" aria-current="page"`) {
		t.Error("the page is not marked in the navigation")
	}
}

// TestSignOutClearsTheCache: after signing out, the pages cannot be reopened with the back button.
func TestSignOutClearsTheCache(t *testing.T) {
	h := start(t)
	if got := h.as(viewer).Post("/sign-out"); got.Header.Get("Clear-Site-Data") != `"cache"` {
		t.Errorf("signing out answers %v", got.Header)
	}
	h.as(viewer).Get(h.path("/setup")).WantRedirect("/sign-in?next=" + strings.ReplaceAll(h.path("/setup"), "/", "%2F"))
}

// TestFragmentOfAnExpiredSession: htmx leaves the page.
func TestFragmentOfAnExpiredSession(t *testing.T) {
	h := start(t)
	got := apptest.Send(t, http.DefaultClient, http.MethodGet, h.App.URL()+h.path("/setup"), "",
		"HX-Request: true", "HX-Request-Type: partial", "HX-Current-URL: "+h.App.URL()+h.path("/setup?a=1"))
	if to := got.Header.Get("HX-Redirect"); got.Status != http.StatusUnauthorized || !strings.HasPrefix(to, "/sign-in?next=%2Fportal%2F") {
		t.Errorf("got %d to %q", got.Status, to)
	}
}

// TestTimesSwitch: the choice of time zone is remembered and leads back.
func TestTimesSwitch(t *testing.T) {
	h := start(t)
	b := h.as(viewer)
	site, err := url.Parse(h.web.URL)
	h.Must(err)
	b.Jar.SetCookies(site, []*http.Cookie{{Name: "claviger-zone", Value: "Europe/Berlin"}})
	page := b.Get(h.path("/setup"))
	if !strings.Contains(page.Body, "Times are in Europe/Berlin.") {
		t.Errorf("the page says %s", page.Text())
	}
	b.Press(page, "Show times in UTC").WantRedirect(h.path("/setup"))
	if page = b.Get(h.path("/setup")); !strings.Contains(page.Body, "Times are in UTC.") {
		t.Errorf("the page says %s", page.Text())
	}
	b.Press(page, "Show times in Europe/Berlin").WantRedirect(h.path("/setup"))
	b.Post("/times", "zone", "utc", "next", "https://evil.example/").WantRedirect("/account")
}
