package ui_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/e2e/browser"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// liveSite serves a page with fragments and a stream.
type liveSite struct {
	streams ui.Streams
	url     string

	mu      sync.Mutex
	refuse  bool
	changed map[chan struct{}]bool // of the open streams
	moved   chan int               // number of streams, after each change
	tries   int
	news    int
	gate    chan struct{} // nil: streams open immediately
	late    string        // the asset that comes after all others; "": none
}

// rows is the data of the page.
type rows struct {
	Query      string
	Page, Next int
}

func newLiveSite(t *testing.T) *liveSite {
	t.Helper()
	s := &liveSite{changed: map[chan struct{}]bool{}, moved: make(chan int, 1000)}
	pages := sample(t)
	page := func(path string, serve func(w http.ResponseWriter, r *http.Request) error) wire.Route {
		return wire.Public(http.MethodGet, path, func(w http.ResponseWriter, r *http.Request) error {
			if err := serve(w, r); err != nil {
				pages.Fail(w, r, err)
			}
			return nil
		})
	}
	mux := wire.NewMux(append(ui.Assets(),
		page("/live", func(w http.ResponseWriter, r *http.Request) error {
			n, _ := strconv.Atoi(r.FormValue("page"))
			return pages.Render(w, r, "live", ui.View{
				Title: "Live", Stream: "/live/stream", Nav: &ui.Nav{Title: "Tide"}, Fragment: "live-rows", Data: rows{r.FormValue("q"), n, n + 1},
			})
		}),
		page("/live/broken", func(http.ResponseWriter, *http.Request) error { return errors.New("the disk is full") }),
		page("/live/missing", func(http.ResponseWriter, *http.Request) error {
			return fault.New(fault.Missing, "unknown_row", "There is no such row.")
		}),
		page("/live/expired", func(w http.ResponseWriter, _ *http.Request) error {
			ui.SetRedirect(w.Header(), "/live?q=signed-out")
			return fault.New(fault.Unknown, "sign_in_required", "You are no longer signed in.")
		}),
		page("/live/stream", s.stream),
	)...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.late != "" && strings.HasSuffix(r.URL.Path, s.late) {
			time.Sleep(500 * time.Millisecond) // nothing signals that the browser has run the other scripts
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(s.streams.Close)
	s.url = server.URL
	return s
}

// stream counts the news for each stream separately.
func (s *liveSite) stream(w http.ResponseWriter, r *http.Request) error {
	s.mu.Lock()
	s.tries++
	refuse, gate := s.refuse, s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate // the test sees the request
		<-gate // and lets it open
	}
	if refuse {
		return fault.New(fault.Unknown, "sign_in_required", "You are no longer signed in.")
	}
	changed := make(chan struct{}, 10)
	s.count(func() { s.changed[changed] = true })
	defer s.count(func() { delete(s.changed, changed) })
	last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	return s.streams.Serve(w, r, ui.Stream{
		Person: 1, Changed: changed,
		Check: func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.refuse {
				return fault.New(fault.Unknown, "sign_in_required", "You are no longer signed in.")
			}
			return nil
		},
		Read: func(context.Context) ([]ui.Message, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.news == last {
				return nil, nil
			}
			last = s.news
			n := strconv.Itoa(last)
			return []ui.Message{{ID: n, Data: `<p id="news" hx-swap-oob="outerHTML">News ` + n + "</p>"}}, nil
		},
	})
}

func (s *liveSite) count(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.moved <- len(s.changed)
}

// open returns the number of open streams.
func (s *liveSite) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.changed)
}

// next waits until a stream opens or ends, and returns the number of open ones.
func (s *liveSite) next(t *testing.T) int {
	t.Helper()
	select {
	case n := <-s.moved:
		return n
	case <-time.After(time.Minute):
		t.Fatalf("the streams stay as they are: %d", s.open())
		return 0
	}
}

// await waits until that many streams are open.
func (s *liveSite) await(t *testing.T, want int) {
	t.Helper()
	for s.next(t) != want {
		continue
	}
}

// tell sends news to all streams.
func (s *liveSite) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news++
	for c := range s.changed {
		c <- struct{}{}
	}
}

// TestLiveInABrowser drives the embedded htmx. The console of each tab must stay silent: violations
// of the content security policy, as by eval, are errors there.
func TestLiveInABrowser(t *testing.T) {
	b := browser.Start(t)
	s := newLiveSite(t)
	t.Run("fragments", func(t *testing.T) { fragmentsAreSwapped(t, b.Tab(t), s) })
	t.Run("errors", func(t *testing.T) { errorsHaveTheirPlace(t, b.Tab(t), s) })
	t.Run("stream", func(t *testing.T) { streamIsFollowed(t, b.Tab(t), s) })
	for _, late := range []string{"/htmx.js", "/htmx-sse.js", "/app.js"} {
		alone(t, b, "late "+late, func(t *testing.T, tab *browser.Tab, s *liveSite) { scriptComesLate(t, tab, s, late) })
	}
}

// TestLiveInHiddenTabs: only a full browser has background tabs.
func TestLiveInHiddenTabs(t *testing.T) {
	b := browser.StartWhole(t)
	alone(t, b, "hidden", hiddenWhileConnecting)
	alone(t, b, "nine tabs", nineTabsOpen)
}

// alone runs a case on its own site. The site is created before the tab, and so ends after it: a
// browser may request the icon of a page at any time, and complains if there is no answer.
func alone(t *testing.T, b *browser.Browser, name string, do func(*testing.T, *browser.Tab, *liveSite)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		s := newLiveSite(t)
		do(t, b.Tab(t), s)
	})
}

// focus returns the focused element.
const focus = `(document.activeElement.id || document.activeElement.tagName).toLowerCase()`

// shows waits until an element contains a text.
func shows(tab *browser.Tab, css, text string) string {
	return browser.Eval[string](tab, `new Promise((done) => {
		const look = () => { if (document.querySelector('`+css+`')?.textContent.includes('`+text+`')) done('yes'); };
		new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
		look();
	})`)
}

// fragmentsAreSwapped: the URL follows, back shows the page, and the focus stays or moves to the
// heading of the new content.
func fragmentsAreSwapped(t *testing.T, tab *browser.Tab, s *liveSite) {
	tab.Open(s.url + "/live")
	tab.Type("#q", "tide")
	tab.Click("#search")
	shows(tab, "#shown", "tide")
	if got := browser.Eval[string](tab, focus); got != "search" {
		t.Errorf("after a search the focus is at %q", got)
	}
	if got := tab.Location(); got != s.url+"/live?q=tide" {
		t.Errorf("the address is %s", got)
	}
	tab.Click("#next-0")
	tab.Await("#next-1")
	if got := browser.Eval[string](tab, focus); got != "h2" {
		t.Errorf("after the pager the focus is at %q", got)
	}
	tab.Back()
	tab.Await("#next-0")
	if got := tab.Location(); got != s.url+"/live" {
		t.Errorf("going back leads to %q", got)
	}
}

// errorsHaveTheirPlace: the person's errors are shown at their cause, ours in the status region,
// and an expired session leaves the page.
func errorsHaveTheirPlace(t *testing.T, tab *browser.Tab, s *liveSite) {
	for _, status := range []string{"401", "404", "500"} {
		tab.Expect("status of " + status)
	}
	tab.Open(s.url + "/live")
	tab.Click("#broken")
	shows(tab, "#status", "Something went wrong")
	if got := tab.Text("#rows h2"); got != "Rows" {
		t.Errorf("a fault of ours replaced the rows by %q", got)
	}
	tab.Click("#missing")
	shows(tab, "#rows", "There is no such row.")
	if got := browser.Eval[string](tab, focus); got != "missing" {
		t.Errorf("after an error the focus is at %q", got)
	}
	tab.Press("#expired")
	if got := tab.Location(); got != s.url+"/live?q=signed-out" {
		t.Errorf("an expired session leads to %s", got)
	}
}

// streamIsFollowed: news arrive, and a rejected page does not ask again.
func streamIsFollowed(t *testing.T, tab *browser.Tab, s *liveSite) {
	tab.Open(s.url + "/live")
	s.await(t, 1)
	s.tell()
	shows(tab, "#news", "News 1")
	s.mu.Lock()
	s.refuse = true
	before := s.tries
	s.mu.Unlock()
	s.tell()
	s.await(t, 0)
	// The close event ended it: otherwise the page would reconnect within a second.
	browser.Eval[int](tab, `new Promise((done) => setTimeout(() => done(1), 1500))`)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries != before {
		t.Errorf("the page asked %d times again", s.tries-before)
	}
	if got := tab.Text("#news"); got != "News 1" {
		t.Errorf("the page shows %q", got)
	}
	s.refuse = false
}

// scriptComesLate: a page follows its stream in any order of its scripts.
func scriptComesLate(t *testing.T, tab *browser.Tab, s *liveSite, late string) {
	s.late = late
	tab.Open(s.url + "/live")
	s.await(t, 1)
	s.tell()
	shows(tab, "#news", "News 1")
}

// hiddenWhileConnecting: a tab that is hidden before its stream opens gives it up.
func hiddenWhileConnecting(t *testing.T, first *browser.Tab, s *liveSite) {
	other := first.Beside(t)
	s.gate = make(chan struct{})
	tab := other.Beside(t)
	tab.Open(s.url + "/live")
	s.gate <- struct{}{}
	other.Front()
	s.gate <- struct{}{}
	s.await(t, 1)
	s.await(t, 0)
	close(s.gate)
	tab.Front()
	s.await(t, 1)
}

// nineTabsOpen: a browser has six connections per host, so hidden tabs release theirs, and
// reconnect later.
func nineTabsOpen(t *testing.T, first *browser.Tab, s *liveSite) {
	t.Cleanup(func() {
		if t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Logf("%d streams are open, %d were asked for, the news are %d", len(s.changed), s.tries, s.news)
		}
	})
	first.Open(s.url + "/live")
	s.await(t, 1)
	tabs := []*browser.Tab{first}
	for i := range 8 {
		tab := tabs[i].Beside(t)
		tab.Open(s.url + "/live")
		if got := tab.Text("h1"); got != "Live" {
			t.Fatalf("a tab shows %q", got)
		}
		tabs = append(tabs, tab)
	}
	s.tell()
	tabs[8].Front() // the visible tab
	shows(tabs[8], "#news", "News 1")
	for s.open() > 1 { // hidden tabs are closing theirs
		s.next(t)
	}
	tabs[3].Front()
	shows(tabs[3], "#news", "News 1")
}
