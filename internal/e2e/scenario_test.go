package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestScenario walks through what a developer does before real events come: run every
// scenario against the sample application and watch the steps, send an event of one's
// own, and find out why a signature does not verify.
func TestScenario(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	portal := fmt.Sprintf("/portal/%d", b.card.Partner.ID)
	b.visit("/sign-in")
	b.Type("#email", b.card.Member.Email)
	b.Type("#password", b.card.Member.Password)
	b.Press("main form button[type=submit]")

	b.visit(portal + "/simulator")
	b.on("Simulator")
	b.Look("portal-simulator-before")
	b.Press("section form button")
	b.on("Every scenario")
	b.Await("#step-39") // appended while the page is open
	b.Await("#more:not([hx-get])")
	if got := b.Text("#run-head"); !strings.Contains(got, "39 of 39") {
		t.Errorf("the head says %q", got)
	}
	if got := browser.Eval[string](b.Tab, `document.querySelector('#status').textContent`); !strings.Contains(got, "The run is over") {
		t.Errorf("the status region says %q", got)
	}
	b.Click("#step-1 summary")
	b.Look("portal-run")

	b.visit(portal + "/simulator")
	if got := b.Text("section .badge"); got == "" {
		t.Error("there is no badge")
	}
	b.Look("portal-simulator")

	b.visit(portal + "/events")
	b.on("Events")
	b.Look("portal-events")
	b.Press("main .card a")
	b.on("Event: purchase")
	b.Look("portal-event")
	b.Press("section form button")
	b.on("Test event")
	b.Await("#step-1")
	b.Look("portal-event-sent")

	b.visit(portal + "/verify")
	b.on("Verify a signature")
	b.Look("portal-verify")
	b.Type("#headers", "X-Licensing-Timestamp: 1772625600456\nX-Licensing-Signature: 1c217a4d0176377cb8a5375b3977cb860561c48c9c54cfdc49799b3bd4ec7424")
	b.Type("#body", `{"license_key":"5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11"}`)
	b.Press("main form button[type=submit]")
	b.Await("#result-title")
	b.Look("portal-verify-result")
}
