package browser

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Tab is one person's browser window: it shares no cookies with other tabs. It belongs to the
// goroutine of its test. At the end of the test every unannounced error on its console fails it.
type Tab struct {
	t       testing.TB
	ctx     context.Context
	once    bool // see Browser.Once
	colours *colours

	scheme string // as paint has set them
	width  int64

	mu       sync.Mutex
	errors   []string
	expected []string
	flushed  chan string
}

// Tab opens a tab.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	return newTab(t, cancel, &Tab{ctx: ctx, once: b.Once, colours: b.colours})
}

// Beside opens another tab of the same person in front of this one, with the same cookies and
// connections.
func (tab *Tab) Beside(t testing.TB) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(tab.ctx, chromedp.WithNewWindow(false))
	beside := newTab(t, cancel, &Tab{ctx: ctx, once: tab.once, colours: tab.colours})
	beside.Front()
	return beside
}

func newTab(t testing.TB, cancel context.CancelFunc, tab *Tab) *Tab {
	t.Helper()
	tab.t = t
	tab.flushed = make(chan string, 1)
	if err := chromedp.Do(tab.ctx); err != nil {
		cancel()
		t.Fatalf("open a tab: %v", err)
	}
	messages := chromedp.Console(tab.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range messages {
			if err != nil {
				return
			}
			tab.hear(m)
		}
	}()
	t.Cleanup(func() {
		tab.Quiet()
		cancel()
		<-done
	})
	tab.paint("light", 1280)
	return tab
}

// sentinel marks the end of the console's messages so far.
const sentinel = "claviger: the console up to here "

// hear handles a console message.
func (tab *Tab) hear(m chromedp.ConsoleMessage) {
	switch {
	case strings.HasPrefix(m.Text, sentinel):
		tab.flushed <- m.Text
	case m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException:
		tab.mu.Lock()
		tab.errors = append(tab.errors, fmt.Sprintf("%s (%s)", m, m.URL))
		tab.mu.Unlock()
	}
}

// Expect announces errors on the console that contain a text. The browser reports
// each answer of 400 and above there, such as "status of 404".
func (tab *Tab) Expect(text string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.expected = append(tab.expected, text)
}

// Quiet fails the test if the console has unannounced errors, and clears them.
func (tab *Tab) Quiet() {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void]("console.debug('"+sentinel+"')")); err != nil {
		tab.t.Errorf("ask the console: %v", err)
		return
	}
	select {
	case <-tab.flushed:
	case <-ctx.Done():
		tab.t.Error("the console does not answer")
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	for _, text := range tab.errors {
		if !tab.announced(text) {
			tab.t.Errorf("the console of the browser has an error: %s", text)
		}
	}
	tab.errors = nil
}

func (tab *Tab) announced(text string) bool {
	for _, e := range tab.expected {
		if strings.Contains(text, e) {
			return true
		}
	}
	return false
}

// run runs one step in the tab and fails the test if it fails.
func run[T any](tab *Tab, what string, a chromedp.Action[T]) T {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		tab.t.Fatalf("%s: %v", what, err)
	}
	return v
}

// Do runs chromedp steps that have no method here.
func (tab *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	run(tab, "do the steps", chromedp.Steps(steps...))
}

// Open goes to an address.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	run(tab, "open "+url, chromedp.Navigate(url))
}

// Press clicks the first match of the CSS selector and waits for the next page.
func (tab *Tab) Press(css string) {
	tab.t.Helper()
	run(tab, "press "+css, chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.Click(chromedp.CSS(css))))
}

// Click clicks the first match of the CSS selector, without leaving the page.
func (tab *Tab) Click(css string) {
	tab.t.Helper()
	run(tab, "click "+css, chromedp.Click(chromedp.CSS(css)))
}

// Back goes back in the tab's history.
func (tab *Tab) Back() {
	tab.t.Helper()
	run(tab, "go back", chromedp.NavigateBack())
}

// Forward goes forward in the tab's history.
func (tab *Tab) Forward() {
	tab.t.Helper()
	run(tab, "go forward", chromedp.NavigateForward())
}

// pause is the interval of Await. chromedp's default of five milliseconds keeps the browser busy on
// a slow page.
const pause = 20 * time.Millisecond

// Await waits until a match of the CSS selector is visible, on this page or after an automatic
// redirect.
func (tab *Tab) Await(css string) {
	tab.t.Helper()
	run(tab, "await "+css, chromedp.WaitVisible(chromedp.CSS(css), chromedp.RetryInterval(pause)))
}

// Type writes into the first input that matches the CSS selector, in one step: the browser repaints
// the page for each single key.
func (tab *Tab) Type(css, text string) {
	tab.t.Helper()
	tab.Await(css)
	tab.Do(chromedp.Focus(chromedp.CSS(css)), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// Enter presses Enter on the focused element.
func (tab *Tab) Enter() {
	tab.t.Helper()
	run(tab, "press Enter", chromedp.KeyEvent(kb.Enter))
}

// Text returns the visible text of the first match of the CSS selector. It finds and reads in one
// step, because a live page may replace the element at any time.
func (tab *Tab) Text(css string) string {
	tab.t.Helper()
	tab.Await(css)
	return Eval[string](tab, "document.querySelector("+strconv.Quote(css)+").innerText")
}

// Location returns the address of the page.
func (tab *Tab) Location() string {
	tab.t.Helper()
	return run(tab, "read the location", chromedp.Location())
}

// Eval returns the value of an expression in JavaScript, waiting for a promise.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	return run(
		tab, "evaluate "+expression[:min(len(expression), 60)],
		chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise),
	)
}

// Front brings the tab to the front.
func (tab *Tab) Front() {
	tab.t.Helper()
	run(tab, "bring the tab to the front", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.BringToFront, cdp.Empty{})
		return err
	}))
}
