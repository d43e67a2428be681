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

// Tab is one person's browser window: it shares no cookies with other tabs. It
// belongs to the goroutine of its test. At the end of the test every error on its
// console that was not announced fails it.
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

// Beside opens another tab of the same person, in front of this one: it shares cookies
// and connections with it.
func (tab *Tab) Beside(t testing.TB) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(tab.ctx, chromedp.WithNewWindow(false))
	beside := newTab(t, cancel, &Tab{ctx: ctx, once: tab.once, colours: tab.colours})
	beside.Front()
	return beside
}

func newTab(t testing.TB, cancel context.CancelFunc, tab *Tab) *Tab {
	t.Helper()
	tab.t, tab.flushed = t, make(chan string, 1)
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

// sentinel marks the end of what the console has said so far.
const sentinel = "claviger: the console up to here "

// hear takes one message of the console.
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

// Quiet fails the test when the console has errors that were not announced, and
// forgets them.
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

// run does one step in the tab and fails the test when it cannot be done.
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

// Do does steps of chromedp's own, for what the other methods have no word for.
func (tab *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	run(tab, "do the steps", chromedp.Steps(steps...))
}

// Open goes to an address.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	run(tab, "open "+url, chromedp.Navigate(url))
}

// Press clicks what the CSS selector finds first and waits for the page that follows.
func (tab *Tab) Press(css string) {
	tab.t.Helper()
	run(tab, "press "+css, chromedp.WaitEvent(page.LoadEventFired, nil, chromedp.Click(chromedp.CSS(css))))
}

// Click clicks what the CSS selector finds first, on a page that stays.
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

// pause is how long Await waits between two looks: chromedp's own five milliseconds keep
// the browser busy on a page that takes a while.
const pause = 20 * time.Millisecond

// Await waits until there is to be seen what the CSS selector finds, on this page
// or on one that the browser goes on to by itself.
func (tab *Tab) Await(css string) {
	tab.t.Helper()
	run(tab, "await "+css, chromedp.WaitVisible(chromedp.CSS(css), chromedp.RetryInterval(pause)))
}

// Type writes into the input that the CSS selector finds first, all at once: the browser
// paints the page anew for each single key.
func (tab *Tab) Type(css, text string) {
	tab.t.Helper()
	tab.Await(css)
	tab.Do(chromedp.Focus(chromedp.CSS(css)), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// Enter presses that key, on what has the focus.
func (tab *Tab) Enter() {
	tab.t.Helper()
	run(tab, "press Enter", chromedp.KeyEvent(kb.Enter))
}

// Text is what the first element that the CSS selector finds says, as it is seen. It
// is found and read at once: a live page may replace it at any time.
func (tab *Tab) Text(css string) string {
	tab.t.Helper()
	tab.Await(css)
	return Eval[string](tab, "document.querySelector("+strconv.Quote(css)+").innerText")
}

// Location is the address of the page.
func (tab *Tab) Location() string {
	tab.t.Helper()
	return run(tab, "read the location", chromedp.Location())
}

// Eval returns the value of an expression in JavaScript, waiting for a promise.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	return run(tab, "evaluate "+expression[:min(len(expression), 60)], chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Front brings the tab to the front: the person looks at it, and not at those beside it.
func (tab *Tab) Front() {
	tab.t.Helper()
	run(tab, "bring the tab to the front", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.BringToFront, cdp.Empty{})
		return err
	}))
}
