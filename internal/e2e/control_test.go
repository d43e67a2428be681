package e2e_test

import (
	"testing"

	"claviger/internal/e2e/browser"
)

// TestControlPage checks the pages of claviger dev, and presses the buttons of the control page in
// a browser.
func TestControlPage(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	b.visit("/dev/")
	b.look("dev-control-empty")
	b.Press("button[value=buy]")
	b.wantText("A license is sold.")
	b.Press("button[value=redeem]")
	b.wantText("The license is redeemed.")
	b.wantText("active, of Bea Buyer")
	b.Press("button[value=hold]")
	b.wantText("The license is on hold.")
	browser.Eval[bool](b.Tab, `document.querySelector("#fault-drop").checked = document.querySelector("#fault-rate-limit").checked = true`)
	b.Press("form[action='/dev/faults'] button[value='']")
	b.wantText("Faults are on: Drop webhooks, 20 requests a minute.")
	b.look("dev-control")
	b.Press("#faults-on button")
	b.Press("form[action='/dev/time'] button[value='1h']")
	b.wantText("1h0m0s ahead of this machine")
	b.visit("/dev/partner/")
	b.wantText("You are now inside the partner's application")
	b.look("dev-sample")
}
