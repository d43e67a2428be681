package portal_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/profile"
	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/visitor/pagetest"
)

// TestPagesFollow: every page about one thing gets its changes.
func TestPagesFollow(t *testing.T) {
	h := start(t)
	followAll(h, h.as(developer))
}

// TestPagesFollowAnotherNode: a page of one node gets the changes of another. The first node runs
// no job, so the other does all the work.
func TestPagesFollowAnotherNode(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("an SQLite file has one node")
	}
	h := start(t)
	shows := h.Node()
	shows.Serve()
	followAll(h, pagetest.At(t, shows.App.URL(), shows.DB).NewBrowser().SignIn(developer, password))
}

// followAll opens pages in a browser, changes things in h, and waits for the pages' messages.
func followAll(h *harness, b *pagetest.Browser) {
	h.Helper()
	app := h.server(h.tide)
	open := func(path string, values ...any) *stream {
		h.Helper()
		return h.follow(b, b.Get(h.path(path, values...)))
	}

	// Set-up: the check of a URL, step by step.
	app.hold = make(chan struct{})
	setup := open("/setup")
	h.Must(h.Checks.Start(h.Context(), apptest.Tester, h.tide.ID, profile.Webhook, app.url, func(context.Context) error { return nil }))
	setup.until("its answer is awaited")
	close(app.hold)
	setup.until("The check passed")

	// A delivery, its license and the figures: an attempt, and a manual send.
	app.hold, app.seen = make(chan struct{}), make(chan struct{}, 100)
	sold := h.sell(h.tide)
	<-app.seen
	event := eventOf(h, h.tide)
	delivery, license, overview, list := open("/deliveries/%s", event), open("/licenses/%s", sold.Key), open("/overview"), open("/deliveries")
	close(app.hold)
	delivery.until("Your server accepted this event")
	license.until("200 OK")
	overview.until("<rect")
	list.until("1 new, show")
	var id int64
	_, err := fmt.Sscan(event, &id)
	h.Must(err)
	found, err := h.History.Delivery(h.Context(), h.tide.ID, id)
	h.Must(err)
	attempt := open("/deliveries/%s/attempts/%d", event, found.Tries[0].ID)
	h.Must(h.Webhooks.Redeliver(h.Context(), apptest.Tester, h.tide.ID, id))
	delivery.until("Attempt 2 of 2")
	attempt.until("Next attempt")
	license.until("by The marketplace")

	// An act of a person.
	_, err = h.Partners.Rotate(h.Context(), apptest.Tester, h.tide.ID, partner.ClientSecret, time.Hour)
	h.Must(err)
	overview.until("Rotated the client secret")

	// A redelivery.
	h.sell(h.tide)
	job, err := h.Redeliveries.Begin(h.Context(), apptest.Tester, redelivery.Request{PartnerID: h.tide.ID, Rate: 1})
	h.Must(err)
	recovery := open("/recover/%d", job.ID)
	recovery.until("The recovery is done")
}

// tried records an attempt for each of that many new events.
func (h *harness) tried(events int) {
	h.Helper()
	for range events {
		h.sell(h.tide)
	}
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
			SELECT event_id, '', 500, '', 3, '', $1, created_at, created_at FROM deliveries
			WHERE event_id NOT IN (SELECT event_id FROM webhook_responses) ORDER BY event_id`, false)
		return nil
	}))
}

// TestAnnouncements: screen readers get an announcement at most every five seconds.
func TestAnnouncements(t *testing.T) {
	clock := apptest.StoppedClock(time.Now())
	h := start(t, clock.Set)
	b := h.as(viewer)
	list := h.follow(b, b.Get(h.path("/deliveries")))
	for i, said := range []bool{true, false, true, false} {
		h.tried(1)
		got := list.until(fmt.Sprintf("%d new, show", i+1))
		if strings.Contains(got, `<p class="sr">`+plural.Of(i+1, "new delivery")+`</p>`) != said {
			t.Errorf("message %d, said: %v: %s", i+1, said, got)
		}
		clock.Advance(2500 * time.Millisecond)
	}
}

// TestTooMuchIsNew: a page that missed too much to catch up must reload, whether it was open or
// comes back.
func TestTooMuchIsNew(t *testing.T) {
	h := start(t)
	b := h.as(viewer)
	page := b.Get(h.path("/deliveries"))
	open := h.follow(b, page)
	h.tried(live.Page + 1)
	if got := open.event(); got != "reload" {
		t.Errorf("the open page is sent %q", got)
	}
	if got := h.follow(b, page).event(); got != "reload" {
		t.Errorf("a page that comes back is sent %q", got)
	}
}
