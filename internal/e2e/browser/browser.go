// Package browser shows pages to tests as people see them: it starts Chromium, walks through pages,
// and checks them in light and dark, on a desktop and a small phone. A test fails on an error on
// the console, a page that scrolls sideways, or a WCAG 2.2 AA violation that axe finds.
//
// Only tests use it, and it knows no page. Chromium is not part of the repository: script/chromium
// installs it. Without it the tests are skipped.
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

// Screenshots is the environment variable with the folder for Look's pictures. If unset, none are
// stored.
const Screenshots = "CLAVIGER_SCREENSHOTS"

// axe finds breaches of accessibility rules; see testdata/axe.LICENSE.
//
//go:embed testdata/axe.min.js
var axe string

// patience is the timeout of a single step. No step needs nearly as long, so a busy machine changes
// nothing.
const patience = time.Minute

// ErrMissing means that Chromium is not installed.
var ErrMissing = errors.New("there is no Chromium; script/chromium installs it")

// Browser is a running Chromium.
type Browser struct {
	// Once makes Look check only the light desktop, if another run takes the other looks: colours
	// and widths do not depend on the database.
	Once bool

	ctx     context.Context
	end     func()
	colours *colours
}

// whole are the names of the full browser, with windows and tabs. A tab there knows whether it is
// in front.
var whole = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// Start starts Chromium for a test, as Launch does, and ends it with the test. Without
// Chromium the test is skipped.
func Start(t testing.TB) *Browser {
	t.Helper()
	b, err := Launch()
	return started(t, b, err)
}

// StartWhole is Start for a test with hidden tabs. It costs two more seconds of CPU.
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

// Launch starts Chromium for all tests of a package, which ends it with Close. A start costs more
// CPU than most tests, and tabs share nothing. If Chromium's headless shell is installed, it is
// used: it has no windows and takes a fifth to a third of the time. All its tabs are in front.
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
		// Tests share a browser, and each sees its own tab as if it were in front.
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-back-forward-cache", true), // going back requests the page again
		// A page with axe lives for seconds: code optimized on other threads comes too late to save
		// its cost.
		chromedp.Flag("js-flags", "--no-opt --no-maglev --single-threaded"),
	)
	ctx, cancel := chromedp.NewContext(alloc)
	b := &Browser{ctx: ctx, colours: &colours{readable: map[string]bool{}}, end: func() {
		limited, stop := context.WithTimeout(ctx, patience)
		_ = chromedp.Cancel(limited)
		stop()
		cancel()
		end()
		// Helper processes of Chromium may still write for a moment, and the folder is not worth a
		// failed test.
		_ = os.RemoveAll(dir)
	}}
	// The first step starts the browser, which lives as long as its context: it must have no
	// deadline.
	if err := chromedp.Do(ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("start Chromium: %w", err)
	}
	return b, nil
}

// Close ends Chromium.
func (b *Browser) Close() { b.end() }

// find returns the path of the first of these programs, or "".
func find(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	for _, path := range []string{"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google " +
		"Chrome.app/Contents/MacOS/Google Chrome"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
