package e2e_test

import (
	"fmt"
	"os"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestPicturesOfTheConsole takes the pictures of docs/console.md.
func TestPicturesOfTheConsole(t *testing.T) {
	dir := os.Getenv(pictures)
	if dir == "" {
		t.Skip("make pictures takes them")
	}
	b := newOperator(t)
	take := func(name string) {
		b.Await("main h1")
		browser.Eval[bool](b.Tab, steady)
		b.Picture(dir, name)
	}
	b.visit("/console")
	take("console-today")
	b.search(b.card.Buyer.Email)
	take("console-person")
	b.Press("#licenses tbody a")
	take("console-license")
	for i := range 5 {
		b.sold(b.card.Buyer.Email, fmt.Sprintf("order-%d", i+2))
	}
	b.visit("/console/partners/1")
	take("console-partner")
	b.visit("/console/licenses?partner_id=1")
	b.Press("main a[href*='/bulk/hold']")
	b.Press("main form button")
	b.wantText("What will happen")
	take("console-bulk")
	b.visit("/console/numbers")
	take("console-numbers")
}
