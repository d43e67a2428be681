package console_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/area/areatest"
	"claviger/internal/console"
)

// table returns the route table. Its handlers are not called.
func table() []console.Route { return (&console.Handler{}).Table() }

// at fills a route with things that exist or do not.
func (h *harness) at(rt console.Route, of known) areatest.Target {
	h.Helper()
	return registry.At(h, h, rt.Kind, rt.Path, path(""), of)
}

// TestIsolation requests every route as each person without access: a role that is too low, a
// member of a partner, a buyer, someone not signed in, another site. They get the answer of a
// missing page. People with access get an answer, so that the test does not pass by accident; for a
// missing id they get 404.
func TestIsolation(t *testing.T) {
	h := start(t)
	for _, rt := range table() {
		t.Run(strings.TrimPrefix(string(rt.Kind)+rt.Path, "/"), func(t *testing.T) {
			h := h.in(t)
			own := areatest.Each(rt.Kind, func() areatest.Target { return h.at(rt, exists) })
			h.wantRefused(member, own())
			h.wantRefused(buyer, own())
			for _, m := range roles {
				if m.role.May(rt.Needs.(account.Scope)) {
					areatest.WantAnswer(h.as(m.email), m.email, own())
				} else {
					h.wantRefused(m.email, own())
				}
			}
			areatest.WantSignIn(h.as(""), own())
			areatest.WantOwnForms(h.as(admin), own())
			if areatest.HasPlaceholder(rt.Path) {
				areatest.WantUnknown(h.as(admin), h.at(rt, missing))
			}
		})
	}
}

// wantRefused checks that a person gets the answer of a missing page.
func (h *harness) wantRefused(email string, to areatest.Target) {
	h.Helper()
	got := areatest.Send(h.as(email), to, "same-origin")
	if got.Status != areatest.Refused(to.Kind) || to.Kind != console.Stream && !strings.Contains(got.Text(), "There is no page at this address, or your role does not include it.") {
		h.Errorf("%s as %s: %d\n%s", to.Path, email, got.Status, got.Body)
	}
}

// update makes TestIsolationTable write the table.
var update = flag.Bool("update", false, "write the table of routes into docs/console.md")

// TestIsolationTable compares the table of docs/console.md with the routes; -update writes it.
func TestIsolationTable(t *testing.T) {
	areatest.HoldTable(t, "../../docs/console.md", markdown(), *update)
}

// markdown returns the table of routes and roles.
func markdown() string {
	var b strings.Builder
	b.WriteString("| route | needs | viewer | sales | support | admin | a partner's member, a buyer | nobody |\n|---|---|---|---|---|---|---|---|\n")
	for _, rt := range table() {
		no := strconv.Itoa(areatest.Refused(rt.Kind))
		fmt.Fprintf(&b, "| %s `/console%s` | %s |", areatest.Method(rt.Kind), rt.Path, rt.Needs)
		for _, m := range roles {
			if m.role.May(rt.Needs.(account.Scope)) {
				b.WriteString(" yes |")
			} else {
				b.WriteString(" " + no + " |")
			}
		}
		fmt.Fprintf(&b, " %s | %s |\n", no, areatest.SignIn(rt.Kind))
	}
	return b.String()
}
