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
	moved   chan int               // how many there are, after each change
	tries   int
	news    int
	gate    chan struct{} // nil: streams open at once
	late    string        // the asset that comes after all others; "": none
}

// rows is what the page shows.
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
			time.Sleep(500 * time.Millisecond) // nothing tells when the browser has run what it has
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(s.streams.Close)
	s.url = server.URL
	return s
}

// stream counts how often it was told, each stream by itself.
func (s *liveSite) stream(w http.ResponseWriter, r *http.Request) error {
	s.mu.Lock()
	s.tries++
	refuse, gate := s.refuse, s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate // the test asks for a stream
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

// open returns how many streams are open.
func (s *liveSite) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.changed)
}

// next waits until a stream opens or ends, and returns how many were open then.
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

// tell has something new for all streams.
func (s *liveSite) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news++
	for c := range s.changed {
		c <- struct{}{}
	}
}

// TestLiveInABrowser drives htmx as it is embedded. The console of each tab must stay
// silent: a breach of the content security policy, as by eval, is an error there.
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

// TestLiveInHiddenTabs: only the whole browser has tabs that are not in front.
func TestLiveInHiddenTabs(t *testing.T) {
	b := browser.StartWhole(t)
	alone(t, b, "hidden", hiddenWhileConnecting)
	alone(t, b, "nine tabs", nineTabsOpen)
}

// alone runs a case on a site of its own. The site is made before the tab, and so ends
// after it: a browser asks for the icon of a page when it likes, and complains where
// nobody answers.
func alone(t *testing.T, b *browser.Browser, name string, do func(*testing.T, *browser.Tab, *liveSite)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		s := newLiveSite(t)
		do(t, b.Tab(t), s)
	})
}

// focus is where the focus is.
const focus = `(document.activeElement.id || document.activeElement.tagName).toLowerCase()`

// shows waits until an element says something.
func shows(tab *browser.Tab, css, text string) string {
	return browser.Eval[string](tab, `new Promise((done) => {
		const look = () => { if (document.querySelector('`+css+`')?.textContent.includes('`+text+`')) done('yes'); };
		new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
		look();
	})`)
}

// fragmentsAreSwapped: the address follows, back shows the page, and the focus stays
// where somebody is or goes to the heading of what came.
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

// errorsHaveTheirPlace: what the person did is answered where they did it, what we did in
// the status region, and an expired session leaves the page.
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

// streamIsFollowed: news arrive, and a page that is refused asks no more.
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
	// The closing event ended it: a page that came back would do so within a second.
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

// scriptComesLate: a page follows what happens in whatever order its scripts arrive.
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

// nineTabsOpen: a browser has six connections for a host, so tabs that nobody looks at
// give theirs up, and take them again.
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
	tabs[8].Front() // where somebody looks
	shows(tabs[8], "#news", "News 1")
	for s.open() > 1 { // those of hidden tabs are closing
		s.next(t)
	}
	tabs[3].Front()
	shows(tabs[3], "#news", "News 1")
}
