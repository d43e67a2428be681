package area

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/live"
	"claviger/internal/plural"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// AllPartners is the topic for the attempts of all partners.
const AllPartners = -1

// Attempts returns the feed of the open lists of deliveries, with one query for all of them. Its
// topics are partners; if not byPartner, the only topic is AllPartners.
func Attempts(reader history.Reader, byPartner bool, log *slog.Logger) *live.Feed[history.Fresh] {
	return &live.Feed[history.Fresh]{
		Newest: reader.NewestAttempt, Log: log,
		Read: func(ctx context.Context, partners []int64, after int64, limit int) ([]live.Item[history.Fresh], error) {
			if !byPartner {
				partners = nil
			}
			list, upTo, lost, err := reader.AttemptsAfter(ctx, partners, after, limit)
			if err != nil {
				return nil, err
			}
			items := make([]live.Item[history.Fresh], 0, len(list)+1)
			if lost {
				// A full batch tells the feed that it cannot keep up.
				for range limit {
					items = append(items, live.Item[history.Fresh]{ID: upTo})
				}
				return items, nil
			}
			for _, f := range list {
				item := live.Item[history.Fresh]{Topic: f.PartnerID, ID: f.ID, Value: f}
				if !byPartner {
					item.Topic = AllPartners
				}
				items = append(items, item)
			}
			if len(items) < limit && upTo > after {
				// without a topic: moves the cursor of the feed
				items = append(items, live.Item[history.Fresh]{ID: upTo})
			}
			return items, nil
		},
	}
}

// live turns on the live updates of a list, unless the person has paused them, and returns the URL
// of its stream. newest is the newest attempt before the list was read.
func (v *DeliveriesView) live(r *http.Request, newest int64) (stream string) {
	q := r.URL.Query()
	if q.Get("live") == "off" {
		v.Follow = WithParam(r, "live", "")
		return ""
	}
	v.Pause = WithParam(r, "live", "off")
	q.Set("since", strconv.FormatInt(newest, 10))
	return (&url.URL{Path: r.URL.Path + "/live", RawQuery: q.Encode()}).String()
}

// follows counts new deliveries for one list.
type follows struct {
	filter    history.Filter
	partnerID int64 // 0: all
	watch     *live.Watch[history.Fresh]
	since     int64
	url       string         // of the list
	seen      map[int64]bool // events
	begun     bool
	now       func() time.Time
	Status
}

// maxSeen is the highest count of new deliveries.
const maxSeen = 1000

// followDeliveries streams the number of matching deliveries with an attempt since the list was
// built, for one partner or, with 0, for all. The list itself does not change.
func (a *Area) followDeliveries(
	w http.ResponseWriter, r *http.Request, visit Visit,
	watch *live.Watch[history.Fresh], filter history.Filter, partnerID int64,
) error {
	defer watch.Close()
	f := &follows{
		filter: filter, partnerID: partnerID, watch: watch,
		url: visit.Path(DeliveriesPath) + Query(r.URL.Query(), "since"), seen: map[int64]bool{},
		now: a.Now,
	}
	var err error
	f.since, err = strconv.ParseInt(LastSeen(r), 10, 64)
	f.begun = err != nil // without a since parameter there is nothing to catch up on
	return a.Follow(w, r, visit, watch.Ready(), f.read)
}

// read returns the messages for the page.
func (f *follows) read(ctx context.Context) ([]ui.Message, error) {
	var items []live.Item[history.Fresh]
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
	before := len(f.seen)
	id := int64(0)
	for _, item := range append(items, more...) {
		id = max(id, item.ID)
		if item.Topic != 0 && len(f.seen) < maxSeen && (f.partnerID == 0 || f.partnerID == item.Value.PartnerID) &&
			f.filter.Means(item.Value.Delivery) {
			f.seen[item.Value.EventID] = true
		}
	}
	if len(f.seen) == before {
		return nil, nil
	}
	return []ui.Message{{ID: strconv.FormatInt(id, 10), Data: f.html()}}, nil
}

// html returns the notice above the list.
func (f *follows) html() string {
	n := fmt.Sprintf("%d new, show", len(f.seen))
	if len(f.seen) >= maxSeen {
		n = fmt.Sprintf("More than %d new, show", maxSeen)
	}
	return f.Say(f.now(), plural.Of(len(f.seen), "new delivery")) +
		`<div id="news" hx-swap-oob="innerHTML"><a class="button secondary" id="news-link" href="` +
		html.EscapeString(f.url) + `">` + n + `</a></div>`
}
