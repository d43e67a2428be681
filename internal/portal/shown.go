package portal

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"claviger/internal/area"
	"claviger/internal/live"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// Live is what tells open pages that something has happened.
type Live struct {
	attempts   *live.Feed[history.Delivery] // by partner
	deliveries *live.Versions               // by event
	licenses   *live.Versions
	jobs       *live.Versions
	setup      *live.Versions // by partner
	overview   *live.Versions // by partner
}

// versionsOf reads versions of things by their ids.
type versionsOf func(ctx context.Context, ids []int64) (map[int64]string, error)

// NewLive makes what the pages of a handler are told by.
func NewLive(h *Handler, log *slog.Logger) *Live {
	of := func(reads ...versionsOf) *live.Versions { return &live.Versions{Read: together(reads), Log: log} }
	return &Live{
		attempts:   attemptsOf(h.History, log),
		deliveries: of(h.History.Versions),
		licenses:   of(h.Licenses.Versions, h.History.LicenseVersions),
		jobs:       of(h.Replays.Versions),
		setup:      of(h.Profiles.Versions, h.Partners.CredentialVersions, h.Webhooks.EndpointVersions),
		overview:   of(h.Profiles.Versions, h.Webhooks.EndpointVersions, h.Audit.Versions, h.History.NewestVersions),
	}
}

// together joins what several packages know of the same things. What the first does not
// know does not exist.
func together(reads []versionsOf) versionsOf {
	return func(ctx context.Context, ids []int64) (map[int64]string, error) {
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
	}
}

// shown is a page about one thing. When the thing changes, the page's stream sends the
// template view.Fragment again, whose elements have hx-swap-oob.
type shown struct {
	versions *live.Versions
	topic    int64
	attempts bool // each attempt of the partner changes it, too
	page     string

	// view reads what is shown. says is what people are told who do not see it change; ""
	// is nothing.
	view func(r *http.Request) (view ui.View, says string, err error)
}

// find finds what a page is about.
type find func(r *http.Request, v *Visit) (shown, error)

// shows serves the page.
func (h *Handler) shows(find find) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		s, err := find(r, v)
		if err != nil {
			return err
		}
		version, err := s.versions.Of(r.Context(), s.topic) // before the rest: what changes meanwhile is told of
		if err != nil {
			return err
		}
		view, _, err := s.view(r)
		if err != nil {
			return err
		}
		q := r.URL.Query()
		q.Set("since", version)
		view.Stream = (&url.URL{Path: r.URL.Path + "/live", RawQuery: q.Encode()}).String()
		return h.render(w, r, v, s.page, view)
	}
}

// seen is what a page that opens its stream knows.
func seen(r *http.Request) string { return area.LastSeen(r) }

// tells serves the page's stream.
func (h *Handler) tells(find find) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		s, err := find(r, v)
		if err != nil {
			return err
		}
		ready, f := live.NewSignal(), follower{h: h, r: r, shown: s}
		f.watch = s.versions.Watch(r.Context(), s.topic, seen(r), ready)
		defer f.watch.Close()
		if s.attempts {
			// The version does not tell of attempts, so what came meanwhile is not known.
			f.attempts, f.stale = h.Live.attempts.WatchWith(v.Partner.ID, ready), true
			defer f.attempts.Close()
		}
		return h.follow(w, r, v, ready, f.read)
	}
}

// follower is an open page that shows one thing.
type follower struct {
	shown
	h        *Handler
	r        *http.Request
	watch    *live.VersionWatch
	attempts *live.Watch[history.Delivery] // nil: they do not matter
	stale    bool
	status
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
	r := f.r.WithContext(ctx)
	view, says, err := f.view(r)
	if err != nil {
		return nil, err
	}
	part, err := f.h.Site.Pages.Part(r, f.page, view)
	if err != nil {
		return nil, err
	}
	return []ui.Message{{ID: version, Data: f.say(f.h.Now(), says) + strings.TrimSpace(part)}}, nil
}

// sayEvery is how often people who do not see a page are told at most.
const sayEvery = 5 * time.Second

// status is what people who do not see a page were last told.
type status struct {
	text string
	at   time.Time
}

// say puts a text into the page's status region, unless it stands there or the last one
// was put there just now.
func (s *status) say(now time.Time, text string) string {
	if text == "" || text == s.text || now.Sub(s.at) < sayEvery {
		return ""
	}
	s.text, s.at = text, now
	return `<div id="status" hx-swap-oob="innerHTML"><p class="sr">` + html.EscapeString(text) + `</p></div>`
}
