package dispatch_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claviger/internal/audit"
	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/dispatch"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

func TestMain(m *testing.M) {
	end, err := makeTrusted()
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		end()
		os.Exit(code)
	}))
}

var (
	tester = audit.System("test")
	start  = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
)

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// clock is a time set by the test.
type clock struct{ since atomic.Int64 }

func (c *clock) now() time.Time       { return start.Add(time.Duration(c.since.Load())) }
func (c *clock) step(d time.Duration) { c.since.Add(int64(d)) }

// outbox is an outbox with the dispatcher that it notifies; nil: none.
type outbox struct {
	*webhook.Outbox
	Dispatcher *dispatch.Dispatcher
}

// silent returns an outbox that notifies no dispatcher.
func silent(db *sqldb.DB, now func() time.Time) *outbox {
	return &outbox{Outbox: &webhook.Outbox{DB: db, Now: now}}
}

// harness is a database with partners, endpoints run by the test, and dispatchers.
type harness struct {
	testing.TB
	clock *clock
	url   string
	db    *sqldb.DB
	out   *outbox // without a dispatcher

	shared bool // several nodes run

	mu        sync.Mutex
	endpoints map[int64]webhook.Endpoint
	events    int64
	licenses  map[int64]int64 // partner by license
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	return harnessAt(t, sqldbtest.URL(t))
}

// harnessAt returns a harness on the database at that URL.
func harnessAt(t testing.TB, url string) *harness {
	t.Helper()
	r := &harness{
		TB: t, url: url, db: sqldbtest.OpenWith(t, url, sqldb.Options{}), clock: &clock{},
		endpoints: map[int64]webhook.Endpoint{}, licenses: map[int64]int64{},
	}
	r.out = silent(r.db, now)
	return r
}

// steppedHarness returns a harness that uses its own clock.
func steppedHarness(t testing.TB) *harness {
	t.Helper()
	r := newHarness(t)
	r.out.Now = r.clock.now
	return r
}

// partner creates a partner with the endpoint h; nil: without one.
func (r *harness) partner(id int64, h http.HandlerFunc) {
	r.Helper()
	url := ""
	if h != nil {
		url = r.serve(h)
	}
	r.partnerAt(id, url)
}

// partnerAt creates a partner with a URL.
func (r *harness) partnerAt(id int64, url string) {
	r.Helper()
	r.aim(id, func(e *webhook.Endpoint) { e.URL = url })
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at)
			VALUES ($1, '', '', $2, $3, $3, 0, 0)`, id, fmt.Sprint(id), false)
	})
}

// serve runs a server until the test ends.
func (r *harness) serve(h http.HandlerFunc) string {
	server := httptest.NewServer(h)
	r.Cleanup(server.Close)
	return server.URL
}

// point makes h the partner's endpoint.
func (r *harness) point(id int64, h http.HandlerFunc) {
	r.Helper()
	url := ""
	if h != nil {
		url = r.serve(h)
	}
	r.aim(id, func(e *webhook.Endpoint) { e.URL = url })
}

// aim changes the settings of the partner's endpoint.
func (r *harness) aim(id int64, change func(*webhook.Endpoint)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.endpoints[id]
	if !ok {
		e = webhook.Endpoint{Brand: "Licensing", Secrets: courier.NewSecrets(secret.MakeWebhook())}
	}
	change(&e)
	r.endpoints[id] = e
}

func (r *harness) write(fn func(*sqldb.Tx)) {
	r.Helper()
	if err := r.db.Write(r.Context(), func(tx *sqldb.Tx) error { fn(tx); return nil }); err != nil {
		r.Fatal(err)
	}
}

// license creates licenses of the partner.
func (r *harness) license(partnerID int64, ids ...int64) {
	r.Helper()
	r.write(func(tx *sqldb.Tx) {
		for _, id := range ids {
			r.licenses[id] = partnerID
			insertLicense(tx, id, partnerID)
		}
	})
}

func insertLicense(tx *sqldb.Tx, id, partnerID int64) {
	tx.Queue(`INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed, released, held,
		erased, epoch, event_ms, created_at, updated_at) VALUES ($1, $2, $1, $3, $3, 1, 1, 0, $4, $4, 0, $4, 0, 0, 0, 0)`,
		id, partnerID, fmt.Sprint(id), false)
}

// event writes the next event of a license with its delivery and returns its id.
func (r *harness) event(out *outbox, license int64) int64 {
	r.Helper()
	r.mu.Lock()
	r.events++
	id := r.events
	r.mu.Unlock()
	r.write(func(tx *sqldb.Tx) { insertEvent(tx, out.Outbox, notice(id, r.licenses[license], license, out.Now())) })
	return id
}

func insertEvent(tx *sqldb.Tx, out *webhook.Outbox, n webhook.Notice) {
	tx.Queue(`INSERT INTO events (id, partner_id, ord, license_id, license_key, kind, tier, previous_tier, reason, event_ms, status, created_at)
		VALUES ($1, $2, $1, $3, '', 1, 1, 0, '', 0, 1, $4)`, n.EventID, n.PartnerID, n.LicenseID, n.CreatedAt)
	out.Enqueue(tx, n)
}

func notice(id, partnerID, license int64, at time.Time) webhook.Notice {
	return webhook.Notice{
		EventID: id, PartnerID: partnerID, LicenseID: license, LicenseKey: fmt.Sprintf("00000000-0000-4000-8000-%012d", license),
		Kind: 1, Event: "purchase", Status: "inactive", Tier: 1, Reason: "purchased", Sentence: "The license was purchased.", At: at, CreatedAt: at,
	}
}

// settings configures a dispatcher for a test: quick, and without randomness.
type settings struct {
	schedule   webhook.Schedule
	parkAfter  time.Duration
	probeEvery time.Duration
	inFlight   int
	now        func() time.Time
	log        io.Writer
	url        string // of the database, if not the harness's
	metrics    *dispatch.Metrics
	times      cluster.Times
}

// node creates a dispatcher with its own connection to the database. It does not run it.
func (r *harness) node(s settings) *outbox {
	r.Helper()
	db := r.db // a process writes an SQLite file through one writer
	if sqldbtest.Postgres() {
		db = sqldbtest.OpenWith(r.TB, orElse(s.url, r.url), sqldb.Options{})
	}
	if s.schedule == nil {
		s.schedule = webhook.Schedule{time.Millisecond, time.Millisecond, time.Millisecond}
	}
	if s.now == nil {
		s.now = now
	}
	if s.log == nil {
		s.log = io.Discard
	}
	client := courier.New(courier.Options{AllowPrivate: true})
	r.Cleanup(client.Close)
	log := slog.New(slog.NewTextHandler(s.log, nil))
	d := (&dispatch.Dispatcher{
		Store: webhook.Store{
			DB: db, Now: s.now, Node: &cluster.Node{DB: db, Log: log, Times: s.times},
			Policy: webhook.Policy{
				Schedule: s.schedule, ParkAfter: orElse(s.parkAfter, time.Hour), ProbeEvery: orElse(s.probeEvery, 5*time.Minute),
				Supersede: webhook.Supersede{After: 10 * time.Minute, Attempts: 4}, InFlight: s.inFlight,
			},
			Endpoint: func(_ context.Context, id int64) (webhook.Endpoint, error) {
				r.mu.Lock()
				defer r.mu.Unlock()
				return r.endpoints[id], nil
			},
		},
		Log: log, Client: client, Metrics: s.metrics, Random: func() float64 { return 0.5 },
	}).Prepare()
	return &outbox{&webhook.Outbox{DB: db, Now: s.now, Tell: d.Tell}, d}
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// stepped creates a dispatcher that uses the harness's clock.
func (r *harness) stepped(s settings) *outbox {
	r.Helper()
	if s.now == nil {
		s.now = r.clock.now
	}
	return r.node(s)
}

// step runs dispatchers, one after another, each until it has nothing to do at this time.
func (r *harness) step(outs ...*outbox) {
	r.Helper()
	for _, out := range outs {
		stop := r.run(out)
		r.settle(out)
		stop()
	}
}

func (r *harness) poll(out *outbox) {
	r.Helper()
	if err := out.Dispatcher.Poll(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// reload tells the owner of a partner's lane that its endpoint changed.
func (r *harness) reload(out *outbox, partnerID int64) {
	r.Helper()
	r.write(func(tx *sqldb.Tx) { out.Touch(tx, partnerID) })
}

// finish answers requests and waits until the answers are recorded.
func (r *harness) finish(status int, callers ...*caller) {
	r.Helper()
	before := r.attempts()
	answer(status, callers...)
	r.until("recorded", func() bool { return r.attempts() == before+int64(len(callers)) })
}

func answer(status int, callers ...*caller) {
	for _, c := range callers {
		c.answer <- status
	}
}

func (r *harness) attempts() int64 { return r.count(`SELECT count(*) FROM webhook_responses`) }

// settle waits until a running dispatcher has nothing to do at this time.
func (r *harness) settle(out *outbox) {
	r.Helper()
	r.until("nothing to do", func() bool {
		idle, err := out.Dispatcher.Idle(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		return idle
	})
}

// putOff sets the due time of a delivery.
func putOff(id int64, at time.Time) func(*sqldb.Tx) {
	return func(tx *sqldb.Tx) { tx.Queue(`UPDATE outbox SET due_at = $2 WHERE event_id = $1`, id, at) }
}

// quick is the timing of nodes that share a database: they act ten times as often as real ones, but
// keep the real lease times, so that no pause of a busy machine loses a claim.
var quick = cluster.Times{
	Beat: cluster.DefaultTimes.Beat / 10, Hold: cluster.DefaultTimes.Hold, Life: cluster.DefaultTimes.Life,
	Steady: cluster.DefaultTimes.Steady / 10, Drain: cluster.DefaultTimes.Drain / 10, HandOver: cluster.DefaultTimes.HandOver / 10,
}

// hasty is a timing that gives running requests no time at the end.
var hasty = func() cluster.Times {
	t := cluster.DefaultTimes
	t.Drain = time.Millisecond
	return t
}()

// run runs a dispatcher until stop is called. It owns every shard without another owner.
func (r *harness) run(out *outbox) (stop func()) {
	r.Helper()
	return r.runs(out, out.Dispatcher.Run)
}

// runNode runs the node of a dispatcher, and only the lanes of the dispatcher.
func (r *harness) runNode(out *outbox) (stop func()) {
	r.Helper()
	return r.runs(out, out.Dispatcher.Store.Node.Run)
}

func (r *harness) runs(out *outbox, run func(context.Context) error) (stop func()) {
	r.Helper()
	ctx, leave := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		leave()
		if err := <-done; err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(stop)
	r.until("it owns shards", func() bool {
		owned := out.Dispatcher.Owned() // on SQLite the first node owns all
		return owned == cluster.Shards || r.shared && (owned > 0 || !sqldbtest.Postgres())
	})
	return stop
}

// running creates and runs a dispatcher.
func (r *harness) running(s settings) (out *outbox, stop func()) {
	r.Helper()
	out = r.node(s)
	return out, r.run(out)
}

// until waits for a condition.
func (r *harness) until(what string, cond func() bool) {
	r.Helper()
	for deadline := time.Now().Add(60 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("never: %s", what)
		}
	}
}
