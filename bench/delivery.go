package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/dispatch"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// stored is the number of events that wait when the dispatcher starts, and lane the number of
// requests that the bare client has in flight.
const (
	stored = 20_000
	lane   = 64
)

// post is a database with events for the benchmark's own endpoints.
type post struct {
	url      string
	db       *sqldb.DB
	partners []int64
	arrived  func(partner int, body []byte) // called by an endpoint for each request
	fails    func(partner int) bool         // whether an endpoint answers 500; nil: never
	requests atomic.Int64                   // which arrived
	failed   atomic.Int64                   // which were answered 500
	servers  []*httptest.Server
	urls     map[int64]string
	secrets  courier.Secrets
}

// delivery measures the rate of delivering and recording stored events, compared with a client that
// posts the same bytes and records nothing. It also measures the latency of a new event, and the
// effect of a hanging partner on another.
func (b *bench) delivery(ctx context.Context, store seed.Store) error {
	for _, endpoints := range []int{1, 20} {
		if err := b.drain(ctx, store, endpoints); err != nil {
			return err
		}
	}
	err := errors.Join(b.latency(ctx, store, false), b.latency(ctx, store, true))
	if store.Server != "" { // a server may have several nodes
		err = errors.Join(err, b.latencyElsewhere(ctx, store))
	}
	return err
}

func openPost(ctx context.Context, store seed.Store, name string, endpoints int) (*post, error) {
	url, err := store.Empty(ctx, name)
	if err != nil {
		return nil, err
	}
	p := &post{url: url, urls: map[int64]string{}, secrets: courier.NewSecrets(secret.MakeWebhook())}
	if p.db, err = sqldb.Open(ctx, url, sqldb.Options{}); err != nil {
		return nil, err
	}
	if p.partners, err = seed.Partners(ctx, p.db, endpoints); err != nil {
		return nil, err
	}
	for i, id := range p.partners {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			p.requests.Add(1)
			if p.arrived != nil {
				p.arrived(i, body)
			}
			if p.fails != nil && p.fails(i) {
				p.failed.Add(1)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			_, _ = w.Write([]byte(`{"success":true}`))
		}))
		p.servers = append(p.servers, s)
		p.urls[id] = s.URL
	}
	return p, nil
}

func (p *post) close() error {
	for _, s := range p.servers {
		s.Close()
	}
	return p.db.Close()
}

// buy sells licenses of a partner; with an outbox their events are sent immediately.
func (p *post) buy(ctx context.Context, out *webhook.Outbox, partner int64, quantity int) error {
	r := &license.Store{DB: p.db, Now: app.Now, Events: &event.Log{DB: p.db, Outbox: out}}
	_, err := r.Purchase(ctx, audit.System("bench"), license.Purchase{PartnerID: partner, Tier: 1, Quantity: quantity})
	return err
}

// run starts a dispatcher; stop ends it.
func (p *post) run(
	ctx context.Context, db *sqldb.DB, times cluster.Times,
) (out *webhook.Outbox, node *cluster.Node, stop func() error) {
	client := courier.New(courier.Options{AllowPrivate: true})
	node = &cluster.Node{DB: db, Log: slog.New(slog.DiscardHandler), Times: times}
	d := (&dispatch.Dispatcher{
		Store: webhook.Store{
			DB: db, Now: app.Now, Node: node,
			Policy: webhook.Policy{Schedule: webhook.Schedule{time.Hour}, ParkAfter: time.Hour, ProbeEvery: time.Hour},
			Endpoint: func(_ context.Context, id int64) (webhook.Endpoint, error) {
				return webhook.Endpoint{URL: p.urls[id], Brand: "Licensing", Secrets: p.secrets, Proven: true}, nil
			},
		},
		Log: slog.New(slog.DiscardHandler), Client: client, UserAgent: "bench",
	}).Prepare()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	return &webhook.Outbox{DB: db, Now: app.Now, Tell: d.Tell}, node, func() error {
		cancel()
		err := <-ended
		client.Close()
		return err
	}
}

func (b *bench) drain(ctx context.Context, store seed.Store, endpoints int) error {
	p, err := openPost(ctx, store, "delivery", endpoints)
	if err != nil {
		return err
	}
	defer p.close() //nolint:errcheck // the results were read
	for i := range stored / 100 {
		if err := p.buy(ctx, nil, p.partners[i%endpoints], 100); err != nil {
			return err
		}
	}
	bodies, err := sqldb.All(ctx, p.db, sqldb.Value[string], `SELECT body FROM deliveries`)
	if err != nil {
		return err
	}
	ours := func() (float64, error) { return p.deliver(ctx) }
	bare := func() (float64, error) { return p.bare(ctx, bodies) }
	noise := meter.Listen(b.servers...)
	rounds, err := figure.Turns(min(b.rounds, 5), ours, bare)
	if err != nil {
		return err
	}
	b.add(figure.Compare(fmt.Sprintf("delivery: %s stored events to %d endpoints, recorded", thousands(stored),
		endpoints),
		store.Name(), rounds, perSecond, figure.AtLeast(0.6, ""), noise.Share()))
	return nil
}

// deliver makes all events due again and waits until all are recorded.
func (p *post) deliver(ctx context.Context) (float64, error) {
	err := p.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO outbox (event_id, partner_id, license_id, state, attempts, due_at, created_at, updated_at)
			SELECT event_id, partner_id, license_id, 1, 0, 1, created_at, created_at FROM deliveries WHERE true
			ON CONFLICT (event_id) DO NOTHING`)
		return nil
	})
	if err == nil {
		// Normally an event leaves the outbox once. Here each did in every round, and PostgreSQL
		// would scan all the dead rows.
		err = seed.Vacuum(ctx, p.db, p.url)
	}
	if err != nil {
		return 0, err
	}
	start, before := time.Now(), p.requests.Load()
	_, _, stop := p.run(ctx, p.db, cluster.Times{})
	for waiting := int64(1); waiting > 0; time.Sleep(5 * time.Millisecond) {
		// PostgreSQL scans over deleted rows, so it is queried only at the end.
		if p.requests.Load()-before < stored {
			continue
		}
		if waiting, err = p.waiting(ctx); err != nil {
			return 0, errors.Join(err, stop())
		}
	}
	took := time.Since(start)
	return stored / took.Seconds(), stop()
}

// bare posts the same bytes to the same endpoints and records nothing.
func (p *post) bare(ctx context.Context, bodies []string) (float64, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: lane}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var next atomic.Int64
	var failed error
	var once sync.Once
	var wg sync.WaitGroup
	start := time.Now()
	for range lane {
		wg.Go(func() {
			for n := next.Add(1); n <= stored; n = next.Add(1) {
				url := p.servers[int(n)%len(p.servers)].URL
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(bodies[n-1])))
				if err == nil {
					err = drop(client.Do(req))
				}
				if err != nil {
					once.Do(func() { failed = err })
					return
				}
			}
		})
	}
	wg.Wait()
	return stored / time.Since(start).Seconds(), failed
}

func drop(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// latency measures the time from the call that sells to the webhook about it, at twenty a second.
// With hanging, another partner does not answer and has a thousand events waiting.
func (b *bench) latency(ctx context.Context, store seed.Store, hanging bool) error {
	p, err := openPost(ctx, store, "latency", 2)
	if err != nil {
		return err
	}
	defer p.close() //nolint:errcheck // the results were read
	arrivals, release := make(chan time.Time, 1), make(chan struct{})
	p.arrived = func(partner int, _ []byte) {
		if partner == 0 {
			arrivals <- time.Now()
		} else {
			<-release
		}
	}
	name, goal50, goal99 := "ingest to first delivery at 20/s", figure.AtMost(2, "ms"), figure.AtMost(10, "ms")
	if hanging {
		name, goal50, goal99 = "the same beside a partner that hangs with 1,000 queued", figure.Goal{},
			figure.AtMost(20, "ms")
		for range 10 {
			if err := p.buy(ctx, nil, p.partners[1], 100); err != nil {
				return err
			}
		}
	}
	out, _, stop := p.run(ctx, p.db, cluster.Times{})
	noise := meter.Listen(b.servers...)
	took, err := p.pace(ctx, out, arrivals)
	close(release)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	b.percentiles(name, store, took, "events", goal50, goal99, noise.Share())
	return nil
}

// latencyElsewhere measures the same where another node owns the lane.
func (b *bench) latencyElsewhere(ctx context.Context, store seed.Store) error {
	p, err := openPost(ctx, store, "latency", 1)
	if err != nil {
		return err
	}
	defer p.close() //nolint:errcheck // the results were read
	arrivals := make(chan time.Time, 1)
	p.arrived = func(int, []byte) { arrivals <- time.Now() }
	never := cluster.DefaultTimes
	never.HandOver = time.Hour
	other, err := sqldb.Open(ctx, p.url, sqldb.Options{}) // a node has its own connections
	if err != nil {
		return err
	}
	defer other.Close() //nolint:errcheck // the results were read
	_, owner, stopOwner := p.run(ctx, other, never)
	for !owner.Owns(p.partners[0]) {
		time.Sleep(10 * time.Millisecond)
	}
	seller, _, stopSeller := p.run(ctx, p.db, cluster.Times{})
	noise := meter.Listen(b.servers...)
	took, err := p.pace(ctx, seller, arrivals)
	if err := errors.Join(err, stopSeller(), stopOwner()); err != nil {
		return err
	}
	b.percentiles("the same where another node owns the lane", store, took, "events", figure.AtMost(5, "ms"),
		figure.AtMost(25, "ms"), noise.Share())
	return nil
}

// percentiles adds the rows of times in milliseconds: the median and the 99th percentile.
func (b *bench) percentiles(
	name string, store seed.Store, took []float64, what string, goal50, goal99 figure.Goal, noise float64,
) {
	slices.Sort(took)
	for _, q := range []struct {
		name string
		at   int
		goal figure.Goal
	}{{"p50", len(took) / 2, goal50}, {"p99", len(took) * 99 / 100, goal99}} {
		b.add(figure.Single(name+": "+q.name, store.Name(), fmt.Sprintf("%d %s", len(took), what), took[q.at], "%.2f",
			"ms", q.goal, noise))
	}
}

// pace sells one license every 50 ms and returns the milliseconds until each arrived. The first few
// warm up the lane.
func (p *post) pace(ctx context.Context, out *webhook.Outbox, arrivals <-chan time.Time) ([]float64, error) {
	var took []float64
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := range 220 {
		<-tick.C
		start := time.Now()
		if err := p.buy(ctx, out, p.partners[0], 1); err != nil {
			return nil, err
		}
		at := <-arrivals
		if n >= 20 {
			took = append(took, float64(at.Sub(start).Microseconds())/1000)
		}
	}
	return took, nil
}
