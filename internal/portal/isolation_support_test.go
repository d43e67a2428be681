package portal_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/area/areatest"
	"claviger/internal/partner"
	"claviger/internal/portal"
	"claviger/internal/sqldb"
)

// Operators for support visits.
const (
	supporter = "support@market.example"
	operator  = "admin@market.example"
)

// operator creates an operator with a role and signs them in.
func (h *harness) operator(email string, role account.Role) account.User {
	h.Helper()
	u := h.User(email)
	h.SetPassword(u.ID, password)
	h.setRole(u, role)
	h.browsers[email] = h.web.NewBrowser()
	h.browsers[email].Post("/sign-in", "email", email, "password", password)
	return u
}

func (h *harness) setRole(u account.User, role account.Role) {
	h.Helper()
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetRole(h.Context(), tx, apptest.Tester, u.ID, role, h.Accounts.Now())
		return err
	}))
}

// enter starts a support visit at Tide; allow permits changes.
func (h *harness) enter(email string, allow bool) {
	h.Helper()
	at := fmt.Sprintf("/console/partners/%d/support", h.tide.ID)
	if page := h.as(email).Post(at, "reason", "case 4711"); page.Status != http.StatusSeeOther {
		h.Fatalf("enter: %d\n%s", page.Status, page.Body)
	}
	if !allow {
		return
	}
	if page := h.as(email).Post(at+"/allow", "allow", "on"); page.Status != http.StatusSeeOther {
		h.Fatalf("allow: %d\n%s", page.Status, page.Body)
	}
}

// wantMarked checks that a page has the banner of a support visit.
func (h *harness) wantMarked(what, body string) {
	h.Helper()
	if !strings.Contains(body, "you are in the portal of Tide Planner as support of the marketplace") || !strings.Contains(body, "/support/leave") {
		h.Errorf("%s is not marked", what)
	}
}

// TestIsolationOfSupport requests every route as an operator: before a visit, during one that may
// only look, during one that may change something with the role support and with the role admin,
// and after it. Secrets and the team never exist.
func TestIsolationOfSupport(t *testing.T) {
	h := start(t)
	h.operator(supporter, account.RoleSupport)
	h.operator(operator, account.RoleAdmin)
	h.operator("viewer@market.example", account.RoleViewer)
	every := func(name string, check func(h *harness, rt portal.Route, own areatest.Target, nowhere func(string))) {
		t.Run(name, func(t *testing.T) {
			for _, rt := range table() {
				t.Run(strings.TrimPrefix(string(rt.Kind)+rt.Path, "/"), func(t *testing.T) {
					h := h.in(t)
					check(h, rt, h.at(rt, h.tide.ID, h.tide), func(email string) {
						h.Helper()
						want := areatest.Send(h.as(email), h.at(rt, missing, nobody), "same-origin")
						areatest.WantSame(h.as(email), email, h.at(rt, h.tide.ID, h.tide), want)
					})
				})
			}
		})
	}
	every("before", func(_ *harness, _ portal.Route, _ areatest.Target, nowhere func(string)) {
		nowhere(operator)
		nowhere("viewer@market.example")
	})
	h.enter(supporter, false)
	every("looking", func(h *harness, rt portal.Route, own areatest.Target, nowhere func(string)) {
		switch {
		case needsOf(rt).Private, needsOf(rt).Partner: // with the role support, the API cannot change partners either
			h.wantClosed(supporter, own)
		case needsOf(rt).Acts:
			got := areatest.Send(h.as(supporter), own, "same-origin")
			if got.Status != http.StatusForbidden || !strings.Contains(got.Text(), "You are here as support and may only look.") {
				h.Errorf("%s: %d\n%s", own.Path, got.Status, got.Text())
			}
			h.wantMarked(own.Path, got.Body)
		default:
			h.wantShown(supporter, own)
		}
		nowhere(operator) // the visit belongs to another person
	})
	at := fmt.Sprintf("/console/partners/%d/support", h.tide.ID)
	if page := h.as(supporter).Post(at+"/allow", "allow", "on"); page.Status != http.StatusSeeOther {
		t.Fatalf("allow: %d\n%s", page.Status, page.Body)
	}
	h.enter(operator, true)
	every("changing", func(h *harness, rt portal.Route, own areatest.Target, _ func(string)) {
		for _, email := range []string{supporter, operator} {
			if needsOf(rt).Private || needsOf(rt).Partner && email == supporter {
				h.wantClosed(email, own)
				continue
			}
			h.wantShown(email, own)
			areatest.WantOwnForms(h.as(email), own)
		}
		if areatest.HasPlaceholder(rt.Path) {
			if got := areatest.Send(h.as(operator), h.at(rt, h.tide.ID, h.reef), "same-origin"); got.Status != areatest.Refused(rt.Kind) && got.Status != http.StatusNotFound {
				h.Errorf("%s: an id of another partner is answered %d", rt.Path, got.Status)
			}
		}
	})
	for _, email := range []string{supporter, operator} {
		if page := h.as(email).Post(at + "/leave"); page.Status != http.StatusSeeOther {
			t.Fatalf("leave: %d\n%s", page.Status, page.Body)
		}
	}
	every("after", func(_ *harness, _ portal.Route, _ areatest.Target, nowhere func(string)) {
		nowhere(supporter)
		nowhere(operator)
	})
}

// aside matches the banner of a support visit.
var aside = regexp.MustCompile(`(?s)\n<aside class="as".*?</aside>`)

// wantClosed checks that support gets the answer of a missing page, with the banner, because they
// are still in the portal.
func (h *harness) wantClosed(email string, own areatest.Target) {
	h.Helper()
	got := areatest.Send(h.as(email), own, "same-origin")
	if own.Kind != portal.Stream {
		h.wantMarked(own.Path, got.Body)
	}
	other := own
	other.Path = strings.Replace(own.Path, fmt.Sprintf("/portal/%d", h.tide.ID), fmt.Sprintf("/portal/%d", missing), 1)
	want := areatest.Send(h.as(email), other, "same-origin")
	if got.Status != areatest.Refused(own.Kind) || aside.ReplaceAllString(got.Body, "") != want.Body {
		h.Errorf("%s as %s: %d, not the answer of what does not exist:\n%s", own.Path, email, got.Status, got.Body)
	}
}

// wantShown checks that support gets an answer; a page must have the banner.
func (h *harness) wantShown(email string, own areatest.Target) {
	h.Helper()
	got := areatest.WantAnswer(h.as(email), email, own)
	if own.Kind == portal.Page && got.Status == http.StatusOK {
		h.wantMarked(own.Path, got.Body)
	}
	if strings.Contains(got.Body, h.reef.Name) || strings.Contains(got.Body, h.reef.ClientID) {
		h.Errorf("%s shows things of another partner", own.Path)
	}
}

// TestSupportRows lists the rows that are closed to support: a new page about secrets or people
// needs a decision here.
func TestSupportRows(t *testing.T) {
	for _, rt := range table() {
		secret := strings.HasPrefix(rt.Path, "/credentials") || strings.HasPrefix(rt.Path, "/team") || strings.Contains(rt.Path, "single-key") ||
			strings.HasPrefix(rt.Path, "/payout-details")
		if needsOf(rt).Private != secret {
			t.Errorf("%s: private is %v", rt.Path, needsOf(rt).Private)
		}
		if needsOf(rt).Acts != (rt.Kind == portal.Act || needsOf(rt).Least != partner.Viewer) {
			t.Errorf("%s: acts is %v", rt.Path, needsOf(rt).Acts)
		}
	}
}

// supportWords returns the access of support to a row, before and after the second step, for the
// table of docs/portal.md.
func supportWords(rt portal.Route) (look, change string) {
	switch {
	case needsOf(rt).Private:
		return "404", "404"
	case needsOf(rt).Partner:
		return "403, 404 without `admin`", "yes, 404 without `admin`"
	case needsOf(rt).Acts:
		return "403", "yes"
	}
	return "yes", "yes"
}
