package main

import (
	"context"
	"fmt"
	"strings"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
)

// The launch day of one partner, and the size of a batch.
const (
	launchClients = 64
	batchOrders   = 1000
)

// launch is the launch day of one partner: 64 clients buy one license each for a new buyer, and
// half of the orders are sent twice.
func (b *bench) launch(ctx context.Context, store seed.Store) error {
	f, err := openFlow(ctx, store, "launch", 1, launchClients, scene{buyer: true}, nil)
	if err != nil {
		return err
	}
	defer f.close() //nolint:errcheck // the results were read
	f.turns = make([]turn, launchClients)
	return b.wholePath(ctx, store, f, fmt.Sprintf("launch day, %d clients of 1 partner, half of the orders twice",
		launchClients))
}

// turn is the position of a client on a launch day.
type turn struct {
	n     int
	order []byte
}

// nextOrTwice returns the next order of a client, which sends the first of two twice.
func (f *flow) nextOrTwice(client int) []byte {
	t := &f.turns[client]
	if t.n++; t.n%3 != 2 {
		t.order = f.request(f.scene, client)
	}
	return t.order
}

// batches sells by batches of 1,000 orders.
func (b *bench) batches(ctx context.Context, store seed.Store, s *shop) error {
	service, err := startService(ctx, s.url)
	if err != nil {
		return err
	}
	defer service.stop()
	crowd, err := load.Gather(ctx, service.Addr, 1)
	if err != nil {
		return err
	}
	defer crowd.Close()
	next := func(client int) []byte {
		orders := make([]string, batchOrders)
		for i := range orders {
			o, _ := s.order(scene{one: true}, client)
			orders[i] = fmt.Sprintf(`{"partner_id":%d,"tier":1,"amount_cents":4900,"currency":"USD",`+
				`"external_id":"%s"}`,
				o.PartnerID, o.ExternalID)
		}
		return load.Post("/operator/v1/purchases/batch", seed.Token, "["+strings.Join(orders, ",")+"]")
	}
	if _, err := crowd.Rate(ctx, b.length, 200, next); err != nil { // warm
		return err
	}
	noise := meter.Listen(b.servers...)
	sold, used := s.sold.Load(), b.spent(store, service)
	var rates []float64
	for range min(b.rounds, 3) {
		rate, err := crowd.Rate(ctx, b.length, 200, next)
		if err != nil {
			return err
		}
		rates = append(rates, rate*batchOrders)
	}
	each := float64((b.spent(store, service) - used).Microseconds()) / float64(max(s.sold.Load()-sold, 1))
	b.add(figure.Single(fmt.Sprintf("purchases: batches of %d by HTTP", batchOrders), store.Name(), "1 client",
		figure.Median(rates), "%.0f", "licenses/s", figure.AtLeast(10_000, "licenses/s"), noise.Share()))
	b.add(figure.Single(fmt.Sprintf("purchases: batches of %d by HTTP: CPU per license, the database's included",
		batchOrders), store.Name(), "1 client", each, "%.0f", "µs", figure.Goal{}, noise.Share()))
	return nil
}
