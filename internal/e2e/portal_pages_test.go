package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
	"claviger/internal/portal"
)

// portalDetails are pages of the portal about one thing, opened by the first link of a list. Pages
// of the route table without a placeholder are checked automatically; add one with a placeholder
// here. `make screenshots` takes pictures of all of them, in light and dark, at 1280 and 390
// pixels.
var portalDetails = []struct{ name, list, css string }{
	{"run", "/simulator", "main tbody a[href*='/simulator/runs/']"},
	{"rotate", "/credentials", "main a[href$='/rotate']"},
	{"revoke", "/credentials", "main a[href$='/revoke']"},
	{"contact-test", "/contacts", "main a[href$='/test']"},
	{"delivery", "/deliveries?range=all", "#deliveries tbody a"},
	{"license", "/licenses", "#licenses tbody a"},
	{"contact-remove", "/contacts", "main a[href$='/remove']"},
	{"member-role", "/team", "main a[href$='/role']"},
	{"member-remove", "/team", "main a[href*='/members/'][href$='/remove']"},
}

// newMember starts the service with sold licenses and signs the partner's member in.
func newMember(t *testing.T) *buyer {
	t.Helper()
	b := newBuyer(t, nil)
	for i := range 3 {
		b.sold(b.card.Buyer.Email, fmt.Sprint("order-", i))
	}
	b.signInAs(b.card.Member.Email, b.card.Member.Password)
	return b
}

// signInAs signs in by the form, from any page.
func (b *buyer) signInAs(email, password string) {
	b.t.Helper()
	b.visit("/sign-in")
	b.Type("#email", email)
	b.Type("#password", password)
	b.Press("main form button")
}

// path returns the address of a page of the dev partner's portal.
func (b *buyer) path(path string) string { return fmt.Sprintf("/portal/%d%s", b.card.Partner.ID, path) }

// TestPortalPages checks every page of the portal.
func TestPortalPages(t *testing.T) {
	t.Parallel()
	b := newMember(t)
	var stops []stop
	for _, rt := range (&portal.Handler{Live: &portal.Live{}}).Table() {
		if rt.Kind != portal.Page || rt.Path == "" || strings.Contains(rt.Path, "{") {
			continue
		}
		stops = append(stops, stop{"portal" + strings.ReplaceAll(rt.Path, "/", "-"), b.path(rt.Path), ""})
	}
	for _, d := range portalDetails {
		stops = append(stops, stop{"portal-" + d.name, b.path(d.list), d.css})
	}
	b.walk(stops, b.card.Member.Email, b.card.Member.Password)
}

// stop is a page to check: the one at a path or, with css, the target of the first such link there,
// if any.
type stop struct{ name, path, css string }

// walk checks pages in several tabs: sequentially they would take longer than all other tests.
func (b *buyer) walk(stops []stop, email, password string) {
	b.t.Helper()
	for part := range slices.Chunk(stops, 30) {
		b.t.Run("from "+part[0].name, func(t *testing.T) {
			t.Parallel()
			own := &buyer{Tab: chromium(t).Tab(t), t: t, card: b.card}
			own.signInAs(email, password)
			for _, s := range part {
				own.stop(s)
			}
		})
	}
}

func (b *buyer) stop(s stop) {
	b.t.Helper()
	b.visit(s.path)
	b.Await("main h1")
	if s.css != "" {
		if !browser.Eval[bool](b.Tab, "document.querySelector(`"+s.css+"`) !== null") {
			return
		}
		b.Press(s.css)
	}
	b.look(s.name)
}

// look checks a page, and takes pictures if Screenshots is set.
func (b *buyer) look(name string) {
	b.t.Helper()
	b.Look(name)
	if os.Getenv(browser.Screenshots) != "" {
		b.Shots(name, 1280, 390)
	}
}
