package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestConsoleBulkRedelivery sends all events of a filtered list again: what will happen is
// looked at and confirmed, and the page follows until each row has its result.
func TestConsoleBulkRedelivery(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.visit("/console/deliveries?range=all")
	b.Press("main a[href*='/bulk/redeliver']")
	b.look("console-bulk-redeliver")
	b.wantText("Nothing is done before you confirm")
	b.Press("main form button")
	b.wantText("Send events again")
	b.wantText("What will happen")
	b.wantText("will be skipped")
	b.look("console-bulk-prepared")
	rows := browser.Eval[int](b.Tab, "document.querySelectorAll('#rows tbody tr').length")
	b.Press("#bulk .card form button")
	b.Await("#bulk progress[value='100']") // the page is told; nobody reloads it
	b.wantText(fmt.Sprintf("Done %d of %d row", rows, rows))
	b.look("console-bulk-done")
	b.visit("/console/bulk")
	b.look("console-bulk-list")
	if text := b.Text("#jobs"); !strings.Contains(text, "Send events again") || !strings.Contains(text, "Done") {
		t.Errorf("the list says %s", text)
	}
	b.visit("/console/audit?action=event.redeliver")
	if n := browser.Eval[int](b.Tab, "document.querySelectorAll('main tbody tr').length"); n != rows {
		t.Errorf("the audit has %d entries for %d rows", n, rows)
	}
}

// key presses a key on what has the focus, and returns the id of what has it then.
func (b *buyer) key(key, with string) string {
	b.t.Helper()
	return browser.Eval[string](b.Tab, fmt.Sprintf(`(() => {
		const at = document.activeElement;
		at.dispatchEvent(new KeyboardEvent('keydown', {key: %q, bubbles: true, cancelable: true%s}));
		const now = document.activeElement;
		return now === document.body ? 'body' : now.id;
	})()`, key, with))
}

// TestKeys walks through lists of the console and the portal by keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.visit("/console/purchases")
	b.Await("#purchases")
	first := browser.Eval[string](b.Tab, "document.querySelector('#purchases tbody a').id")
	for _, step := range []struct{ key, with, want string }{
		{"j", ", ctrlKey: true", "body"},
		{"j", "", first},
		{"k", "", first},
		{"/", "", "side-search"},
		{"j", "", "side-search"},
		{"?", "", "side-search"},
		{"Escape", "", first},
		{"/", ", metaKey: true", first},
		{"x", "", first},
	} {
		if at := b.key(step.key, step.with); at != step.want {
			t.Errorf("the key %s%s leads to %q, want %q", step.key, step.with, at, step.want)
		}
	}
	b.key("?", "")
	if !browser.Eval[bool](b.Tab, "document.getElementById('key-help').open") {
		t.Error("? opens no help")
	}
	b.look("console-keys")
	if at := b.key("j", ""); at == first {
		t.Error("a key moves behind the help")
	}
	b.Click("#key-help a")
	if at := browser.Eval[string](b.Tab, "document.activeElement.id"); at != first {
		t.Errorf("the help leaves the focus at %q", at)
	}
	if style := browser.Eval[string](b.Tab, "getComputedStyle(document.activeElement).outlineStyle"); style != "solid" {
		t.Errorf("the focus is shown as %s", style)
	}
	b.Click("a[href='#key-help']")
	if !browser.Eval[bool](b.Tab, "document.getElementById('key-help').open") {
		t.Error("the link opens no help")
	}
	b.visit("/console/settings")
	b.Await("main h1")
	b.key("/", "")
	if at := b.key("Escape", ""); at == "body" || at == "" {
		t.Errorf("Esc leads to %q", at)
	}
	b.visit("/console/purchases")
	b.key("j", "")
	browser.Eval[string](b.Tab, `document.body.dataset.before = "1"`)
	browser.Eval[bool](b.Tab, "document.activeElement.click() ?? true") // as Enter does with a link
	b.Await("body:not([data-before]) main h1")
	if at := b.Text("main h1"); !strings.HasPrefix(at, "Purchase") {
		t.Errorf("the row opens %q", at)
	}
}

// TestPortalKeys: the keys are those of the console.
func TestPortalKeys(t *testing.T) {
	t.Parallel()
	b := newMember(t)
	b.visit(b.path("/events"))
	b.Await("main h1")
	if at := b.key("?", ""); at == "body" || !browser.Eval[bool](b.Tab, "document.getElementById('key-help').open") {
		t.Errorf("? leads to %q", at)
	}
	b.Click("#key-help a")
	if at := browser.Eval[string](b.Tab, "document.activeElement.id"); at != "main" {
		t.Errorf("the help leaves the focus at %q", at)
	}
	b.visit(b.path("/deliveries?range=all"))
	b.Await("main h1")
	if at := b.key("/", ""); at != "state" {
		t.Errorf("/ leads to %q", at)
	}
	if at := b.key("Escape", ""); at == "state" || at == "body" {
		t.Errorf("Esc leads to %q", at)
	}
}
