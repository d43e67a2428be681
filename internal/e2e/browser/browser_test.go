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

	"claviger/internal/e2e/browser"
)

// listener hears what a test is told and does not fail.
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

// TestBrowser starts Chromium once for all that is to be tried: that takes longest.
func TestBrowser(t *testing.T) {
	b := browser.Start(t)
	for name, try := range map[string]func(*testing.T, *browser.Browser){
		"look":        lookFindsWhatNobodyShouldMeet,
		"expect":      expectedErrorsAreLeftOut,
		"screenshots": screenshotsAreKept,
		"cookies":     tabsShareNoCookies,
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
