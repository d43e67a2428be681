package portal_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"claviger/internal/area/areatest"
	"claviger/internal/partner"
	"claviger/internal/portal"
	"claviger/internal/visitor/pagetest"
)

// table returns the route table. Its handlers are not called.
func table() []portal.Route { return (&portal.Handler{Live: &portal.Live{}}).Table() }

// needsOf returns the access that a route needs.
func needsOf(rt portal.Route) portal.Needs { return rt.Needs.(portal.Needs) }

// at fills a route of the partner with that id with things of owner.
func (h *harness) at(rt portal.Route, partnerID int64, owner partner.Partner) areatest.Target {
	h.Helper()
	return registry.At(h, h, rt.Kind, rt.Path, "/portal/"+strconv.FormatInt(partnerID, 10), owner)
}

// missing is a partner id that does not exist.
const missing = 987654321

// TestIsolation requests every route as each person without access. Things of others get the answer
// of missing ones, byte for byte. People with access get an answer, so that the test does not pass
// by accident.
func TestIsolation(t *testing.T) {
	h := start(t)
	for _, rt := range table() {
		t.Run(strings.TrimPrefix(string(rt.Kind)+rt.Path, "/"), func(t *testing.T) {
			h := h.in(t)
			own := areatest.Each(rt.Kind, func() areatest.Target { return h.at(rt, h.tide.ID, h.tide) })
			for _, email := range []string{stranger, buyer} {
				h.wantNowhere(rt, email, own())
			}
			for _, m := range roles {
				if m.role.Covers(needsOf(rt).Least) {
					h.wantAnswer(m.email, own())
				} else {
					h.wantNowhere(rt, m.email, own())
				}
			}
			areatest.WantSignIn(h.as(""), own())
			h.wantForeignIDsUnknown(rt)
			areatest.WantOwnForms(h.as(admin), own())
		})
	}
}

// wantNowhere checks that a foreign thing gets the answer of a missing partner. The same person
// requests both, because the page has their own menu.
func (h *harness) wantNowhere(rt portal.Route, email string, to areatest.Target) {
	h.Helper()
	nowhere := areatest.Send(h.as(email), h.at(rt, missing, nobody), "same-origin")
	if nowhere.Status != areatest.Refused(rt.Kind) {
		h.Fatalf("a partner that does not exist: %d\n%s", nowhere.Status, nowhere.Body)
	}
	areatest.WantSame(h.as(email), email, to, nowhere)
}

// in returns the harness for a subtest.
func (h *harness) in(t *testing.T) *harness {
	in := *h
	in.Harness, in.web = h.In(t), h.web.In(t)
	return &in
}

// wantAnswer checks that a person with access gets an answer without data of Reef.
func (h *harness) wantAnswer(email string, to areatest.Target) {
	h.Helper()
	got := areatest.WantAnswer(h.as(email), email, to)
	if strings.Contains(got.Body, h.reef.Name) || strings.Contains(got.Body, h.reef.ClientID) {
		h.Errorf("%s as %s shows things of another partner:\n%s", to.Path, email, got.Body)
	}
}

// wantForeignIDsUnknown checks that an admin of Tide gets the same answer for ids of
// Reef as for ids that do not exist.
func (h *harness) wantForeignIDsUnknown(rt portal.Route) {
	h.Helper()
	if !registry.TakesIDs(rt.Path) {
		return
	}
	answer := func(owner partner.Partner) *pagetest.Page {
		to := h.at(rt, h.tide.ID, owner)
		got := areatest.Send(h.as(admin), to, "same-origin")
		got.Body = without(got.Body, to)
		return got
	}
	foreign, unknown := answer(h.reef), answer(nobody)
	if foreign.Status != unknown.Status || foreign.Body != unknown.Body {
		h.Errorf("%s: ids of another partner are answered %d, unknown ones %d:\n%s\n%s", rt.Path, foreign.Status, unknown.Status, foreign.Body, unknown.Body)
	}
	if areatest.HasPlaceholder(rt.Path) && foreign.Status != http.StatusNotFound {
		h.Errorf("%s: an id of another partner is answered %d", rt.Path, foreign.Status)
	}
}

// without removes the values of the form or the query from a page: a form with an error shows the
// typed values.
func without(body string, to areatest.Target) string {
	sent := to.Form
	if _, query, ok := strings.Cut(to.Path, "?"); ok {
		sent, _ = url.ParseQuery(query) // made by Encode
	}
	for _, values := range sent {
		for _, v := range values {
			if v != "" {
				body = strings.ReplaceAll(body, v, "…")
			}
		}
	}
	return body
}

// update makes TestIsolationTable write the table.
var update = flag.Bool("update", false, "write the table of routes into docs/portal.md")

// TestIsolationTable compares the table of docs/portal.md with the routes; -update writes it.
func TestIsolationTable(t *testing.T) {
	areatest.HoldTable(t, "../../docs/portal.md", markdown(), *update)
}

// markdown returns the table of routes and roles.
func markdown() string {
	var b strings.Builder
	b.WriteString("| route | viewer | developer | admin | another partner's member, buyer | nobody | as support | after its second step |\n|---|---|---|---|---|---|---|---|\n")
	for _, rt := range table() {
		no := strconv.Itoa(areatest.Refused(rt.Kind))
		fmt.Fprintf(&b, "| %s `/portal/{partner}%s` |", areatest.Method(rt.Kind), rt.Path)
		for _, m := range roles {
			if m.role.Covers(needsOf(rt).Least) {
				b.WriteString(" yes |")
			} else {
				b.WriteString(" " + no + " |")
			}
		}
		look, change := supportWords(rt)
		fmt.Fprintf(&b, " %s | %s | %s | %s |\n", no, areatest.SignIn(rt.Kind), look, change)
	}
	return b.String()
}
