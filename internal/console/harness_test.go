package console_test

import (
	"fmt"
	"testing"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

const password = "correct horse battery"

// The people of the harness: an operator of each role, the admin of a partner, and a
// buyer.
const (
	viewer  = "viewer@market.example"
	sales   = "sales@market.example"
	support = "support@market.example"
	admin   = "admin@market.example"
	member  = "admin@tide.example"
	buyer   = "ann@buyer.example"
)

// roles are the operators from the lowest role up.
var roles = []struct {
	role  account.Role
	email string
}{{account.RoleViewer, viewer}, {account.RoleSales, sales}, {account.RoleSupport, support}, {account.RoleAdmin, admin}}

// harness is the whole application with operators and the partner Tide.
type harness struct {
	*apptest.Harness
	web      *pagetest.Service
	tide     partner.Partner
	latest   license.License              // the last license made by sold
	person   account.User                 // the last person made by the registry
	browsers map[string]*pagetest.Browser // by email; "" is not signed in
}

// start runs the application and signs all people in. change may alter its configuration.
func start(t testing.TB, change ...func(*app.Config)) *harness {
	t.Helper()
	h := &harness{Harness: apptest.New(t, append([]func(*app.Config){testMoney}, change...)...), browsers: map[string]*pagetest.Browser{}}
	h.tide, _ = h.Partner("Tide Planner", profile.URLs{})
	h.Plans(h.tide.ID, 3, partner.Plan{PriceCents: 4900, Currency: "USD"})
	for _, m := range roles {
		h.operator(m.email, m.role)
	}
	u := h.User(member)
	h.SetPassword(u.ID, password)
	_, err := h.Partners.AddMember(h.Context(), apptest.Tester, h.tide.ID, u.ID, partner.Admin)
	h.Must(err)
	h.SetPassword(h.User(buyer).ID, password)
	h.Run()
	h.web = pagetest.At(t, h.App.URL(), h.DB)
	h.browsers[""] = h.web.NewBrowser()
	for _, email := range []string{viewer, sales, support, admin, member, buyer} {
		h.browsers[email] = h.web.NewBrowser()
		h.browsers[email].Post("/sign-in", "email", email, "password", password)
	}
	return h
}

// testMoney turns off the production limits and the second factor of admins. Sales are divided, so that
// Today has nothing to say about them.
func testMoney(cfg *app.Config) {
	cfg.Defaults = ledger.Defaults{Set: true, ShareBP: 7000}
	cfg.TestMoney, cfg.RequireSecondFactor = true, account.RequireNone
}

// operator creates a user with a role.
func (h *harness) operator(email string, role account.Role) account.User {
	h.Helper()
	u := h.User(email)
	h.SetPassword(u.ID, password)
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetRole(h.Context(), tx, apptest.Tester, u.ID, role, h.Accounts.Now())
		return err
	}))
	return u
}

// actor returns a person as the audit names them.
func (h *harness) actor(email string) audit.Actor {
	h.Helper()
	return audit.Actor{Kind: audit.ByUser, ID: h.User(email).ID}
}

// as returns the browser of a person.
func (h *harness) as(email string) *pagetest.Browser {
	h.Helper()
	b, ok := h.browsers[email]
	if !ok {
		h.Fatalf("nobody is called %s", email)
	}
	mine := *b
	mine.Service = h.web // of the subtest, if this is one
	return &mine
}

// in returns the harness for a subtest.
func (h *harness) in(t *testing.T) *harness {
	in := *h
	in.Harness, in.web = h.In(t), h.web.In(t)
	return &in
}

// path returns the address of a page.
func path(format string, values ...any) string { return "/console" + fmt.Sprintf(format, values...) }
