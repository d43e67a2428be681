package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"claviger/internal/e2e/browser"
)

// raw presses a key without its character, which follows unless the page prevents it, as with a
// real keyboard.
func raw(p *input.DispatchKeyEventParams) {
	if p.Type == kb.KeyDown {
		p.Type = kb.KeyRawDown
	}
}

// key presses a key like a person, with modifiers, and returns the id of the focused element.
func (b *buyer) key(key string, with ...chromedp.Modifier) string {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(key, chromedp.KeyModifiers(with...), raw))
	return browser.Eval[string](b.Tab, "document.activeElement === document.body ? 'body' : document.activeElement.id")
}

// helps reports whether the help is open.
func (b *buyer) helps() bool {
	b.t.Helper()
	return browser.Eval[bool](b.Tab, "document.getElementById('key-help').open")
}

// TestKeys walks through a list of the console by keys. Keys typed into a field, or with a
// modifier, belong to the browser.
func TestKeys(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.sold(b.card.Buyer.Email, "order-2")
	b.visit("/console/purchases")
	b.Await("#purchases")
	links := browser.Eval[[]string](b.Tab, "[...document.querySelectorAll('#purchases tbody th a')].map((a) => a.id)")
	if len(links) != 2 {
		t.Fatalf("the list has the links %v", links)
	}
	first, second := links[0], links[1]
	ctrl, alt, meta := chromedp.ModifierCtrl, chromedp.ModifierAlt, chromedp.ModifierMeta
	for i, step := range []struct {
		key  string
		with chromedp.Modifier
		want string
	}{
		{"j", ctrl, "body"},
		{"k", ctrl, "body"},
		{"j", 0, first},
		{"j", 0, second},
		{"j", 0, second},
		{"k", ctrl, second},
		{"k", alt, second},
		{"k", meta, second},
		{"k", 0, first},
		{"k", 0, first},
		{"j", ctrl, first},
		{"/", meta, first},
		{"x", 0, first},
		{kb.Escape, 0, first},
		{"j", 0, second},
		{"/", 0, "side-search"},
		{"j", 0, "side-search"},
		{"k", 0, "side-search"},
		{"/", 0, "side-search"},
		{"?", 0, "side-search"},
	} {
		if at := b.key(step.key, step.with); at != step.want {
			t.Errorf("step %d, the key %q with %d leads to %q, want %q", i, step.key, step.with, at, step.want)
		}
	}
	if typed := browser.Eval[string](b.Tab, "document.getElementById('side-search').value"); typed != "jk/?" || b.helps() {
		t.Errorf("%q was typed into the field", typed)
	}
	if with, alone := b.key(kb.Escape, ctrl), b.key(kb.Escape); with != "side-search" || alone != first {
		t.Errorf("Ctrl and Esc leads to %q, then Esc to %q", with, alone)
	}
	if style := browser.Eval[string](b.Tab, "getComputedStyle(document.activeElement).outlineStyle"); style != "solid" {
		t.Errorf("the focus is shown as %s", style)
	}
	b.wantEnterOpens("Purchase 1")
}

// wantEnterOpens goes to the next row and opens it.
func (b *buyer) wantEnterOpens(title string) {
	b.t.Helper()
	b.key("j")
	browser.Eval[string](b.Tab, `document.body.dataset.before = "1"`)
	b.Enter()
	b.Await("body:not([data-before]) main h1")
	if at := b.Text("main h1"); at != title {
		b.t.Errorf("Enter opens %q", at)
	}
}

// TestKeyHelp: the help opens by its key and by its link, captures the other keys, and returns the
// focus.
func TestKeyHelp(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.visit("/console/purchases")
	b.Await("#purchases")
	first := b.key("j")
	for name, closes := range map[string]func(){"Esc": func() { b.key(kb.Escape) }, "Close": func() { b.Click("#key-help a") }} {
		if b.key("?"); !b.helps() {
			t.Fatal("? opens no help")
		}
		if at := b.key("j"); at == first {
			t.Error("a key moves behind the help")
		}
		if closes(); b.helps() {
			t.Errorf("%s leaves the help open", name)
		}
		if at := browser.Eval[string](b.Tab, "document.activeElement.id"); at != first {
			t.Errorf("%s leaves the focus at %q", name, at)
		}
	}
	b.Click("a[href='#key-help']")
	if !b.helps() {
		t.Error("the link opens no help")
	}
	b.look("console-keys")
	b.visit("/console/settings")
	b.Await("main h1")
	b.key("/")
	if at := b.key(kb.Escape); at == "body" || at == "" || at == "side-search" {
		t.Errorf("Esc leads to %q", at)
	}
}

// TestPortalKeys: the keys are those of the console.
func TestPortalKeys(t *testing.T) {
	t.Parallel()
	b := newMember(t)
	b.visit(b.path("/events"))
	b.Await("main h1")
	if at := b.key("?"); at == "body" || !b.helps() {
		t.Errorf("? leads to %q", at)
	}
	b.Click("#key-help a")
	b.Await("#main:focus") // the browser navigates after the click
	b.visit(b.path("/deliveries?range=all"))
	b.Await("main h1")
	for _, key := range strings.Split("/ j k ?", " ") {
		if at := b.key(key); at != "state" {
			t.Errorf("%s leads to %q", key, at)
		}
	}
	if at := b.key(kb.Escape); at == "state" || at == "body" || b.helps() {
		t.Errorf("Esc leads to %q", at)
	}
}
