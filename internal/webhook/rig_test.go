package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"claviger/internal/courier"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// clock is a time that the test sets.
type clock struct{ since atomic.Int64 }

func (c *clock) now() time.Time       { return start.Add(time.Duration(c.since.Load())) }
func (c *clock) step(d time.Duration) { c.since.Add(int64(d)) }

// rig is a database with partners whose endpoints the test plays, and
// dispatchers on it.
type rig struct {
	testing.TB
	clock *clock
	url   string
	db    *sqldb.DB
	out   *webhook.Outbox // without a dispatcher

	mu        sync.Mutex
	endpoints map[int64]webhook.Endpoint
	events    int64
	licenses  map[int64]int64 // their partners
}

func newRig(t testing.TB) *rig {
	t.Helper()
	url := sqldbtest.URL(t)
	r := &rig{
		TB: t, url: url, db: sqldbtest.OpenWith(t, url, sqldb.Options{}), clock: &clock{},
		endpoints: map[int64]webhook.Endpoint{}, licenses: map[int64]int64{},
	}
	r.out = &webhook.Outbox{DB: r.db, Now: now}
	return r
}

// steppedRig is a rig that goes by its clock.
func steppedRig(t testing.TB) *rig {
	t.Helper()
	r := newRig(t)
	r.out.Now = r.clock.now
	return r
}

// partner makes a partner whose endpoint h plays; nil: it has none.
func (r *rig) partner(id int64, h http.HandlerFunc) {
	r.Helper()
	r.point(id, h)
	r.write(func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at)
			VALUES ($1, '', '', $2, $3, $3, 0, 0)`, id, fmt.Sprint(id), false)
	})
}

// point makes h play the partner's endpoint.
func (r *rig) point(id int64, h http.HandlerFunc) {
	r.Helper()
	url := ""
	if h != nil {
		server := httptest.NewServer(h)
		r.Cleanup(server.Close)
		url = server.URL
	}
	r.aim(id, func(e *webhook.Endpoint) { e.URL = url })
}

// aim changes what is known of the partner's endpoint.
func (r *rig) aim(id int64, change func(*webhook.Endpoint)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.endpoints[id]
	if !ok {
		e = webhook.Endpoint{Brand: "Licensing", Secrets: courier.NewSecrets(secret.MakeWebhook())}
	}
	change(&e)
	r.endpoints[id] = e
}

func (r *rig) write(fn func(*sqldb.Tx)) {
	r.Helper()
	if err := r.db.Write(r.Context(), func(tx *sqldb.Tx) error { fn(tx); return nil }); err != nil {
		r.Fatal(err)
	}
}

// license makes licenses of the partner.
func (r *rig) license(partnerID int64, ids ...int64) {
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
func (r *rig) event(out *webhook.Outbox, license int64) int64 {
	r.Helper()
	r.mu.Lock()
	r.events++
	id := r.events
	r.mu.Unlock()
	r.write(func(tx *sqldb.Tx) { insertEvent(tx, out, notice(id, r.licenses[license], license, out.Now())) })
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

// settings of a dispatcher in a test: quick, and without chance.
type settings struct {
	schedule   webhook.Schedule
	parkAfter  time.Duration
	probeEvery time.Duration
	now        func() time.Time
	log        io.Writer
	url        string // of the database, if not the rig's own
	metrics    *webhook.Metrics
	alone      bool // as on SQLite in any case
	shared     bool // with other nodes; not even on SQLite alone
}

// node makes a dispatcher on its own connection to the database. It is not run.
func (r *rig) node(s settings) *webhook.Outbox {
	r.Helper()
	db := r.db // one process writes an SQLite file through one writer
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
	d := (&webhook.Dispatcher{
		DB: db, Now: s.now, Log: slog.New(slog.NewTextHandler(s.log, nil)), Client: client, Schedule: s.schedule,
		ParkAfter: orElse(s.parkAfter, time.Hour), ProbeEvery: orElse(s.probeEvery, 5*time.Minute), Metrics: s.metrics,
		Supersede: webhook.Supersede{After: 10 * time.Minute, Attempts: 4},
		Alone:     s.alone || !s.shared && !sqldbtest.Postgres(),
		Random:    func() float64 { return 0.5 },
		Endpoint: func(_ context.Context, id int64) (webhook.Endpoint, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.endpoints[id], nil
		},
	}).Prepare()
	r.Cleanup(d.Cut)
	return &webhook.Outbox{DB: db, Now: s.now, Dispatcher: d}
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// stepped makes a dispatcher that goes by the rig's clock and works when the
// test says so.
func (r *rig) stepped(s settings) *webhook.Outbox {
	r.Helper()
	if s.now == nil {
		s.now = r.clock.now
	}
	return r.node(s)
}

// step does all there is to do at this time.
func (r *rig) step(outs ...*webhook.Outbox) {
	r.Helper()
	for _, out := range outs {
		if err := out.Dispatcher.Step(r.Context()); err != nil {
			r.Fatal(err)
		}
	}
}

// begin makes a dispatcher take what is due, and does not wait for the answers.
func (r *rig) begin(out *webhook.Outbox) {
	r.Helper()
	if err := out.Dispatcher.Begin(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.round(out)
}

func (r *rig) round(out *webhook.Outbox) {
	r.Helper()
	if err := out.Dispatcher.Round(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// putOff sets when a delivery is due.
func putOff(id int64, at time.Time) func(*sqldb.Tx) {
	return func(tx *sqldb.Tx) { tx.Queue(`UPDATE outbox SET due_at = $2 WHERE event_id = $1`, id, at) }
}

// run runs a dispatcher until stop is called.
func (r *rig) run(out *webhook.Outbox) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- out.Dispatcher.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(stop)
	return stop
}

// running makes a dispatcher and runs it.
func (r *rig) running(s settings) (out *webhook.Outbox, stop func()) {
	r.Helper()
	out = r.node(s)
	return out, r.run(out)
}

// until waits for a condition that something else brings about.
func (r *rig) until(what string, cond func() bool) {
	r.Helper()
	for deadline := time.Now().Add(60 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("never: %s", what)
		}
	}
}

// count asks the database for a number.
func (r *rig) count(sql string, args ...any) int64 {
	r.Helper()
	n, err := sqldb.One(context.Background(), r.db, sqldb.Value[int64], sql, args...)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// open is how many deliveries are not settled.
func (r *rig) open() int64 {
	r.Helper()
	return r.count(`SELECT count(*) FROM outbox WHERE state = 1`)
}

// list asks the database for texts.
func (r *rig) list(scan func(*sqldb.Row, *string) error, sql string) []string {
	r.Helper()
	list, err := sqldb.All(context.Background(), r.db, scan, sql)
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// states is where each delivery stands, and after how many attempts since it was
// opened, or in all when it is delivered.
func (r *rig) states() []string {
	r.Helper()
	return r.list(func(row *sqldb.Row, s *string) error {
		var id, state, attempts int
		err := row.Scan(&id, &state, &attempts)
		*s = fmt.Sprintf("%d %s after %d", id, []string{"", "pending", "delivered", "exhausted", "superseded"}[state], attempts)
		return err
	}, `SELECT d.event_id, coalesce(o.state, 2), coalesce(o.attempts, (SELECT count(*) FROM webhook_responses AS r WHERE r.event_id = d.event_id))
		FROM deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id ORDER BY d.event_id`)
}

// waits is when each pending delivery is due, from the rig's time on.
func (r *rig) waits() []string {
	r.Helper()
	return r.list(func(row *sqldb.Row, s *string) error {
		var id int
		var due time.Time
		err := row.Scan(&id, &due)
		*s = fmt.Sprintf("%d in %v", id, max(due.Sub(r.clock.now()), 0))
		return err
	}, `SELECT event_id, due_at FROM outbox WHERE state = 1 ORDER BY event_id`)
}

// record is what came of each attempt, in order.
func (r *rig) record() []string {
	r.Helper()
	return r.list(func(row *sqldb.Row, s *string) error {
		var id, status int
		var success bool
		err := row.Scan(&id, &status, &success)
		*s = fmt.Sprintf("%d: %d %v", id, status, success)
		return err
	}, `SELECT event_id, response_status, success FROM webhook_responses ORDER BY id`)
}

// leased is who holds which delivery.
func (r *rig) leased() map[int64]string {
	r.Helper()
	elements := "json_each(l.licenses) AS elements"
	if sqldbtest.Postgres() {
		elements = "unnest(l.licenses) AS elements(value)"
	}
	type lease struct {
		id   int64
		node string
	}
	list, err := sqldb.All(r.Context(), r.db, func(row *sqldb.Row, l *lease) error { return row.Scan(&l.id, &l.node) },
		`SELECT event_id, node FROM outbox WHERE lease_until <> 0 UNION ALL
		SELECT min(o.event_id), l.node FROM outbox AS o, leases AS l, `+elements+` WHERE o.state = 1 AND o.license_id = elements.value
		GROUP BY o.license_id, l.node`)
	if err != nil {
		r.Fatal(err)
	}
	m := map[int64]string{}
	for _, l := range list {
		m[l.id] = l.node
	}
	return m
}

func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// got is the event id that a request tells of.
func got(t testing.TB, req *http.Request) int64 {
	var b struct {
		EventID int64 `json:"event_id"`
	}
	if err := json.NewDecoder(req.Body).Decode(&b); err != nil {
		t.Error(err)
	}
	return b.EventID
}
