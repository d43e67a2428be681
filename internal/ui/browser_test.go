package ui_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/e2e/browser"
)

// TestInABrowser starts Chromium once for all browser tests.
func TestInABrowser(t *testing.T) {
	b := browser.Start(t)
	server := httptest.NewServer(site(t))
	t.Cleanup(server.Close)
	t.Run("pages", func(t *testing.T) { pagesLookRight(t, b, server.URL) })
	t.Run("summary", func(t *testing.T) { summaryHasTheFocus(t, b.Tab(t), server.URL) })
	t.Run("filters", func(t *testing.T) { filtersFold(t, b.Tab(t), server.URL) })
	t.Run("busy", func(t *testing.T) { busyFormIsSentOnce(t, b.Tab(t), server.URL) })
	t.Run("back", func(t *testing.T) { backShowsThePage(t, b.Tab(t), server.URL) })
	t.Run("memory", func(t *testing.T) { pageFromMemoryReloads(t, b.Tab(t), server.URL) })
	t.Run("copy", func(t *testing.T) { keyIsCopied(t, b.Tab(t), server.URL) })
}

// pagesLookRight checks pages that use every part: no console output, and no complaints of axe or
// on a narrow screen.
func pagesLookRight(t *testing.T, b *browser.Browser, url string) {
	for _, c := range []struct{ path, status string }{
		{"all", ""}, {"wide", ""}, {"form", ""}, {"down", "500"}, {"nowhere", "404"},
	} {
		t.Run(c.path, func(t *testing.T) {
			tab := b.Tab(t)
			if c.status != "" {
				tab.Expect("status of " + c.status)
			}
			tab.Open(url + "/" + c.path)
			tab.Look(c.path)
			small := browser.Eval[[]string](tab, `[...document.querySelectorAll('.button, .menu a, .foot-nav a, .field input, .brand')]
				.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44).map((e) => e.textContent)`)
			if diff := cmp.Diff([]string{}, small); diff != "" {
				t.Errorf("less than 44 px high (-none +these):\n%s", diff)
			}
		})
	}
}

func summaryHasTheFocus(t *testing.T, tab *browser.Tab, url string) {
	tab.Open(url + "/form")
	const focus = `document.activeElement.className || document.activeElement.id`
	if got := browser.Eval[string](tab, focus); got != "summary" {
		t.Errorf("the focus is at %q, not at the summary of errors", got)
	}
	tab.Click(".summary a")
	if got := browser.Eval[string](tab, focus); got != "email" {
		t.Errorf("following the first error leads to %q, not to its field", got)
	}
}

// filtersFold: filters are visible on a wide screen. On a phone they are folded until opened, with
// a summary. An error in them is always visible.
func filtersFold(t *testing.T, tab *browser.Tab, url string) {
	const phone = 390
	seen := func() []bool {
		t.Helper()
		return browser.Eval[[]bool](tab, `['.filters input', '.fold > summary'].map((css) => document.querySelector(css).checkVisibility())`)
	}
	tab.Open(url + "/filters")
	tab.Look("filters")
	for _, c := range []struct {
		name  string
		width int64
		do    func()
		want  []bool // the fields, the summary
	}{
		{"wide", browser.Desk, func() {}, []bool{true, false}},
		{"phone", phone, func() {}, []bool{false, true}},
		{"unfolded", phone, func() { tab.Click(".fold > summary") }, []bool{true, true}},
		{"mistaken", phone, func() { tab.Open(url + "/mistaken") }, []bool{true, true}},
	} {
		tab.Resize(c.width)
		c.do()
		if diff := cmp.Diff(c.want, seen()); diff != "" {
			t.Errorf("%s: fields and summary in sight (-want +got):\n%s", c.name, diff)
		}
	}
	if got := tab.Text(".fold > summary"); got != "Filters Code: 404" {
		t.Errorf("the summary is %q", got)
	}
}

func busyFormIsSentOnce(t *testing.T, tab *browser.Tab, url string) {
	tab.Open(url + "/all")
	got := browser.Eval[[]string](tab, `(() => {
		const form = document.querySelector('form.card'), button = form.querySelector('button');
		const seen = [];
		addEventListener('submit', (e) => { seen.push(String(e.defaultPrevented), button.textContent, button.ariaDisabled); e.preventDefault(); });
		form.requestSubmit(button);
		form.requestSubmit(button);
		return seen;
	})()`)
	want := []string{"false", "Connecting…", "true", "true", "Connecting…", "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("two presses (prevented, label, disabled; -want +got):\n%s", diff)
	}
	tab.Open(url + "/all")
	tab.Press("form.card button")
	if got := tab.Text("h1"); got != "Sent 1" {
		t.Errorf("the form arrived as %q", got)
	}
}

// backShowsThePage requests a fragment of a page as htmx does, leaves the page and goes back: the
// browser shows the page, not the fragment that it read last.
func backShowsThePage(t *testing.T, tab *browser.Tab, url string) {
	tab.Open(url + "/list")
	got := browser.Eval[string](tab, `fetch(location.href, {headers: {'HX-Request': 'true', 'HX-Request-Type': 'partial'}}).then((r) => r.text())`)
	if !strings.HasPrefix(strings.TrimSpace(got), `<div id="rows">`) {
		t.Errorf("the fragment is %s", got)
	}
	tab.Open(url + "/form")
	tab.Back()
	if got := tab.Text("h1"); got != "Deliveries" {
		t.Errorf("going back shows %q", got)
	}
}

// pageFromMemoryReloads tells a page of a signed-in user that the browser took it from memory: it
// is requested again.
func pageFromMemoryReloads(t *testing.T, tab *browser.Tab, url string) {
	tab.Open(url + "/all")
	browser.Eval[bool](tab, `(() => {
		const title = document.querySelector('h1');
		title.textContent = 'Old';
		title.addEventListener('click', () => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
		return true;
	})()`)
	tab.Press("h1")
	if got := tab.Text("h1"); got == "Old" {
		t.Error("the page was not asked for again")
	}
}

// keyIsCopied presses a copy button, which confirms that, also for screen readers.
func keyIsCopied(t *testing.T, tab *browser.Tab, url string) {
	tab.Open(url + "/all")
	tab.Click(".key .copy")
	got := browser.Eval[[]string](tab, `new Promise((done) => {
		const key = document.querySelector('.key');
		const look = () => {
			const said = key.querySelector('[role=status]').textContent;
			if (said) done([said, key.querySelector('.copy').textContent]);
		};
		new MutationObserver(look).observe(key, { subtree: true, childList: true, characterData: true });
		look();
	})`)
	// A headless browser may not write to the clipboard, so the text is selected.
	for _, want := range []string{"Copied", "Selected"} {
		if cmp.Equal([]string{want, want + " license key"}, got) {
			return
		}
	}
	t.Errorf("pressing Copy says %q", got)
}
