package e2e_test

import (
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"claviger/internal/sqldb/sqldbtest"
)

// line is the line between the service and its database, which can be cut.
type line struct {
	net.Listener
	network, address string // of the database

	mu    sync.Mutex
	down  bool
	ice   chan struct{} // nothing goes through before its end; nil: everything does
	conns map[net.Conn]bool
}

// lineTo lays a line to the database at that URL and returns the URL at its
// other end.
func lineTo(t *testing.T, database string) (*line, string) {
	t.Helper()
	cfg, err := pgconn.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	l := &line{conns: map[net.Conn]bool{}}
	l.network, l.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	if l.Listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Close()
		l.cut()
	})
	go l.serve(t.Context())
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	return l, u.String()
}

func (l *line) serve(ctx context.Context) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer near.Close() //nolint:errcheck // Either side may have closed it.
			far, err := new(net.Dialer).DialContext(ctx, l.network, l.address)
			if err != nil {
				return
			}
			if !l.join(near, far) {
				_ = far.Close()
				return
			}
			go l.carry(far, near)
			l.carry(near, far)
		}()
	}
}

// carry takes what comes from one end to the other, unless the line is frozen.
func (l *line) carry(to, from net.Conn) {
	defer to.Close() //nolint:errcheck // Either side may have closed it.
	for load := make([]byte, 32<<10); ; {
		n, err := from.Read(load)
		l.mu.Lock()
		ice := l.ice
		l.mu.Unlock()
		if ice != nil {
			<-ice
		}
		if _, werr := to.Write(load[:n]); err != nil || werr != nil {
			return
		}
	}
}

// join has both ends cut when the line is; false if it is.
func (l *line) join(ends ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range ends {
		l.conns[c] = true
	}
	return !l.down
}

// freeze lets connections stand and nothing through, as a network does that
// drops what it is given.
func (l *line) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ice = make(chan struct{})
}

// cut breaks every connection, in the middle of whatever it carries, and lets
// none through until mend.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	if l.ice != nil {
		close(l.ice)
		l.ice = nil
	}
	for c := range l.conns {
		_ = c.Close()
	}
	clear(l.conns)
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// How often the database goes away, how many answers have to say so each time
// before it comes back, and how often it does so only to go again.
const (
	outages    = 4
	awayBefore = 25
	flickers   = 8
)

// TestDatabaseAway cuts the line to the database under load, several times, now
// and then after nothing went through it for a while. Meanwhile the service says
// so, to everybody who asks; afterwards it goes on by itself, and nothing that it
// acknowledged is lost.
func TestDatabaseAway(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("an SQLite file does not go away")
	}
	t.Parallel()
	database, db := lineTo(t, sqldbtest.URL(t))
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
			database.freeze()
			checkReady(t, c) // Requests would take all the time that they may.
		}
		database.cut()
		checkReady(t, c)
		sorry(t, c.partner().must(t, 503, "GET", "/v2/licenses", nil))
		sorry(t, c.operator().must(t, 503, "GET", "/operator/v1/events", nil))
		sorries.Load().await(t)
		flicker(t, database, &acks, &sorries)
		acks.Store(newFuse(100))
		database.mend()
		t.Logf("outage %d: %d acts acknowledged so far, %d events delivered", round+1, m.acked.Load(), e.count().delivered)
	}
	acks.Load().await(t)
	stop()
	wait()
	m.checkAway(t)
	c.operator().must(t, 200, "GET", "/readyz", nil)
	m.settle(t, c)
	e.awaitAll(t, c)
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

// flicker lets the database come back and go again before much can be done.
func flicker(t *testing.T, database *line, acks, sorries *atomic.Pointer[fuse]) {
	t.Helper()
	for range flickers {
		acks.Store(newFuse(5))
		database.mend()
		acks.Load().await(t)
		sorries.Store(newFuse(1))
		database.cut()
		sorries.Load().await(t)
	}
}

// burning burns the fuse that is lit.
func burning(lit *atomic.Pointer[fuse]) func() {
	return func() {
		if f := lit.Load(); f != nil {
			f.burn()
		}
	}
}

// checkReady asks the service how it is while its database is away.
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

// checkAway looks at the answers that the traders got meanwhile.
func (m *market) checkAway(t *testing.T) {
	t.Helper()
	for _, tr := range m.traders {
		for _, a := range tr.away {
			sorry(t, a)
		}
	}
}

// sorry checks an answer that says to come back later.
func sorry(t *testing.T, a answer) {
	t.Helper()
	said, err := decode[refusal](a)
	if err != nil || said.Error != "unavailable" || said.Message == "" || said.RequestID == "" || a.header.Get("Retry-After") == "" {
		t.Errorf("status %d with Retry-After %q: %s", a.status, a.header.Get("Retry-After"), a.body)
	}
}
