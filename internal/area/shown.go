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

// Versions joins what several packages know of the same things. What the first does not
// know does not exist.
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

// Shown is a page about one thing. When the thing changes, the page's stream sends the
// template of View's Fragment again, whose elements have hx-swap-oob.
type Shown struct {
	Versions *live.Versions
	Topic    int64
	Page     string

	// Attempts, if it is not nil, watches attempts that change the page, too.
	Attempts func(ready live.Signal) *live.Watch[history.Fresh]

	// View reads what is shown. says is what people are told who do not see it change; ""
	// is nothing.
	View func(r *http.Request) (view ui.View, says string, err error)
}

// Shows serves the page that find finds. Its stream is at the same path with /live.
func (a *Area[N, V]) Shows(w http.ResponseWriter, r *http.Request, visit V, find func(r *http.Request, visit V) (Shown, error)) error {
	s, err := find(r, visit)
	if err != nil {
		return err
	}
	version, err := s.Versions.Of(r.Context(), s.Topic) // before the rest: what changes meanwhile is told of
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

// Tells serves the page's stream.
func (a *Area[N, V]) Tells(w http.ResponseWriter, r *http.Request, visit V, find func(r *http.Request, visit V) (Shown, error)) error {
	s, err := find(r, visit)
	if err != nil {
		return err
	}
	ready, f := live.NewSignal(), follower{pages: a.Site.Pages, turns: &a.turns, person: visit.Common().User.ID, now: a.Now, r: r, Shown: s}
	f.watch = s.Versions.Watch(r.Context(), s.Topic, LastSeen(r), ready)
	defer f.watch.Close()
	if s.Attempts != nil {
		// The version does not tell of attempts, so what came meanwhile is not known.
		f.attempts, f.stale = s.Attempts(ready), true
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
	attempts *live.Watch[history.Fresh] // nil: they do not matter
	stale    bool
	last     string // what the page was sent last
	Status
}

// read returns what the page is sent: the thing as it is now, if it has changed.
func (f *follower) read(ctx context.Context) ([]ui.Message, error) {
	version, changed := f.watch.Take()
	if changed = changed || f.stale; f.attempts != nil {
		items, lost := f.attempts.Take()
		changed = changed || lost
		for _, item := range items {
			changed = changed || item.Topic != 0
		}
	}
	if f.stale = false; !changed {
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
		return nil, nil // what has changed is not on this page
	}
	f.last = part
	return []ui.Message{{ID: version, Data: f.Say(f.now(), says) + part}}, nil
}

// sayEvery is how often people who do not see a page are told at most.
const sayEvery = 5 * time.Second

// Status is what people who do not see a page were last told.
type Status struct {
	text string
	at   time.Time
}

// Say puts a text into the page's status region, unless it stands there or the last one
// was put there just now.
func (s *Status) Say(now time.Time, text string) string {
	if text == "" || text == s.text || now.Sub(s.at) < sayEvery {
		return ""
	}
	s.text, s.at = text, now
	return `<div id="status" hx-swap-oob="innerHTML"><p class="sr">` + html.EscapeString(text) + `</p></div>`
}
