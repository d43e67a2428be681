package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestConsolePause pauses a partner and resumes it.
func TestConsolePause(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.visit("/console/partners")
	b.Press("#partners tbody a")
	b.Press("main a[href$='/pause']")
	b.look("console-partner-pause")
	b.Type("#reason", "contract ended")
	b.Press("main form button")
	b.wantText("Reason: contract ended")
	b.visit("/console/partners?state=paused")
	b.Press("#partners tbody a")
	b.Press("main a[href$='/resume']")
	b.Press("main form button")
	b.visit("/console/partners?state=paused")
	b.wantText("Nothing matches")
}

// TestConsoleSupport enters a partner's portal as support, first read-only, then with changes, and
// leaves.
func TestConsoleSupport(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	at := fmt.Sprintf("/console/partners/%d", b.card.Partner.ID)
	b.visit(at)
	b.Press("main a[href$='/support']")
	b.look("console-support")
	b.Type("#reason", "case 4711")
	b.Press("main form button")
	b.Await("aside.as")
	b.look("portal-as-support")
	b.visit(b.path("/recover"))
	b.wantText("as support of the marketplace, and may only look")
	b.Press("aside.as a")
	b.look("console-support-allow")
	b.Click("#allow")
	b.Press("main form button")
	b.Await("aside.as")
	b.wantText("What you do changes it")
	b.visit(b.path("/contacts"))
	b.Type("#name", "Ada Lovelace")
	b.Type("#email", "ada@example.com")
	b.Press("main form button")
	b.wantText("Ada Lovelace is a contact now")
	b.look("portal-as-support-changing")
	b.Press("aside.as form button")
	b.wantText("You left the portal")
}

// wantText waits until the page has a text.
func (b *buyer) wantText(text string) {
	b.t.Helper()
	b.Await("main h1")
	if got := browser.Eval[string](b.Tab, "document.body.innerText"); !strings.Contains(got, text) {
		b.t.Errorf("the page lacks %q:\n%s", text, got)
	}
}
