package e2e_test

import (
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestScenario follows a developer before real events arrive: run every scenario against the sample
// application and watch the steps, send a custom event, and find out why a signature does not
// verify.
func TestScenario(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	b.signInAs(b.card.Member.Email, b.card.Member.Password)

	b.visit(b.path("/simulator"))
	b.on("Simulator")
	b.look("portal-simulator-before")
	b.Press("section form button")
	b.on("Every scenario")
	b.Await("#step-1")
	b.Click("#step-1 summary")
	b.Await("#step-39") // it arrived while the page was open
	b.Await("#over")
	if !browser.Eval[bool](b.Tab, `document.querySelector('#step-1 details').open`) {
		t.Error("what was unfolded is folded")
	}
	if got := b.Text("#run-head"); !strings.Contains(got, "39 of 39") {
		t.Errorf("the head says %q", got)
	}
	if got := browser.Eval[string](b.Tab, `document.querySelector('#status').textContent`); !strings.Contains(got, "The run is over") {
		t.Errorf("the status region says %q", got)
	}
	b.look("portal-run")

	b.visit(b.path("/simulator"))
	if got := b.Text("section .badge"); got == "" {
		t.Error("there is no badge")
	}
	b.look("portal-simulator")

	b.visit(b.path("/events"))
	b.on("Events")
	b.look("portal-events")
	b.Press("main .card a")
	b.on("Event: purchase")
	b.look("portal-event")
	b.Press("section form button")
	b.on("Test event")
	b.Await("#step-1")
	b.look("portal-event-sent")

	b.visit(b.path("/verify"))
	b.on("Verify a signature")
	b.look("portal-verify")
	b.Type("#headers", "X-Licensing-Timestamp: 1772625600456\nX-Licensing-Signature: 1c217a4d0176377cb8a5375b3977cb860561c48c9c54cfdc49799b3bd4ec7424")
	b.Type("#body", `{"license_key":"5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11"}`)
	b.Press("main form button[type=submit]")
	b.Await("#result-title")
	b.look("portal-verify-result")
}
