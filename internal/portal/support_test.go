package portal_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestSupportIsTold: starting a visit emails only the partner's admins, without the reason and the
// operator's name; the audit has both, the partner's page of it has neither.
func TestSupportIsTold(t *testing.T) {
	h := start(t)
	u := h.operator(supporter, account.RoleSupport)
	at := fmt.Sprintf("/console/partners/%d/support", h.tide.ID)
	if page := h.as(supporter).Post(at, "reason", " "); page.Status < 400 || page.Status >= 500 {
		t.Errorf("without a reason: %d", page.Status)
	}
	h.enter(supporter, false)
	if page := h.as(supporter).Post(at + "/allow"); page.Status != http.StatusUnprocessableEntity {
		t.Errorf("the second step without its tick: %d", page.Status)
	}
	h.as(supporter).Post(at+"/allow", "allow", "on").WantRedirect(fmt.Sprintf("/portal/%d", h.tide.ID))
	if n := h.Count(`SELECT count(*) FROM support_visits`); n != 1 {
		t.Errorf("%d visits", n)
	}
	if page := h.as(supporter).Post(at, "reason", "again"); page.Status != http.StatusConflict {
		t.Errorf("a second visit: %d", page.Status)
	}
	mails, err := h.Mail.Recent(h.Context(), h.DB, 50)
	h.Must(err)
	told := 0
	for _, m := range mails {
		if strings.HasPrefix(m.Cause, "support visit") {
			told++
			if m.To != admin {
				t.Errorf("a mail goes to %s", m.To)
			}
		}
	}
	if told != 1 {
		t.Errorf("%d mails", told)
	}
	h.as(supporter).Post(h.path("/events/purchase/test"))
	entries, _, err := h.Audit.List(h.Context(), audit.Filter{ActorKind: audit.ByUser, ActorID: u.ID}, paging.First())
	h.Must(err)
	for want, facts := range map[string]string{"support.enter": "case 4711", "support.allow": "visit_id"} {
		found := false
		for _, e := range entries {
			found = found || e.Action == want && strings.Contains(e.After, facts) && e.Actor.SupportVisit != 0 && e.Actor.ActingFor == h.tide.ID && e.PartnerID == h.tide.ID
		}
		if !found {
			t.Errorf("the audit lacks %s: %+v", want, entries)
		}
	}
	page := h.as(viewer).Get(h.path("/audit")).Text()
	if !strings.Contains(page, "Entered this portal as support") || !strings.Contains(page, "The marketplace's support, in this portal") {
		t.Errorf("the partner reads\n%s", page)
	}
	if strings.Contains(page, "4711") || strings.Contains(page, supporter) {
		t.Errorf("the partner reads what is for operators:\n%s", page)
	}
}

// TestSupportMail: the email to the partner's admins names the visit and its duration, but neither
// the reason nor the operator.
func TestSupportMail(t *testing.T) {
	h := &harness{Harness: apptest.New(t)} // sends nothing, because sent texts are not kept
	p := h.application("Tide Planner")
	h.member(p, admin, partner.Admin)
	s := &partner.Support{Partners: h.Partners, Mail: h.Mail, Marketplace: "Market", PublicURL: "https://market.example"}
	by := audit.Actor{Kind: audit.ByUser, ID: h.User(supporter).ID, Session: "a session"}
	v, err := s.Begin(h.Context(), by, p.ID, "case 4711")
	h.Must(err)
	mails := h.Mails(admin)
	if len(mails) != 1 {
		t.Fatalf("%d mails", len(mails))
	}
	text := mails[0].Subject + mails[0].Text + mails[0].HTML
	for _, want := range []string{"Support of Market looks at the portal of Tide Planner", v.BegunAt.Add(30 * time.Minute).UTC().Format("15:04 UTC"), "/audit"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "4711") || strings.Contains(text, supporter) {
		t.Errorf("the partner reads what is for operators:\n%s", text)
	}
}

// TestSupportActs: the audit records acts of support under the person's name, as support.
func TestSupportActs(t *testing.T) {
	h := start(t)
	u := h.operator(operator, account.RoleAdmin)
	h.enter(operator, true)
	if page := h.as(operator).Post(h.path("/contacts"), "name", "Ops", "email", "ops@tide.example"); page.Status != http.StatusSeeOther {
		t.Fatalf("add a contact: %d\n%s", page.Status, page.Body)
	}
	entries, _, err := h.Audit.List(h.Context(), audit.Filter{Action: "contact.create"}, paging.First())
	h.Must(err)
	if a := entries[0].Actor; a.ID != u.ID || a.ActingFor != h.tide.ID || a.SupportVisit == 0 || a.Session == "" || entries[0].Origin() != audit.FromMarketplace {
		t.Errorf("the audit has %+v", entries[0])
	}
}

// TestSupportEnds: a visit ends after 30 minutes, or when the operator leaves, signs out or loses
// the role, immediately and on other nodes, too; open pages stop following.
func TestSupportEnds(t *testing.T) {
	for name, end := range map[string]func(h *harness, u account.User, clock *apptest.Clock){
		"left": func(h *harness, _ account.User, _ *apptest.Clock) {
			h.as(supporter).Post(fmt.Sprintf("/console/partners/%d/support/leave", h.tide.ID))
		},
		"expired":     func(_ *harness, _ account.User, clock *apptest.Clock) { clock.Advance(time.Second) },
		"no operator": func(h *harness, u account.User, _ *apptest.Clock) { h.setRole(u, "") },
		"lower role":  func(h *harness, u account.User, _ *apptest.Clock) { h.setRole(u, account.RoleSales) },
		"another session": func(h *harness, _ account.User, _ *apptest.Clock) {
			h.browsers[supporter] = h.web.NewBrowser()
			h.browsers[supporter].Post("/sign-in", "email", supporter, "password", password)
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := apptest.StoppedClock(app.Now())
			h := start(t, clock.Set)
			u := h.operator(supporter, account.RoleSupport)
			h.enter(supporter, false)
			clock.Advance(30*time.Minute - time.Second)
			if page := h.as(supporter).Get(h.path("/overview")); page.Status != http.StatusOK {
				t.Fatalf("during the visit: %d\n%s", page.Status, page.Body)
			}
			open := h.follow(h.as(supporter), h.as(supporter).Get(h.path("/overview")))
			session, err := sqldb.One(h.Context(), h.DB, sqldb.Value[string], `SELECT session FROM support_visits WHERE user_id = $1`, u.ID)
			h.Must(err)
			end(h, u, clock)
			wanted := http.StatusNotFound
			if name == "no operator" || name == "lower role" {
				wanted = http.StatusSeeOther // to sign in again
			}
			if page := h.as(supporter).Get(h.path("/overview")); page.Status != wanted {
				t.Errorf("after it: %d", page.Status)
			}
			if name == "another session" {
				return // the first one continues
			}
			if stream := h.as(supporter).Send(h.Context(), http.MethodGet, h.path("/overview/live"), nil, "same-origin"); stream.StatusCode != http.StatusUnauthorized {
				t.Errorf("a stream after it: %d", stream.StatusCode)
			}
			node := h.Node(clock.Set)
			if _, err := node.Partners.SupportAccess(h.Context(), h.tide.ID, u.ID, session); !fault.Is(err, partner.CodeUnknownPartner) {
				t.Errorf("on another node: %v", err)
			}
			_, err = h.Profiles.AddContact(h.Context(), apptest.Tester, h.tide.ID, "Ops", "ops@tide.example")
			h.Must(err)
			if got := open.event(); got != "close" {
				t.Errorf("an open page gets %s", got)
			}
		})
	}
}

// TestSupportIsMarkedOnErrors: error pages have the banner like every other page, and those of a
// member do not.
func TestSupportIsMarkedOnErrors(t *testing.T) {
	h := start(t, bounded)
	h.operator(operator, account.RoleAdmin)
	h.enter(operator, true)
	marked := func(what string, status int, page *pagetest.Page) {
		t.Helper()
		if page.Status != status {
			t.Errorf("%s: %d\n%s", what, page.Status, page.Text())
		}
		h.wantMarked(what, page.Body)
	}
	marked("an id that nobody has", http.StatusNotFound, h.as(operator).Get(h.path("/deliveries/987654321")))
	cookie := h.as(operator).Cookie()
	unknown := apptest.Send(t, http.DefaultClient, "GET", h.App.URL()+h.path("/nothing/here"), "", "Cookie: "+cookie.Name+"="+cookie.Value, "Accept: text/html")
	if unknown.Status != http.StatusNotFound || unknown.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("an unknown path: %d %v", unknown.Status, unknown.Header)
	}
	h.wantMarked("an unknown path", unknown.Body)
	marked("another method", http.StatusMethodNotAllowed, h.as(operator).Post(h.path("/deliveries")))
	marked("another site's form", http.StatusForbidden, h.as(operator).Do(http.MethodPost, h.path("/overview/try"), nil, "cross-site"))
	marked("the team", http.StatusNotFound, h.as(operator).Get(h.path("/team")))
	marked("an act on secrets", http.StatusNotFound, h.as(operator).Post(h.path("/credentials/keys")))
	for range 10 {
		h.as(operator).Post(h.path("/overview/try")).WantRedirect(h.path("/overview"))
	}
	marked("too many tries", http.StatusTooManyRequests, h.as(operator).Post(h.path("/overview/try")))
	if page := h.as(developer).Get(h.path("/deliveries/987654321")); page.Status != http.StatusNotFound || strings.Contains(page.Body, "as support of the marketplace") {
		t.Errorf("a member: %d\n%s", page.Status, page.Text())
	}
	h.Exec(`DROP TABLE contacts`)
	marked("what failed", http.StatusInternalServerError, h.as(operator).Get(h.path("/contacts")))
}
