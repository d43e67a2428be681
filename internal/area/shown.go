package area

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"claviger/internal/live"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// VersionsOf reads versions of things by their ids.
type VersionsOf func(ctx context.Context, ids []int64) (map[int64]string, error)

// Versions combines the versions that several packages have of the same things. Things that the
// first does not know do not exist.
func Versions(log *slog.Logger, reads ...VersionsOf) *live.Versions {
	return &live.Versions{Log: log, Read: func(ctx context.Context, ids []int64) (map[int64]string, error) {
		var all map[int64]string
		for i, read := range reads {
			found, err := read(ctx, ids)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				all = found
				continue
			}
			for id := range all {
				all[id] += "-" + found[id]
			}
		}
		return all, nil
	}}
}

// Shown is a page about one thing. When the thing changes, the page's stream sends the template of
// View's Fragment again. Its elements have hx-swap-oob.
type Shown struct {
	Versions *live.Versions
	Topic    int64
	Page     string

	// Attempts, if not nil, watches attempts that also change the page.
	Attempts func(ready live.Signal) *live.Watch[history.Fresh]

	// View reads the page. says is announced to screen readers, if not "".
	View func(r *http.Request) (view ui.View, says string, err error)
}

// Lives returns the rows of a page that is updated live: the page that find returns, and its stream
// at the same path with /live.
func Lives(path string, rule Rule, find func(r *http.Request, v Visit) (Shown, error)) []Route {
	return []Route{
		{Kind: Page, Path: path, Needs: rule(Page, false), Find: find},
		{Kind: Stream, Path: path + "/live", Needs: rule(Stream, false), Find: find},
	}
}

// show serves the page that find returns.
func (a *Area) show(
	w http.ResponseWriter, r *http.Request, visit Visit, find func(r *http.Request, visit Visit) (Shown, error),
) error {
	s, err := find(r, visit)
	if err != nil {
		return err
	}
	version, err := s.Versions.Of(r.Context(), s.Topic) // first, so that later changes are announced
	if err != nil {
		return err
	}
	view, _, err := s.View(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	q.Set("since", version)
	view.Stream = (&url.URL{Path: r.URL.Path + "/live", RawQuery: q.Encode()}).String()
	return a.Render(w, r, visit, s.Page, view)
}

// tell serves the page's stream.
func (a *Area) tell(
	w http.ResponseWriter, r *http.Request, visit Visit, find func(r *http.Request, visit Visit) (Shown, error),
) error {
	s, err := find(r, visit)
	if err != nil {
		return err
	}
	ready := live.NewSignal()
	f := follower{pages: a.Site.Pages, turns: &a.turns, person: visit.Common().User.ID, now: a.Now, r: r, Shown: s}
	f.watch = s.Versions.Watch(s.Topic, LastSeen(r), ready)
	defer f.watch.Close()
	if s.Attempts != nil {
		// The version does not cover attempts, so some may have been missed.
		f.attempts = s.Attempts(ready)
		f.stale = true
		defer f.attempts.Close()
	}
	return a.Follow(w, r, visit, ready, f.read)
}

// follower is an open page that shows one thing.
type follower struct {
	Shown
	pages    *ui.Pages
	turns    *turns
	person   int64
	now      func() time.Time
	r        *http.Request
	watch    *live.VersionWatch
	attempts *live.Watch[history.Fresh] // nil if they do not matter
	stale    bool
	last     string // last content sent to the page
	Status
}

// read returns the current content of the page, if it has changed.
func (f *follower) read(ctx context.Context) ([]ui.Message, error) {
	version, changed := f.watch.Take()
	changed = changed || f.stale
	if f.attempts != nil {
		items, lost := f.attempts.Take()
		changed = changed || lost
		for _, item := range items {
			changed = changed || item.Topic != 0
		}
	}
	f.stale = false
	if !changed {
		return nil, nil
	}
	done, err := f.turns.take(ctx, f.person)
	if err != nil {
		return nil, err
	}
	defer done()
	r := f.r.WithContext(ctx)
	view, says, err := f.View(r)
	if err != nil {
		return nil, err
	}
	part, err := f.pages.Part(r, f.Page, view)
	if err != nil {
		return nil, err
	}
	if part = strings.TrimSpace(part); part == f.last {
		return nil, nil // the change is not on this page
	}
	f.last = part
	return []ui.Message{{ID: version, Data: f.Say(f.now(), says) + part}}, nil
}

// sayEvery is the minimum interval between announcements to screen readers.
const sayEvery = 5 * time.Second

// Status is the last announcement to screen readers.
type Status struct {
	text string
	at   time.Time
}

// Say returns the update of the page's status region with text, unless it already says so or the
// last one is too recent.
func (s *Status) Say(now time.Time, text string) string {
	if text == "" || text == s.text || now.Sub(s.at) < sayEvery {
		return ""
	}
	s.text = text
	s.at = now
	return `<div id="status" hx-swap-oob="innerHTML"><p class="sr">` + html.EscapeString(text) + `</p></div>`
}
