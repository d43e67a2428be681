package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// sustained sells through the operator's door of a server process, as fast as it
// answers, until every sale has arrived at its partner: what the whole way costs,
// against a client that only posts.
func (b *bench) sustained(ctx context.Context, store seed.Store) error {
	p, err := openPost(ctx, store, "sustained", 20)
	if err != nil {
		return err
	}
	defer p.close() //nolint:errcheck // what matters was read
	var arrived atomic.Int64
	p.arrived = func(int, []byte) { arrived.Add(1) }
	if err := p.publish(ctx); err != nil {
		return err
	}
	service, err := startService(ctx, p.url)
	if err != nil {
		return err
	}
	defer service.stop()
	crowd, err := load.Gather(ctx, service.Addr, clients)
	if err != nil {
		return err
	}
	defer crowd.Close()
	s := &shop{partners: p.partners}
	next := func(client int) []byte { return s.request(scenes[0], client) }
	ours := func() (float64, error) {
		before, begun := s.sold.Load(), time.Now()
		arrived.Store(0)
		_, err := crowd.Rate(ctx, 2*b.length, 201, next)
		n := s.sold.Load() - before
		for err == nil && arrived.Load() < n {
			time.Sleep(time.Millisecond)
			err = ctx.Err()
		}
		return float64(n) / time.Since(begun).Seconds(), err
	}
	if b.profile {
		if err := b.profileSales(ctx, "sustained-"+strings.ToLower(store.Name()), service, crowd, next); err != nil {
			return err
		}
	}
	return b.wholeWay(ctx, store, p, s, service, ours)
}

// wholeWay takes the rounds and what the server's process spent on them.
func (b *bench) wholeWay(ctx context.Context, store seed.Store, p *post, s *shop, service *server, ours func() (float64, error)) error {
	if _, err := ours(); err != nil { // warm
		return err
	}
	pid := service.pid()
	before, used := s.sold.Load(), meter.CPU(pid)
	commits, err := service.counter(ctx, "claviger_database_commits_total")
	if err != nil {
		return err
	}
	bodies := slices.Repeat([]string{strings.Repeat("x", 264)}, stored)
	bare := func() (float64, error) { return p.bare(ctx, bodies) }
	noise := meter.Listen(b.servers...)
	rounds, err := figure.Turns(min(b.rounds, 3), ours, bare)
	if err != nil {
		return err
	}
	b.add(figure.Compare("purchase by HTTP → delivered, 20 endpoints, sustained", store.Name(), rounds, perSecond, figure.AtLeast(0.35, ""), noise.Share()))
	sold := s.sold.Load() - before
	spent := float64((meter.CPU(pid) - used).Microseconds()) / 1000 / float64(max(sold, 1))
	_, highest := meter.Memory(pid)
	b.add(figure.Row{
		Case: "the same: CPU of the server process per event", Database: store.Name(), Ours: fmt.Sprintf("%s events", thousands(float64(sold))),
		Yardstick: "–", Value: spent, Shown: fmt.Sprintf("**%.2f ms**", spent), Goal: figure.AtMost(0.25, "ms"), Noise: noise.Share(),
	})
	ended, err := service.counter(ctx, "claviger_database_commits_total")
	if err != nil {
		return err
	}
	each := (ended - commits) / float64(max(sold, 1))
	b.add(figure.Row{
		Case: "the same: commits per event", Database: store.Name(), Ours: fmt.Sprintf("%s events", thousands(float64(sold))),
		Yardstick: "–", Value: each, Shown: fmt.Sprintf("**%.2f**", each), Goal: figure.AtMost(0.2, ""), Noise: noise.Share(),
	})
	b.add(figure.Row{
		Case: "the same: memory of the server process", Database: store.Name(), Ours: fmt.Sprintf("%s events", thousands(float64(sold))),
		Yardstick: "–", Value: float64(highest) / (1 << 20), Shown: "**" + mib(highest) + "**", Goal: figure.AtMost(150, "MiB"), Noise: noise.Share(),
	})
	return nil
}

// publish saves the endpoints as the partners' webhook URLs.
func (p *post) publish(ctx context.Context) error {
	client := courier.New(courier.Options{AllowPrivate: true})
	defer client.Close()
	book := &profile.Book{
		DB: p.db, Now: app.Now, Check: profile.Checker{Client: client}, Partners: &partner.Registry{DB: p.db, Now: app.Now},
	}
	var errs []error
	for _, id := range p.partners {
		url := p.urls[id]
		_, _, _, err := book.Amend(ctx, audit.System("bench"), id, partner.Change{}, profile.URLChange{Webhook: &url}, false)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
