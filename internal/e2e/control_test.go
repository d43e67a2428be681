package e2e_test

import "testing"

// TestControlPage looks at the pages that only claviger dev has, and works the buttons of
// the control page in a browser.
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
	b.look("dev-control")
	b.visit("/dev/partner/")
	b.wantText("You are now inside the partner's application")
	b.look("dev-sample")
}
