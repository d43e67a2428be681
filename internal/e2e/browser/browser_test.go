package browser_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"claviger/internal/e2e/browser"
)

// listener records a test's messages without failing.
type listener struct {
	testing.TB
	said []string
}

func (l *listener) Error(args ...any) { l.said = append(l.said, fmt.Sprint(args...)) }

func (l *listener) Errorf(format string, args ...any) {
	l.said = append(l.said, fmt.Sprintf(format, args...))
}

// site serves the same text in a page at every path, and 404 at /missing.
func site(t *testing.T, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><head><title>Sample</title><link rel="icon" href="data:,">
			<meta name="viewport" content="width=device-width"></head><body><main><h1>Sample</h1>`+text+`</main></body></html>`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestBrowser starts Chromium once for all tests, because that is the slowest part.
func TestBrowser(t *testing.T) {
	b := browser.Start(t)
	for name, try := range map[string]func(*testing.T, *browser.Browser){
		"look":        lookFindsWhatNobodyShouldMeet,
		"colours":     lookJudgesEachWayToPaintText,
		"expect":      expectedErrorsAreLeftOut,
		"screenshots": screenshotsAreKept,
		"cookies":     tabsShareNoCookies,
		"type":        formsAreFilledIn,
	} {
		t.Run(name, func(t *testing.T) { try(t, b) })
	}
}

func lookFindsWhatNobodyShouldMeet(t *testing.T, b *browser.Browser) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"well", `<p>All is well.</p>`, nil},
		{"ill", `<script>console.error('oh no')</script><script>null.x</script><input>
			<p style="color:#bbb;background:#fff">Pale</p><p style="color:#767676;background:#fff">Only the sharp-eyed read this</p>
			<div id="broad" style="width:400px">Wide</div>`, []string{
			"oh no", "TypeError", "label (critical) at input", "color contrast of 1.91 ", "color contrast of 4.54 ", "sideways: 408 px wide, div#broad",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			heard := &listener{TB: t}
			tab := b.Tab(heard)
			tab.Open(site(t, c.text))
			tab.Look("sample")
			all := strings.Join(heard.said, "\n")
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("nothing of %q in\n%s", want, all)
				}
			}
			if len(c.want) == 0 && all != "" {
				t.Errorf("heard of a page that is well: %s", all)
			}
		})
	}
}

// lookJudgesEachWayToPaintText: text that is readable in one style is not assumed readable in
// another.
func lookJudgesEachWayToPaintText(t *testing.T, b *browser.Browser) {
	look := func(text string) string {
		heard := &listener{TB: t}
		tab := b.Tab(heard)
		tab.Open(site(t, text))
		tab.Look("sample")
		return strings.Join(heard.said, "\n")
	}
	if said := look(`<style>@media (prefers-color-scheme: dark) { a { text-decoration: none; font-weight: 700 } }</style>
		<p style="color:#222">Dark on white, <a href="#a" style="color:#222">a link</a></p><p style="color:#242">Green</p><p style="color:#666;font-size:32px">Large</p>
		<p style="color:#666;font-size:20px;font-weight:700">Bold</p>
		<p style="color:#998" hidden>Hidden</p><p style="color:#988;visibility:hidden">Invisible</p>
		<div style="position:absolute;clip-path:inset(50%)"><p style="color:#889">Clipped</p></div>
		<p style="color:#898;position:absolute;top:-500px">Far off</p><p style="color:#797" aria-disabled="true">Disabled</p>
		<p style="color:#222;background:linear-gradient(#fff,#ddd)">On an image</p>`); said != "" {
		t.Errorf("heard of a page that is well: %s", said)
	}
	ill := `<p id="background" style="color:#222;background:#333">On dark</p>
		<div style="background:#333"><p id="ancestor" style="color:#222">On dark</p></div>
		<p id="size" style="color:#666">Small</p><p id="weight" style="color:#666;font-size:20px">Thin</p>
		<div style="opacity:.4"><p id="opacity" style="color:#222">Faint</p></div>
		<div style="position:relative"><div style="background:#333;height:5em"></div><p id="place" style="color:#222;position:absolute;top:0">Above</p></div>
		<p id="hidden" style="color:#998">Seen</p><p id="invisible" style="color:#988">Seen</p>
		<p id="clipped" style="color:#889">Seen</p><p id="far" style="color:#898">Seen</p><p id="disabled" style="color:#797">Not so</p>
		<div style="background:#333;height:5em"></div><p id="shifted" style="color:#222;position:relative;top:-4em">Above</p>
		<div style="background:#333;height:5em"></div><p id="margin" style="color:#222;margin-top:-4em">Above</p>
		<label>Name <input id="value" style="color:#ccc" value="Pale"></label>`
	for range 2 { // unreadable styles are not cached
		said := look(ill)
		for _, id := range []string{"background", "ancestor", "size", "weight", "opacity", "place", "hidden", "invisible", "clipped", "far", "disabled", "shifted", "margin", "value"} {
			if !strings.Contains(said, "sample-1280-light: color-contrast-enhanced (serious) at #"+id+":") {
				t.Errorf("nothing of #%s in\n%s", id, said)
			}
		}
	}
	said := look(`<style>@media (prefers-color-scheme: dark) { h2 { background: #333 } a { text-decoration: none } }
		@media (width < 400px) { h1 { color: #999 } }</style>
		<h2 style="color:#222">At night</h2><p style="color:#222">Nobody finds <a href="#a" style="color:#242">the link</a> then</p>`)
	for _, want := range []string{"1280-dark: color-contrast-enhanced (serious) at h2", "1280-dark: link-in-text-block", "320-light: color-contrast-enhanced (serious) at h1"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing of %q in\n%s", want, said)
		}
	}
	if strings.Contains(said, "1280-light") {
		t.Errorf("heard of a page that is well at the harness in light: %s", said)
	}
}

func expectedErrorsAreLeftOut(t *testing.T, b *browser.Browser) {
	heard := &listener{TB: t}
	tab := b.Tab(heard)
	url := site(t, "")
	tab.Open(url + "/missing")
	tab.Quiet()
	if len(heard.said) != 1 || !strings.Contains(heard.said[0], "status of 404") {
		t.Errorf("heard %q", heard.said)
	}
	tab.Expect("status of 404")
	tab.Open(url + "/missing")
	tab.Quiet()
	if len(heard.said) != 1 {
		t.Errorf("heard %q", heard.said)
	}
}

func screenshotsAreKept(t *testing.T, b *browser.Browser) {
	dir := filepath.Join(t.TempDir(), "shots")
	t.Setenv(browser.Screenshots, dir)
	tab := b.Tab(t)
	tab.Open(site(t, ""))
	tab.Look("sample")
	for _, name := range []string{"sample-1280-light", "sample-1280-dark", "sample-320-light", "sample-320-dark"} {
		png, err := os.ReadFile(filepath.Join(dir, name+".png"))
		if err != nil || http.DetectContentType(png) != "image/png" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tabsShareNoCookies: two tabs are two people.
func tabsShareNoCookies(t *testing.T, b *browser.Browser) {
	url := site(t, `<p id="p"><a href="/next">Next</a></p><form><input aria-label="Name" name="n"></form>`)
	one, two := b.Tab(t), b.Tab(t)
	one.Open(url)
	two.Open(url)
	browser.Eval[string](one, `document.cookie = 'who=one'`)
	if got := browser.Eval[string](two, `document.cookie`); got != "" {
		t.Errorf("the other tab has %q", got)
	}
	one.Type("input", "Ada")
	if got := browser.Eval[string](one, `document.querySelector('input').value`); got != "Ada" {
		t.Errorf("typed %q", got)
	}
	one.Press("#p a")
	if got := one.Location(); got != url+"/next" {
		t.Errorf("pressing led to %s", got)
	}
}

func formsAreFilledIn(t *testing.T, b *browser.Browser) {
	tab := b.Tab(t)
	tab.Open(site(t, `<form action="/sent"><label>Name <input id="name" name="name" maxlength="7"></label>
		<label>About <textarea id="about" name="about" hidden></textarea></label></form>
		<script>document.querySelector('#name').addEventListener('input', () => document.querySelector('#about').hidden = false)</script>`))
	tab.Type("#name", "Lovelace")
	tab.Type("#about", "two\nlines")
	if name, about := browser.Eval[string](tab, "document.forms[0].name.value"), browser.Eval[string](tab, "document.forms[0].about.value"); name != "Lovelac" || about != "two\nlines" {
		t.Errorf("the form says %q, %q", name, about)
	}
	tab.Do(chromedp.Focus(chromedp.CSS("#name")))
	tab.Enter()
	tab.Await("body:not(:has(#name:focus))")
	if at := tab.Location(); !strings.Contains(at, "/sent?name=Lovelac&about=two") {
		t.Errorf("Enter leads to %s", at)
	}
}
