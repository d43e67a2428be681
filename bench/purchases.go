package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/bench/internal/yard"
	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// clients is the number of concurrent buyers.
const clients = 16

// shop is the service's own database, with a partner for each client.
type shop struct {
	url      string
	partners []int64
	sold     atomic.Int64
}

// scene describes the sales: from one partner, whose writes are serialized, or from one per client;
// without a buyer, or for a new one each.
type scene struct {
	name  string
	one   bool
	buyer bool
	http  bool // also over HTTP
	afar  bool // the database is behind a network; PostgreSQL only
	many  bool // as many clients as on a launch day
	goal  figure.Goal
}

var scenes = []scene{
	{name: "16 partners", http: true},
	{name: "16 partners, a new buyer each", buyer: true},
	{name: "1 partner", one: true},
	{name: "1 partner, a new buyer each", one: true, buyer: true, http: true},
	{name: "16 partners", afar: true},
	{name: "1 partner", one: true, afar: true},
	{name: "1 partner, 64 clients", one: true, afar: true, many: true, goal: figure.AtLeast(80, "")},
}

// oneWay is the one-way latency to a database in the same data centre.
const oneWay = 250 * time.Microsecond

// purchases compares the service with a plain program that writes as many rows, with a commit per
// order and a round trip per statement.
func (b *bench) purchases(ctx context.Context, store seed.Store) error {
	const ours, plain = "sale_ours", "sale_yardstick"
	s := &shop{}
	if err := s.open(ctx, store, ours); err != nil {
		return err
	}
	for _, sc := range scenes {
		if sc.afar && store.Server == "" {
			continue
		}
		at, err := store.Empty(ctx, plain)
		if err != nil {
			return err
		}
		if err := b.scene(ctx, store, sc, s, at); err != nil {
			return err
		}
	}
	if err := b.crowded(ctx, store, s); err != nil {
		return err
	}
	if err := b.batches(ctx, store, s); err != nil {
		return err
	}
	if err := s.audit(ctx); err != nil {
		return err
	}
	return errors.Join(store.Drop(ctx, ours), store.Drop(ctx, plain))
}

// scene measures one scene, in this process and over HTTP.
func (b *bench) scene(ctx context.Context, store seed.Store, sc scene, s *shop, plain string) error {
	reach := func(at string) (string, func(), error) { return at, func() {}, nil }
	if sc.afar {
		reach = func(at string) (string, func(), error) {
			at, way, err := afar(ctx, at, oneWay)
			return at, func() { _ = way.Close() }, err
		}
	}
	at, nearer, err := reach(plain)
	if err != nil {
		return err
	}
	defer nearer()
	partners := clients
	if sc.one {
		partners = 1
	}
	seller, err := b.startYardstick(ctx, yard.Sells, yard.Market{DB: at, Clients: sc.clients(), Partners: partners})
	if err != nil {
		return err
	}
	defer seller.stop()
	yardstick := func() (float64, error) { return seller.sell(b.length / 2) }
	at, nearer, err = reach(s.url)
	if err != nil {
		return err
	}
	defer nearer()
	ours, done, err := b.sellHere(ctx, sc, s, at)
	if err != nil {
		return err
	}
	defer done()
	if err := b.sell("purchases: "+sc.title(), store, sc.goal, ours, yardstick); err != nil || !sc.http {
		return err
	}
	ours, end, err := b.sellByHTTP(ctx, store, sc, s)
	if err != nil {
		return err
	}
	defer end()
	return b.sell("purchases: "+sc.title()+" (HTTP)", store, sc.goal, ours, yardstick)
}

// sell makes the yardstick sell for a while and returns the sales per second.
func (s *server) sell(length time.Duration) (float64, error) {
	if err := json.NewEncoder(s.input).Encode(yard.Round{Millis: length.Milliseconds()}); err != nil {
		return 0, fmt.Errorf("ask the yardstick to sell: %w", err)
	}
	var sold yard.Sold
	if err := s.output.Decode(&sold); err != nil {
		return 0, fmt.Errorf("read what the yardstick sold: %w", err)
	}
	return float64(sold.Orders) / sold.Seconds, nil
}

// crowded compares the sales of one partner with those of sixteen.
func (b *bench) crowded(ctx context.Context, store seed.Store, s *shop) error {
	one, done, err := b.sellHere(ctx, scene{one: true}, s, s.url)
	if err != nil {
		return err
	}
	defer done()
	many, end, err := b.sellHere(ctx, scene{}, s, s.url)
	if err != nil {
		return err
	}
	defer end()
	return b.sell("purchases: 1 partner against 16 partners", store, figure.AtLeast(0.9, ""), one, many)
}

func (s *shop) open(ctx context.Context, store seed.Store, name string) error {
	var err error
	if s.url, err = store.Empty(ctx, name); err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, s.url, sqldb.Options{})
	if err != nil {
		return err
	}
	s.partners, err = seed.Partners(ctx, db, clients)
	return errors.Join(err, db.Close())
}

// audit compares the number of acknowledged purchases with the stored ones.
func (s *shop) audit(ctx context.Context) error {
	db, err := sqldb.Open(ctx, s.url, sqldb.Options{})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	var stored int64
	return db.Read(ctx, func(tx *sqldb.Tx) error {
		for _, id := range s.partners {
			n, err := seed.Check(ctx, tx, "license", id)
			if err != nil {
				return err
			}
			if _, err := seed.Check(ctx, tx, "event", id); err != nil {
				return err
			}
			stored += n
		}
		if stored != s.sold.Load() {
			return fmt.Errorf("%d purchases were acknowledged and %d licenses are stored", s.sold.Load(), stored)
		}
		return nil
	})
}

// partner returns the partner that a client buys from.
func (s *shop) partner(sc scene, client int) int64 {
	if sc.one {
		return s.partners[0]
	}
	return s.partners[client%len(s.partners)]
}

// order returns the n-th order of all.
func (s *shop) order(sc scene, client int) (license.Purchase, int64) {
	n := s.sold.Add(1)
	p := license.Purchase{
		PartnerID: s.partner(sc, client), Tier: 1, Quantity: 1, AmountCents: 4900, Currency: "USD",
		ExternalID: fmt.Sprintf("order-%d", n),
	}
	if sc.buyer {
		p.Buyer = &account.Person{Email: fmt.Sprintf("buyer-%d@example.com", n)}
	}
	return p, n
}

// clients returns the number of concurrent buyers.
func (sc scene) clients() int {
	if sc.many {
		return launchClients
	}
	return clients
}

// title describes the scene in words.
func (sc scene) title() string {
	if sc.afar {
		return fmt.Sprintf("%s, a round trip takes %v more", sc.name, 2*oneWay)
	}
	return sc.name
}

// sellHere sells in this process; done ends it.
func (b *bench) sellHere(
	ctx context.Context, sc scene, s *shop, at string,
) (run func() (float64, error), done func(), err error) {
	db, err := sqldb.Open(ctx, at, sqldb.Options{})
	if err != nil {
		return nil, nil, err
	}
	registry := &license.Store{DB: db, Now: app.Now, Gather: &license.Gatherer{}}
	sell := func(ctx context.Context, client int) error {
		order, _ := s.order(sc, client)
		_, err := registry.Purchase(ctx, audit.System("bench"), order)
		return err
	}
	return func() (float64, error) {
		return load.Rate(ctx, sc.clients(), b.length/2, sell)
	}, func() { _ = db.Close() }, nil
}

// sellByHTTP sells through the operator API of a server process; end ends it.
func (b *bench) sellByHTTP(
	ctx context.Context, store seed.Store, sc scene, s *shop,
) (run func() (float64, error), end func(), err error) {
	service, err := startService(ctx, s.url)
	if err != nil {
		return nil, nil, err
	}
	crowd, err := load.Gather(ctx, service.Addr, sc.clients())
	if err != nil {
		service.stop()
		return nil, nil, err
	}
	end = func() {
		crowd.Close()
		service.stop()
	}
	next := func(client int) []byte { return s.request(sc, client) }
	if b.profile {
		name := strings.NewReplacer(" ", "-", ",", "").Replace("purchases-" + strings.ToLower(store.Name()) + "-" +
			sc.name)
		if err := b.profileSales(ctx, name, service, crowd, http.StatusCreated, next); err != nil {
			end()
			return nil, nil, err
		}
	}
	return func() (float64, error) { return crowd.Rate(ctx, b.length/2, 201, next) }, end, nil
}

// request returns the order as the operator sends it.
func (s *shop) request(sc scene, client int) []byte {
	o, n := s.order(sc, client)
	user := ""
	if sc.buyer {
		user = fmt.Sprintf(`,"user":{"email":"buyer-%d@example.com"}`, n)
	}
	return load.Post("/operator/v1/purchases", seed.Token, fmt.Sprintf(
		`{"partner_id":%d,"tier":1,"quantity":1,"amount_cents":4900,"currency":"USD","external_id":"%s"%s}`,
		o.PartnerID, o.ExternalID, user))
}

func (b *bench) sell(name string, store seed.Store, goal figure.Goal, ours, yardstick func() (float64, error)) error {
	if _, err := figure.Turns(1, ours, yardstick); err != nil { // warm
		return err
	}
	noise := meter.Listen(b.servers...)
	rounds, err := figure.Turns(b.rounds, ours, yardstick)
	if err != nil {
		return err
	}
	b.add(figure.Compare(name, store.Name(), rounds, perSecond, goal, noise.Share()))
	return nil
}

// profileSales sells for a while and profiles the server meanwhile.
func (b *bench) profileSales(
	ctx context.Context, name string, service *server, crowd load.Crowd, want int, next func(int) []byte,
) error {
	taken := make(chan error)
	go func() { taken <- b.profileOf(ctx, service, name, 5) }()
	_, err := crowd.Rate(ctx, 6*time.Second, want, next)
	return firstOf(err, <-taken)
}
