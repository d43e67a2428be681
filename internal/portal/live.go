package portal

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/live"
	"claviger/internal/plural"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// attemptsOf is the feed of the open lists of deliveries: one query for all of them.
func attemptsOf(reader history.Reader, log *slog.Logger) *live.Feed[history.Delivery] {
	return &live.Feed[history.Delivery]{
		Newest: reader.NewestAttempt, Log: log,
		Read: func(ctx context.Context, partners []int64, after int64, limit int) ([]live.Item[history.Delivery], error) {
			list, upTo, lost, err := reader.AttemptsAfter(ctx, partners, after, limit)
			if err != nil {
				return nil, err
			}
			items := make([]live.Item[history.Delivery], 0, len(list)+1)
			if lost {
				// As many as the feed asked for means more than anybody can follow.
				for range limit {
					items = append(items, live.Item[history.Delivery]{ID: upTo})
				}
				return items, nil
			}
			for _, f := range list {
				items = append(items, live.Item[history.Delivery]{Topic: f.PartnerID, ID: f.ID, Value: f.Delivery})
			}
			if len(items) < limit && upTo > after {
				items = append(items, live.Item[history.Delivery]{ID: upTo}) // of nobody: the feed goes on from there
			}
			return items, nil
		},
	}
}

// liveQuery is the query of the stream of a list: its filters, and the attempt that was
// the newest when the list was made.
func liveQuery(r *http.Request, newest int64) string {
	q := r.URL.Query()
	q.Set("since", strconv.FormatInt(newest, 10))
	return q.Encode()
}

// follows counts what is new for one list.
type follows struct {
	asked asked
	watch *live.Watch[history.Delivery]
	since int64
	url   string         // of the list
	seen  map[int64]bool // events
	begun bool
	now   func() time.Time
	area.Status
}

// maxSeen is how many new deliveries a page counts.
const maxSeen = 1000

// deliveriesLive tells an open list how many deliveries that it means had an attempt
// since it was made. The list itself stays as it is.
func (h *Handler) deliveriesLive(w http.ResponseWriter, r *http.Request, v *Visit) error {
	a, err := h.askedFor(r, v)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := &follows{
		asked: a, watch: h.Live.attempts.Watch(v.Partner.ID), url: v.Path(deliveriesPath) + area.Query(q, "since"), seen: map[int64]bool{},
		now: h.Now,
	}
	defer f.watch.Close()
	f.since, err = strconv.ParseInt(area.LastSeen(r), 10, 64)
	f.begun = err != nil // a page that does not say what it knows has nothing to catch up with
	return h.follow(w, r, v, f.watch.Ready(), f.read)
}

// read returns what the page is told.
func (f *follows) read(ctx context.Context) ([]ui.Message, error) {
	var items []live.Item[history.Delivery]
	var lost bool
	if !f.begun {
		f.begun = true
		var err error
		if items, lost, err = f.watch.CatchUp(ctx, f.since); err != nil {
			return nil, err
		}
	}
	more, lostMore := f.watch.Take()
	if lost || lostMore {
		return []ui.Message{ui.Reload()}, nil
	}
	before, id := len(f.seen), int64(0)
	for _, item := range append(items, more...) {
		id = max(id, item.ID)
		if item.Topic != 0 && len(f.seen) < maxSeen && f.asked.Filter.Means(item.Value) {
			f.seen[item.Value.EventID] = true
		}
	}
	if len(f.seen) == before {
		return nil, nil
	}
	return []ui.Message{{ID: strconv.FormatInt(id, 10), Data: f.html()}}, nil
}

// html is the notice that stands above the list.
func (f *follows) html() string {
	n := fmt.Sprintf("%d new, show", len(f.seen))
	if len(f.seen) >= maxSeen {
		n = fmt.Sprintf("More than %d new, show", maxSeen)
	}
	return f.Say(f.now(), plural.Of(len(f.seen), "new delivery")) +
		`<div id="news" hx-swap-oob="innerHTML"><a class="button secondary" id="news-link" href="` + html.EscapeString(f.url) + `">` + n + `</a></div>`
}
