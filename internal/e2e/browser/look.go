package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Widths of the screens, in CSS pixels. The small one is required by WCAG: nothing may scroll
// sideways there.
const (
	Desk  = 1280
	Phone = 320
)

// ways are the looks of Look. From one to the next either the width or the colours change: the
// browser lays out and paints a page after each change.
var ways = []struct {
	scheme string
	width  int64
}{{"light", Desk}, {"dark", Desk}, {"dark", Phone}, {"light", Phone}}

// Look checks the page in light and dark, on desktop and phone. It fails the test if axe finds a
// violation or the page scrolls sideways. It stores a picture of each under the name if Screenshots
// is set; see Browser.Once.
func (tab *Tab) Look(name string) {
	tab.t.Helper()
	run(tab, "load axe", chromedp.Evaluate[chromedp.Void](axe+contrast))
	each := ways
	if tab.once {
		each = ways[:1]
	}
	for _, way := range each {
		tab.paint(way.scheme, way.width)
		what := fmt.Sprintf("%s-%d-%s", name, way.width, way.scheme)
		seen := Eval[struct{ Breaches, Wide []string }](tab, breaches[way.scheme])
		for _, text := range append(seen.Breaches, tab.unreadable()...) {
			tab.t.Errorf("%s: %s", what, text)
		}
		if len(seen.Wide) > 0 {
			tab.t.Errorf("%s: the page scrolls sideways: %s", what, strings.Join(seen.Wide, ", "))
		}
		tab.keep(what)
	}
	if os.Getenv(Screenshots) != "" {
		tab.Shots(name, 390)
	}
	tab.paint("light", Desk)
	tab.Quiet()
}

// Shots takes pictures of the whole page in light and dark at these widths, if Screenshots is set.
func (tab *Tab) Shots(name string, widths ...int64) {
	tab.t.Helper()
	for _, width := range widths {
		for _, scheme := range []string{"light", "dark"} {
			tab.paint(scheme, width)
			tab.keep(fmt.Sprintf("%s-%d-%s", name, width, scheme))
		}
	}
	tab.paint("light", Desk)
}

// Resize sets the width of the screen.
func (tab *Tab) Resize(width int64) {
	tab.t.Helper()
	tab.paint("light", width)
}

// breaches lists the findings of axe, a line per element, and those of overflow. Dark pages differ
// only in the findings of unreadable.
var breaches = map[string]string{
	"light": `axe.run(document, {
  resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  rules: {'color-contrast': {enabled: false}},
}).then((r) => ({Breaches: claviger.breaches(r), Wide: ` + overflow + `}))`,
	"dark": `({Wide: ` + overflow + `})`,
}

// overflow lists the elements that stick out, if the page is wider than its window.
const overflow = `(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const out = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > width + .5);
  return [document.documentElement.scrollWidth + ' px wide', ...out.slice(0, 8).map((e) =>
    e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + [...e.classList].map((c) => '.' + c).join(''))];
})()`

// paint shows the page in a colour scheme and a width. It stops animations, so the result does not
// depend on time.
func (tab *Tab) paint(scheme string, width int64) {
	tab.t.Helper()
	if tab.scheme != scheme {
		run(tab, "set the colours", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(
				ctx,
				emulation.SetEmulatedMedia,
				emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: scheme},
					{Name: "prefers-reduced-motion", Value: "reduce"},
				}},
			)
			return err
		}))
	}
	if tab.width != width {
		run(tab, "set the width", chromedp.EmulateViewport(width, 800))
	}
	tab.scheme = scheme
	tab.width = width
}

// keep takes a picture of the whole page if Screenshots is set.
func (tab *Tab) keep(name string) {
	tab.t.Helper()
	dir := os.Getenv(Screenshots)
	if dir == "" {
		return
	}
	png := run(tab, "take a picture", chromedp.FullScreenshot(100))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tab.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		tab.t.Fatal(err)
	}
}
