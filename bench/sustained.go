package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// sustained sells through the operator API of a server process, as fast as it answers, until every
// sale has arrived at its partner. It measures the cost of the whole path. Each partner has 16
// clients.
func (b *bench) sustained(ctx context.Context, store seed.Store) error {
	return errors.Join(b.sustain(ctx, store, 1), b.sustain(ctx, store, 20))
}

func (b *bench) sustain(ctx context.Context, store seed.Store, partners int) error {
	f, err := openFlow(ctx, store, "sustained", partners, clients*partners, scene{}, nil)
	if err != nil {
		return err
	}
	defer f.close() //nolint:errcheck // the results were read
	if b.profile {
		if err := b.profileSales(ctx, "sustained-"+strings.ToLower(store.Name()), f.service, f.crowd,
			http.StatusCreated, f.next); err != nil {
			return err
		}
	}
	return b.wholePath(ctx, store, f, fmt.Sprintf("purchase by HTTP → delivered, %d partners", partners))
}

// wholePath measures the rounds and their cost in the server's process.
func (b *bench) wholePath(ctx context.Context, store seed.Store, f *flow, name string) error {
	if _, _, err := f.run(ctx, 2*b.length); err != nil { // warm
		return err
	}
	before, used := f.sold.Load(), b.spent(store, f.service)
	commits, err := f.service.counter(ctx, "claviger_database_commits_total")
	if err != nil {
		return err
	}
	noise := meter.Listen(b.servers...)
	var rates []float64
	for range min(b.rounds, 3) {
		n, took, err := f.run(ctx, 2*b.length)
		if err != nil {
			return err
		}
		rates = append(rates, float64(n)/took.Seconds())
	}
	sold := f.sold.Load() - before
	each := float64((b.spent(store, f.service) - used).Microseconds()) / 1000 / float64(max(sold, 1))
	_, highest := meter.Memory(f.service.pid())
	ended, err := f.service.counter(ctx, "claviger_database_commits_total")
	if err != nil {
		return err
	}
	of, cpu := thousands(float64(sold))+" events", figure.AtMost(0.35, "ms")
	if store.Server != "" {
		cpu = figure.AtMost(0.7, "ms")
	}
	b.add(figure.Single(name+": sustained", store.Name(), of, figure.Median(rates), "%.0f", "events/s", figure.Goal{},
		noise.Share()))
	b.add(figure.Single(name+": CPU per event, the database's included", store.Name(), of, each, "%.2f", "ms", cpu,
		noise.Share()))
	b.add(figure.Single(name+": commits per event", store.Name(), of, (ended-commits)/float64(max(sold, 1)), "%.2f",
		"", figure.AtMost(0.2, ""), noise.Share()))
	b.add(figure.Single(name+": memory of the server process", store.Name(), of, inMiB(highest), "%.0f", "MiB",
		figure.AtMost(150, "MiB"), noise.Share()))
	return nil
}

// serversOf returns the PostgreSQL servers of a store: none for SQLite, which works inside the
// process.
func (b *bench) serversOf(store seed.Store) []int {
	if store.Server == "" {
		return nil
	}
	return b.servers
}

// publish saves the endpoints as the partners' webhook URLs.
func (p *post) publish(ctx context.Context) error {
	client := courier.New(courier.Options{AllowPrivate: true})
	defer client.Close()
	book := &profile.Store{
		DB: p.db, Now: app.Now, Check: profile.Checker{Client: client},
		Partners: &partner.Store{DB: p.db, Now: app.Now},
	}
	var errs []error
	for _, id := range p.partners {
		url := p.urls[id]
		_, _, _, err := book.Amend(ctx, audit.System("bench"), id, partner.Change{}, profile.URLChange{Webhook: &url},
			false)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
