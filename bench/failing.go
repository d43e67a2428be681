package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
)

// Sales while endpoints fail: the number of partners, the number of failing ones, and the orders
// per partner and second.
const (
	sellers       = 50
	failers       = 40
	ordersEach    = 20
	clientsEach   = 4
	failingRounds = 10 // lengths of a round
)

// failing measures how much failing endpoints slow sales: first every endpoint accepts, then most
// of them fail. The rate of orders does not depend on the answers.
func (b *bench) failing(ctx context.Context, store seed.Store) error {
	f, err := openFlow(ctx, store, "failing", sellers, sellers*clientsEach, scene{}, nil)
	if err != nil {
		return err
	}
	defer f.close() //nolint:errcheck // the figures were read
	var down atomic.Bool
	f.fails = func(partner int) bool { return down.Load() && partner < failers }
	if _, err := f.steady(ctx, 2*b.length); err != nil { // warm
		return err
	}
	noise := meter.Listen(b.servers...)
	healthy, err := b.steadyRound(ctx, store, f)
	if err != nil {
		return err
	}
	down.Store(true)
	if _, err := f.steady(ctx, failingRounds*b.length); err != nil { // until retries come, too
		return err
	}
	if b.profile {
		taken := make(chan error, 1)
		go func() { taken <- b.profileOf(ctx, f.service, "failing-"+strings.ToLower(store.Name()), 8) }()
		defer func() { <-taken }()
	}
	troubled, err := b.steadyRound(ctx, store, f)
	if err != nil {
		return err
	}
	of := fmt.Sprintf("%d of %d partners fail, %d orders/s", failers, sellers, sellers*ordersEach)
	b.add(figure.Single("failing: orders answered 201 in time, against the same without failures", store.Name(), of,
		troubled.sold/max(healthy.sold, 1), "%.2f", "", figure.AtLeast(0.9, ""), noise.Share()))
	b.add(figure.Single("failing: orders answered 201, without failures", store.Name(), of, healthy.sold, "%.0f",
		"orders/s", figure.Goal{}, noise.Share()))
	b.add(figure.Single("failing: orders answered 201, with failures", store.Name(), of, troubled.sold, "%.0f",
		"orders/s", figure.Goal{}, noise.Share()))
	b.add(figure.Single("failing: failed attempts", store.Name(), of, troubled.failed, "%.0f", "attempts/s",
		figure.Goal{}, noise.Share()))
	b.add(figure.Single("failing: CPU per order, without failures", store.Name(), of,
		1000*healthy.cpu/max(healthy.sold, 1), "%.2f", "ms", figure.Goal{}, noise.Share()))
	b.add(figure.Single("failing: CPU per order, with failures", store.Name(), of,
		1000*troubled.cpu/max(troubled.sold, 1), "%.2f", "ms", figure.Goal{}, noise.Share()))
	return nil
}

// steadyRate is the result of a steady round, per second.
type steadyRate struct {
	sold   float64 // orders answered 201
	failed float64 // attempts that failing endpoints refused
	cpu    float64 // seconds of the server and the database
}

// steadyRound measures a round.
func (b *bench) steadyRound(ctx context.Context, store seed.Store, f *flow) (steadyRate, error) {
	used := b.spent(store, f.service)
	failed := f.failed.Load()
	begun := time.Now()
	sold, err := f.steady(ctx, failingRounds*b.length)
	took := time.Since(begun).Seconds()
	return steadyRate{
		sold:   float64(sold) / took,
		failed: float64(f.failed.Load()-failed) / took,
		cpu:    (b.spent(store, f.service) - used).Seconds() / took,
	}, err
}

// steady makes each partner's clients order at a fixed rate for a time, and returns the number of
// sold orders. A late client skips the orders that it missed.
func (f *flow) steady(ctx context.Context, d time.Duration) (int64, error) {
	const every = clientsEach * time.Second / ordersEach
	var sold atomic.Int64
	begun := time.Now()
	next := make([]time.Time, len(f.crowd))
	for i := range next {
		next[i] = begun.Add(every * time.Duration(i) / time.Duration(len(next)))
	}
	_, err := load.Rate(ctx, len(f.crowd), d, func(_ context.Context, worker int) error {
		time.Sleep(time.Until(next[worker]))
		next[worker] = next[worker].Add(every)
		if next[worker].Before(time.Now()) {
			next[worker] = time.Now()
		}
		status, _, err := f.crowd[worker].Do(f.request(f.scene, worker))
		if status == http.StatusCreated {
			sold.Add(1)
		}
		return err
	})
	return sold.Load(), err
}
