package e2e_test

import (
	"context"
	"sync/atomic"
	"syscall"
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// Number of outages, of error answers in each outage before it ends, and of outages that flicker.
const (
	outages    = 4
	awayBefore = 25
	flickers   = 8
)

// TestDatabaseAway cuts the connections to the database under load, several times, sometimes after
// an idle period. During an outage every caller gets an error that says so. Afterwards the service
// recovers without help, and nothing acknowledged is lost.
func TestDatabaseAway(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("an SQLite file does not go away")
	}
	t.Parallel()
	database := sqldbtest.NewProxy(t, sqldbtest.URL(t))
	db := database.URL
	e := newEndpoint(t, friendly)
	c := launch(t, "--db", db, "--webhook", e.URL, "--retry", quickly)
	e.know(c.card.Partner.WebhookSecret)
	m := newMarket(clients, 7)
	var acks, sorries atomic.Pointer[fuse]
	m.onAck, m.onAway = burning(&acks), burning(&sorries)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	acks.Store(newFuse(100))
	wait := m.trade(ctx, t, func(int) *child { return c })
	for round := range outages {
		acks.Load().await(t)
		sorries.Store(newFuse(awayBefore))
		if round%2 == 1 {
			database.Freeze()
			checkReady(t, c) // otherwise requests would take their whole timeout
		}
		database.Cut()
		checkReady(t, c)
		sorry(t, c.partner().must(t, 503, "GET", "/v2/licenses", nil))
		sorry(t, c.operator().must(t, 503, "GET", "/operator/v1/events", nil))
		sorries.Load().await(t)
		flicker(t, database, &acks, &sorries)
		acks.Store(newFuse(100))
		database.Restore()
		t.Logf("outage %d: %d acts acknowledged so far, %d events delivered", round+1, m.acked.Load(), e.count().delivered)
	}
	acks.Load().await(t)
	stop()
	wait()
	m.checkAway(t)
	m.settle(t, c)
	e.awaitAll(t, c)
	c.operator().must(t, 200, "GET", "/readyz", nil)
	if err := c.end(syscall.SIGTERM); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}

	reader := launch(t, "--db", db, "--webhook", e.URL)
	orders := m.check(t, reader)
	b := openBooks(t, reader, e)
	b.checkTold()
	b.checkOrder()
	b.checkPicture(reader)
	cutOff := b.checkRecords(true)
	n := e.count()
	t.Logf("after %d outages: %d orders, %d events; %d requests, %d of them not on record, %d duplicates",
		outages, orders, len(b.feed), n.arrivals, cutOff, n.duplicates)
}

// flicker brings the database back only for a moment.
func flicker(t *testing.T, database *sqldbtest.Proxy, acks, sorries *atomic.Pointer[fuse]) {
	t.Helper()
	for range flickers {
		acks.Store(newFuse(5))
		database.Restore()
		acks.Load().await(t)
		sorries.Store(newFuse(1))
		database.Cut()
		sorries.Load().await(t)
	}
}

// burning burns the current fuse.
func burning(lit *atomic.Pointer[fuse]) func() {
	return func() {
		if f := lit.Load(); f != nil {
			f.burn()
		}
	}
}

// checkReady checks the health answer while the database is down.
func checkReady(t *testing.T, c *child) {
	t.Helper()
	c.operator().must(t, 200, "GET", "/livez", nil)
	ready := read[struct {
		Checks map[string]string `json:"checks"`
	}](t, c.operator().must(t, 503, "GET", "/readyz", nil))
	if ready.Checks["database"] != "failed" {
		t.Errorf("/readyz says of the database: %q", ready.Checks["database"])
	}
}

// checkAway checks the traders' answers during an outage.
func (m *market) checkAway(t *testing.T) {
	t.Helper()
	for _, tr := range m.traders {
		for _, a := range tr.away {
			sorry(t, a)
		}
	}
}

// sorry checks an answer that asks to come back later.
func sorry(t *testing.T, a answer) {
	t.Helper()
	said, err := decode[refusal](a)
	if err != nil || said.Error != "unavailable" || said.Message == "" || said.RequestID == "" || a.header.Get("Retry-After") == "" {
		t.Errorf("status %d with Retry-After %q: %s", a.status, a.header.Get("Retry-After"), a.body)
	}
}
