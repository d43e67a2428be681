// Package browser lets tests see pages as people do: it starts Chromium, walks
// through pages, and looks at them in light and dark, on a desk and on a small
// phone. It fails the test for what nobody should meet: an error on the console,
// a page that scrolls sideways, a breach of WCAG 2.2 AA that axe finds.
//
// It is for tests only and knows no page. Chromium is not part of the repository:
// script/chromium installs it, and where it is missing the tests skip.
package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Screenshots is the environment variable that names the folder where Look puts
// what it sees. Unset, nothing is kept.
const Screenshots = "CLAVIGER_SCREENSHOTS"

// axe finds breaches of accessibility rules; see testdata/axe.LICENSE.
//
//go:embed testdata/axe.min.js
var axe string

// patience is how long a single step may take before the test fails. It is far
// beyond what any step needs, so that a busy machine changes nothing.
const patience = time.Minute

// ErrMissing says that there is no Chromium.
var ErrMissing = errors.New("there is no Chromium; script/chromium installs it")

// Browser is a running Chromium.
type Browser struct {
	// Once has Look look at the desk in light alone, where the other looks were taken
	// before: colours and widths are those of the style sheet, whatever the database.
	Once bool

	ctx     context.Context
	end     func()
	colours *colours
}

// whole are the names of the browser as people have it, with windows and tabs: one that
// is not in front knows so.
var whole = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// Start starts Chromium for a test, as Launch does, and ends it with the test. Without
// Chromium the test is skipped.
func Start(t testing.TB) *Browser {
	t.Helper()
	b, err := Launch()
	return started(t, b, err)
}

// StartWhole is Start for a test in which tabs are hidden. It costs two seconds of the
// processor more.
func StartWhole(t testing.TB) *Browser {
	t.Helper()
	b, err := launch(find(whole...))
	return started(t, b, err)
}

func started(t testing.TB, b *Browser, err error) *Browser {
	t.Helper()
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Launch starts Chromium for all tests of a package, which then ends it by Close. A
// start costs more of the processor than most tests do after it, and tabs share
// nothing. Where there is Chromium's shell, it is taken: it has pages without windows,
// which nobody sees here and which take a fifth to a third of the time. All its tabs
// are in front.
func Launch() (*Browser, error) {
	return launch(find(append([]string{"chromium-headless-shell"}, whole...)...))
}

func launch(program string) (*Browser, error) {
	if program == "" {
		return nil, ErrMissing
	}
	dir, err := os.MkdirTemp("", "claviger-browser-")
	if err != nil {
		return nil, err
	}
	alloc, end := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(program), chromedp.UserDataDir(dir),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("hide-scrollbars", true),
		// Tests share a browser, and each looks at its own tab as if it were in front.
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-back-forward-cache", true), // who goes back asks for the page again
		// A page lives for seconds, and axe in it: code that was optimized on other
		// threads comes too late to save what it cost.
		chromedp.Flag("js-flags", "--no-opt --no-maglev --single-threaded"),
	)
	ctx, cancel := chromedp.NewContext(alloc)
	b := &Browser{ctx: ctx, colours: &colours{readable: map[string]bool{}}, end: func() {
		limited, stop := context.WithTimeout(ctx, patience)
		_ = chromedp.Cancel(limited)
		stop()
		cancel()
		end()
		// Helpers of Chromium may still write for a moment, and the folder is
		// not worth a failed test.
		_ = os.RemoveAll(dir)
	}}
	// The first step starts the browser, which lives as long as its context: it
	// must have no deadline.
	if err := chromedp.Do(ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("start Chromium: %w", err)
	}
	return b, nil
}

// Close ends Chromium.
func (b *Browser) Close() { b.end() }

// find returns the path of the first of these programs, "" when there is none.
func find(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	for _, path := range []string{"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
