package portal_test

import (
	"fmt"
	"testing"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/visitor/pagetest"
)

const password = "correct horse battery"

// The people of the harness. A member of Tide is named after the role; the one of Reef is an admin
// there.
const (
	viewer    = "viewer@tide.example"
	developer = "developer@tide.example"
	admin     = "admin@tide.example"
	stranger  = "admin@reef.example"
	buyer     = "ann@buyer.example"
)

// roles are the members of Tide from the lowest role up.
var roles = []struct {
	role  partner.Role
	email string
}{{partner.Viewer, viewer}, {partner.Developer, developer}, {partner.Admin, admin}}

// harness is the whole application with two partners, Tide and Reef, with the same things. Tests
// act as the people of Tide; no data of Reef may reach them.
type harness struct {
	*apptest.Harness
	web        *pagetest.Service
	tide, reef partner.Partner
	browsers   map[string]*pagetest.Browser // by email; "" is not signed in
}

// start runs the application and signs all people in. change may alter its configuration.
func start(t testing.TB, change ...func(*app.Config)) *harness {
	t.Helper()
	h := &harness{Harness: apptest.New(t, append([]func(*app.Config){testMoney}, change...)...), browsers: map[string]*pagetest.Browser{}}
	h.tide, h.reef = h.application("Tide Planner"), h.application("Reef Maps")
	for _, m := range roles {
		h.member(h.tide, m.email, m.role)
	}
	h.member(h.reef, stranger, partner.Admin)
	h.SetPassword(h.User(buyer).ID, password)
	h.Run()
	h.web = pagetest.At(t, h.App.URL(), h.DB)
	h.browsers[""] = h.web.NewBrowser()
	for _, email := range []string{viewer, developer, admin, stranger, buyer} {
		h.browsers[email] = h.web.NewBrowser()
		h.browsers[email].Post("/sign-in", "email", email, "password", password)
	}
	return h
}

// testMoney turns off production limits, such as that of URL checks, and the second factor of
// operators.
func testMoney(cfg *app.Config) {
	cfg.TestMoney = true
	cfg.RequireSecondFactor = account.RequireNone
}

// application enrols a partner that sells three plans.
func (h *harness) application(name string) partner.Partner {
	h.Helper()
	p, _ := h.Partner(name, profile.URLs{})
	h.Plans(p.ID, 3, partner.Plan{PriceCents: 4900, Currency: "USD"})
	return p
}

// member creates a user with a role.
func (h *harness) member(p partner.Partner, email string, role partner.Role) account.User {
	h.Helper()
	u := h.User(email)
	h.SetPassword(u.ID, password)
	_, err := h.Partners.AddMember(h.Context(), apptest.Tester, p.ID, u.ID, role)
	h.Must(err)
	return u
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

// sell sells a license of a partner to the buyer.
func (h *harness) sell(p partner.Partner) license.License {
	h.Helper()
	return h.Buy(license.Purchase{
		PartnerID: p.ID, Tier: 1, AmountCents: 4900, Currency: "USD", ExternalID: secret.UUID(), Buyer: &account.Person{Email: buyer},
	})
}

// path returns the URL of a page of Tide.
func (h *harness) path(format string, values ...any) string {
	return fmt.Sprintf("/portal/%d", h.tide.ID) + fmt.Sprintf(format, values...)
}
