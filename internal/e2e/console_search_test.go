package e2e_test

import (
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// search types a text into the search box of the page, focused by the key /, and sends it.
func (b *buyer) search(text string) {
	b.t.Helper()
	b.visit("/console")
	b.Await("#side-search")
	browser.Eval[bool](b.Tab, `document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))`)
	if at := browser.Eval[string](b.Tab, `document.activeElement.id`); at != "side-search" {
		b.t.Fatalf("the key / leads to %q", at)
	}
	browser.Eval[string](b.Tab, `document.body.dataset.before = "1"`) // missing on the next page
	b.Type("#side-search", text)
	b.Enter()
	b.Await("body:not([data-before]) main h1")
}

// TestConsoleSearch finds a license by each kind of key, and copies the case as text.
func TestConsoleSearch(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	key, _ := b.sold(b.card.Buyer.Email, "order-7")
	b.signIn(b.card.Operator.Email, b.card.Operator.Password)
	for text, heading := range map[string]string{
		key: "License", strings.ToUpper(key[28:]): "License", b.card.Buyer.Email: b.card.Buyer.Email, "order-7": "Purchase",
	} {
		b.search(text)
		if at := b.Text("main h1"); !strings.HasPrefix(at, heading) {
			t.Errorf("%s leads to %q", text, at)
		}
	}
	b.search("nobody@example.com")
	if text := b.Text("main"); !strings.Contains(text, "Nothing found") || !strings.Contains(text, "an email address") {
		t.Errorf("nothing found says %s", text)
	}
	b.Look("console-nothing-found")
	b.search(b.card.Buyer.Email)
	b.Look("console-person")
	b.Press("#licenses tbody a")
	b.Look("console-license")
	if text := b.Text("main"); !strings.Contains(text, "Why it is in this state") || !strings.Contains(text, "What the partner's server said") {
		t.Errorf("the case says %s", text)
	}
}

// TestConsoleRefund refunds a license after a preview on its page, and reverses the refund.
func TestConsoleRefund(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	key, _ := b.sold(b.card.Buyer.Email, "order-8")
	b.signIn(b.card.Operator.Email, b.card.Operator.Password)
	b.search(key)
	b.Press("#chain a[href*='/refund?purchase=']")
	if text := b.Text("main"); !strings.Contains(text, "becomes deactivated") || !strings.Contains(text, "moves no money") {
		t.Errorf("the preview says %s", text)
	}
	b.Look("console-refund-preview")
	b.Type("#external_id", "refund-8")
	b.Press("main form button")
	if text := b.Text("main"); !strings.Contains(text, "The refund is recorded.") || !strings.Contains(text, "refund-8") {
		t.Errorf("after the refund: %s", text)
	}
	b.Look("console-refund")
	b.Press("main .actions a")
	b.Press("main form button")
	if text := b.Text("main"); !strings.Contains(text, "The refund is reversed.") {
		t.Errorf("after the reverse: %s", text)
	}
}

// TestConsoleHold holds a license and reinstates it.
func TestConsoleHold(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	key, _ := b.sold(b.card.Buyer.Email, "order-9")
	b.signIn(b.card.Operator.Email, b.card.Operator.Password)
	b.search(key)
	b.Press(".choices a[href$='/hold']")
	b.Look("console-hold")
	b.Press("main form button")
	if text := b.Text("main"); !strings.Contains(text, "The license is on hold.") || !strings.Contains(text, "The license was put on hold") {
		t.Errorf("after the hold: %s", text)
	}
	b.Look("console-license-held")
	b.Press(".choices a[href$='/reinstate']")
	b.Press("main form button")
	if text := b.Text("main"); !strings.Contains(text, "The hold is lifted.") {
		t.Errorf("after the reinstatement: %s", text)
	}
}
