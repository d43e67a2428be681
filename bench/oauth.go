package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/bench/internal/yard"
	"claviger/internal/profile"
)

const (
	tokenPath   = "/openid/token"
	licensePath = "/openid/license_key?access_token="
)

// tokens is one run of the OAuth case on one database.
type tokens struct {
	*bench
	store   seed.Store
	people  *clientele
	service *server
	noise   meter.Noise
	length  time.Duration       // of one side of a round: half of the others, because there are many measurements
	chains  map[string][]*chain // by algorithm, inFlight of each

	exchanged, refreshed atomic.Int64 // acknowledged by the service
}

// oauth compares refreshes and code exchanges, by both algorithms, with a handler that only signs,
// and lookups of the license with one that writes the same bytes. Then it measures the duration of
// a refresh under light load, and losses.
func (b *bench) oauth(ctx context.Context, store seed.Store) error {
	algs := []string{profile.ES256, profile.RS256}
	people, err := openClientele(ctx, store, algs...)
	if err != nil {
		return err
	}
	defer people.db.Close() //nolint:errcheck // acknowledged data is on disk
	service, err := startService(ctx, people.url)
	if err != nil {
		return err
	}
	defer service.stop()
	t := &tokens{
		bench: b, store: store, people: people, service: service,
		noise: meter.Listen(b.servers...), length: b.length / 2, chains: map[string][]*chain{},
	}
	for _, alg := range algs {
		chains, err := t.connect(ctx, alg)
		if err != nil {
			return err
		}
		defer hangUp(chains)
		t.chains[alg] = chains
		if err := t.refresh(ctx, alg); err != nil {
			return err
		}
		if err := t.exchange(ctx, alg); err != nil {
			return err
		}
	}
	if err := t.lookUp(ctx, t.chains[profile.ES256]); err != nil {
		return err
	}
	if err := t.pace(ctx, t.chains[profile.RS256]); err != nil {
		return err
	}
	_, highest := meter.Memory(service.pid())
	t.add(figure.Single("OAuth: memory of the server process", store.Name(), t.done(), inMiB(highest), "%.0f", "MiB",
		figure.AtMost(150, "MiB"), t.noise.Share()))
	return t.losses(ctx)
}

// done describes the work so far.
func (t *tokens) done() string {
	return fmt.Sprintf("%s exchanges, %s refreshes", thousands(float64(t.exchanged.Load())),
		thousands(float64(t.refreshed.Load())))
}

// signer starts the handler that signs the same claims as the service in a.
func (t *tokens) signer(ctx context.Context, a yard.Answer, alg string) (*server, error) {
	s, err := signatureOf(a, alg)
	if err != nil {
		return nil, err
	}
	return t.startYardstick(ctx, yard.Signs, s)
}

// refresh refreshes on every connection in a chain: the next request is made from the last answer.
func (t *tokens) refresh(ctx context.Context, alg string) error {
	ours := t.chains[alg]
	run := func(chains []*chain, d time.Duration, counted *atomic.Int64) (float64, error) {
		return load.Rate(ctx, len(chains), d, func(_ context.Context, worker int) error {
			return chains[worker].refresh(counted)
		})
	}
	if _, err := run(ours, t.length, &t.refreshed); err != nil { // warm
		return err
	}
	if t.profile {
		taken := make(chan error)
		go func() {
			taken <- t.profileOf(ctx, t.service, "refresh-"+strings.ToLower(t.store.Name()+"-"+alg), 5)
		}()
		rate, err := run(ours, 6*time.Second, &t.refreshed)
		if err := firstOf(err, <-taken); err != nil {
			return err
		}
		say("  under the profile: %s", perSecond.Show(rate))
	}
	a, err := t.sample(ctx, ours[0].next())
	if err != nil {
		return err
	}
	t.refreshed.Add(1)
	ours[0].take(a.Body)
	bare, err := t.signer(ctx, a, alg)
	if err != nil {
		return err
	}
	defer bare.stop()
	theirs, err := shadow(ctx, ours, bare, len(a.Body))
	if err != nil {
		return err
	}
	defer hangUp(theirs)
	goal := figure.Goal{}
	if alg == profile.ES256 && t.store.Server == "" {
		goal = figure.AtLeast(0.3, "")
	}
	var uncounted atomic.Int64
	return t.against("OAuth: refresh, "+alg, t.store, goal,
		side{t.service, nil, func() (float64, error) { return run(ours, t.length, &t.refreshed) }},
		side{bare, nil, func() (float64, error) { return run(theirs, t.length, &uncounted) }})
}

// exchange exchanges prepared codes on every connection.
func (t *tokens) exchange(ctx context.Context, alg string) error {
	n := int(2000 * t.length.Seconds())
	if alg == profile.RS256 { // which is slower
		n /= 2
	}
	requests, err := t.people.exchanges(ctx, alg, 1)
	if err != nil {
		return err
	}
	a, err := t.sample(ctx, requests[0])
	if err != nil {
		return err
	}
	t.exchanged.Add(1)
	bare, err := t.signer(ctx, a, alg)
	if err != nil {
		return err
	}
	defer bare.stop()
	ready := func() error {
		requests, err = t.people.exchanges(ctx, alg, n)
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	run := func(crowd load.Crowd, counted *atomic.Int64) func() (float64, error) {
		return func() (float64, error) {
			return load.Each(ctx, inFlight, len(requests), func(_ context.Context, worker, i int) error {
				status, _, err := crowd[worker].Do(requests[i])
				if err == nil && status != 200 {
					err = fmt.Errorf("an exchange was answered %d", status)
				}
				counted.Add(1)
				return err
			})
		}
	}
	var uncounted atomic.Int64
	sides := []side{{of: t.service, ready: ready}, {of: bare}}
	for i, counted := range []*atomic.Int64{&t.exchanged, &uncounted} {
		crowd, err := load.Gather(ctx, sides[i].of.Addr, inFlight) // a connection that is idle for 5 s is closed
		if err != nil {
			return err
		}
		defer crowd.Close()
		sides[i].run = run(crowd, counted)
		if _, err := sides[i].run(); err != nil { // warm
			return err
		}
	}
	return t.against("OAuth: code exchange, "+alg, t.store, figure.Goal{}, sides[0], sides[1])
}

// lookUp requests the license on every connection by its access token.
func (t *tokens) lookUp(ctx context.Context, chains []*chain) error {
	requests := make([][]byte, len(chains))
	for i, c := range chains {
		requests[i] = []byte("GET " + licensePath + c.access + " HTTP/1.1\r\nHost: bench\r\n\r\n")
	}
	same, err := get(ctx, "http://"+t.service.Addr+licensePath+chains[0].access)
	if err != nil {
		return err
	}
	bare, err := t.startYardstick(ctx, yard.Answers, same)
	if err != nil {
		return err
	}
	defer bare.stop()
	sides := make([]side, 2)
	for i, s := range []*server{t.service, bare} {
		crowd, err := load.Gather(ctx, s.Addr, inFlight)
		if err != nil {
			return err
		}
		defer crowd.Close()
		next := func(worker int) []byte { return requests[worker] }
		if _, err := crowd.Rate(ctx, t.length, 200, next); err != nil { // warm
			return err
		}
		sides[i] = side{s, nil, func() (float64, error) { return crowd.Rate(ctx, t.length, 200, next) }}
	}
	return t.against("OAuth: license_key", t.store, figure.Goal{}, sides[0], sides[1])
}

// pace refreshes fifty times a second, without waiting for the previous answer.
func (t *tokens) pace(ctx context.Context, chains []*chain) error {
	const gap = 20 * time.Millisecond
	took := make([]float64, int(10*t.length/gap))
	noise := meter.Listen(t.servers...)
	start := time.Now()
	_, err := load.Each(ctx, len(chains), len(chains), func(ctx context.Context, _, at int) error {
		for i := at; i < len(took); i += len(chains) {
			due := start.Add(time.Duration(i) * gap)
			select {
			case <-time.After(time.Until(due)):
			case <-ctx.Done():
				return nil
			}
			if err := chains[at].refresh(&t.refreshed); err != nil {
				return err
			}
			took[i] = float64(time.Since(due).Microseconds()) / 1000
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.percentiles("OAuth: refresh at 50/s, RS256", t.store, took, "refreshes", figure.Goal{}, figure.AtMost(10, "ms"),
		noise.Share())
	return nil
}
