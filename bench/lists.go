package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/bench/internal/yard"
)

// inFlight is the number of connections that request lists concurrently.
const inFlight = 32

// lists compares GET /v2/licenses, 100 of a million, with a program that runs the
// same SELECT through the driver and writes the same bytes.
func (b *bench) lists(ctx context.Context, store seed.Store) error {
	market, err := store.Market(ctx, b.licenses, say)
	if err != nil {
		return err
	}
	service, err := startService(ctx, market.URL)
	if err != nil {
		return err
	}
	defer service.stop()
	const target = "/v2/licenses?limit=100"
	same, err := readAPI(ctx, "http://"+service.Addr, target, seed.APIKey(1))
	if err != nil {
		return err
	}
	if n := strings.Count(string(same.Body), `"license_key"`); n != 100 {
		return fmt.Errorf("the list has %d licenses, not 100", n)
	}
	bare, err := b.startYardstick(ctx, yard.Selects, yard.Selection{
		Answer: same, DB: market.URL, PartnerID: market.Partners[0],
	})
	if err != nil {
		return err
	}
	defer bare.stop()

	first := load.Get(target, seed.APIKey(1))
	if err := b.listsOf(ctx, store, "GET /v2/licenses, page 1", service, bare, func(int) []byte {
		return first
	}); err != nil {
		return err
	}
	pages := make([][]byte, market.Licenses/100)
	for i := range pages {
		pages[i] = load.Get(fmt.Sprintf("%s&page=%d", target, i+1), seed.APIKey(1))
	}
	anywhere := func(int) []byte { return pages[rand.IntN(len(pages))] }
	return b.listsOf(ctx, store, "GET /v2/licenses, a page anywhere", service, bare, anywhere)
}

// cost is the cost of each answer for a server process.
type cost struct {
	of     *server
	micros []float64
}

// rate sends requests like run and records the rate and the server's time per answer.
func (c *cost) rate(run func() (float64, error)) (float64, error) {
	before, began := meter.CPU(c.of.pid()), time.Now()
	rate, err := run()
	answers := rate * time.Since(began).Seconds()
	c.micros = append(c.micros, float64((meter.CPU(c.of.pid())-before).Microseconds())/answers)
	return rate, err
}

func (b *bench) listsOf(
	ctx context.Context, store seed.Store, name string, service, bare *server, next func(int) []byte,
) error {
	ours, err := load.Gather(ctx, service.Addr, inFlight)
	if err != nil {
		return err
	}
	defer ours.Close()
	if _, err := ours.Rate(ctx, b.length/2, 200, next); err != nil { // warm
		return err
	}
	if b.profile {
		taken := make(chan error)
		go func() {
			taken <- b.profileOf(ctx, service, "lists-"+strings.ToLower(store.Name())+"-"+name[len(name)-1:], 5)
		}()
		_, err := ours.Rate(ctx, 6*time.Second, 200, next)
		if err := firstOf(err, <-taken); err != nil {
			return err
		}
	}
	theirs, err := load.Gather(ctx, bare.Addr, inFlight)
	if err != nil {
		return err
	}
	defer theirs.Close()
	return b.against(name, store, figure.AtLeast(0.5, ""),
		side{service, nil, func() (float64, error) { return ours.Rate(ctx, b.length, 200, next) }},
		side{bare, nil, func() (float64, error) { return theirs.Rate(ctx, b.length, 200, next) }})
}

// side is one side of a comparison of servers.
type side struct {
	of    *server
	ready func() error // before each round of the service, not measured; or nil
	run   func() (float64, error)
}

// against compares the answers per second, and the cost of each, of a server and a bare one.
func (b *bench) against(name string, store seed.Store, goal figure.Goal, service, bare side) error {
	noise := meter.Listen(b.servers...)
	cpu, bareCPU := cost{of: service.of}, cost{of: bare.of}
	rounds, err := figure.Turns(b.rounds,
		func() (float64, error) {
			if service.ready != nil {
				if err := service.ready(); err != nil {
					return 0, err
				}
			}
			return cpu.rate(service.run)
		},
		func() (float64, error) { return bareCPU.rate(bare.run) })
	if err != nil {
		return err
	}
	share := noise.Share()
	b.add(figure.Compare(name, store.Name(), rounds, perSecond, goal, share))
	b.add(figure.Compare(name+": CPU of the server process per answer", store.Name(),
		figure.Rounds{Ours: cpu.micros, Yardstick: bareCPU.micros}, micros, figure.Goal{}, share))
	return nil
}

// firstOf returns the first error, if any.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
