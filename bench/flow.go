package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
)

// flow is a server process that sells and delivers as fast as it can: clients buy over HTTP, and
// the benchmark's own endpoints accept the webhooks.
type flow struct {
	*post
	shop
	service *server
	crowd   load.Crowd
	scene   scene
	turns   []turn // by client; nil: orders are sent once
	arrived atomic.Int64
}

// openFlow starts a flow on a new database of that name, with this many clients. prepare, if not
// nil, changes the database first.
func openFlow(
	ctx context.Context, store seed.Store, name string, partners, buyers int, sc scene, prepare func(*post) error,
) (_ *flow, err error) {
	f := &flow{scene: sc}
	f.scene.one = partners == 1
	if f.post, err = openPost(ctx, store, name, partners); err != nil {
		return nil, err
	}
	f.shop.partners = f.post.partners
	f.post.arrived = func(int, []byte) { f.arrived.Add(1) }
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if prepare != nil {
		if err := prepare(f.post); err != nil {
			return nil, err
		}
	}
	if err := f.publish(ctx); err != nil {
		return nil, err
	}
	if f.service, err = startService(ctx, f.post.url); err != nil {
		return nil, err
	}
	f.crowd, err = load.Gather(ctx, f.service.Addr, buyers)
	return f, err
}

func (f *flow) close() error {
	f.crowd.Close()
	if f.service != nil {
		f.service.stop()
	}
	return f.post.close()
}

// next returns the next order of a client.
func (f *flow) next(client int) []byte {
	if f.turns != nil {
		return f.nextOrTwice(client)
	}
	return f.request(f.scene, client)
}

// run sells for a while and waits until each sale has arrived at its partner. It returns their
// number and the duration.
func (f *flow) run(ctx context.Context, d time.Duration) (sold int64, took time.Duration, err error) {
	before, begun := f.sold.Load(), time.Now()
	f.arrived.Store(0)
	_, err = f.crowd.Rate(ctx, d, 201, f.next)
	sold = f.sold.Load() - before
	for err == nil && f.arrived.Load() < sold {
		time.Sleep(time.Millisecond)
		err = ctx.Err()
	}
	return sold, time.Since(begun), err
}

// spent returns the CPU time of the server so far, including the database.
func (b *bench) spent(store seed.Store, service *server) time.Duration {
	return meter.CPU(service.pid()) + meter.Tree(b.serversOf(store)...)
}
