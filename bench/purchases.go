package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// clients is how many buy at once.
const clients = 16

// shop is one side of the comparison: a database of its own, so that both grow
// alike.
type shop struct {
	name     string
	options  sqldb.Options
	flags    []string // the same, for a server process
	url      string
	partners []int64
	sold     atomic.Int64
}

// scene is who buys what: from one partner, whose writers take turns, or each
// client from another; without a buyer, or each for a new one.
type scene struct {
	name  string
	one   bool
	buyer bool
	http  bool // also through the operator's door
	afar  bool // the disk takes its time, or the server is behind a network
}

var scenes = []scene{
	{name: "16 partners", http: true},
	{name: "16 partners, a new buyer each", buyer: true},
	{name: "1 partner", one: true},
	{name: "1 partner, a new buyer each", one: true, buyer: true, http: true},
	{name: "16 partners", afar: true},
	{name: "1 partner", one: true, afar: true},
}

// What a commit or a round trip costs more afar: a common SSD takes that long to
// sync, and a database in the same data centre to answer.
const (
	diskTakes = 500 * time.Microsecond
	wayTakes  = 250 * time.Microsecond // in one direction
)

// purchases holds the grouping writer against single commits (SQLite), and acts
// sent in few round trips against single statements (PostgreSQL).
func (b *bench) purchases(ctx context.Context, store seed.Store) error {
	ours, yardstick := &shop{name: "sale_ours"}, &shop{name: "sale_yardstick"}
	goal := figure.AtLeast(3, "")
	yardstick.options.SingleCommits, yardstick.flags = true, []string{"-single-commits"}
	if store.Server != "" {
		goal = figure.AtLeast(2, "")
		yardstick.options, yardstick.flags = sqldb.Options{RoundTrips: true}, []string{"-round-trips"}
	}
	for _, s := range []*shop{ours, yardstick} {
		if err := s.open(ctx, store); err != nil {
			return err
		}
	}
	for _, sc := range scenes {
		if err := b.sellInRooms(ctx, store, sc, goal, ours, yardstick); err != nil {
			return err
		}
		if !sc.http {
			continue
		}
		if err := b.sellByHTTP(ctx, store, sc, goal, ours, yardstick); err != nil {
			return err
		}
	}
	for _, s := range []*shop{ours, yardstick} {
		if err := s.audit(ctx); err != nil {
			return err
		}
		if err := store.Drop(ctx, s.name); err != nil {
			return err
		}
	}
	return nil
}

func (s *shop) open(ctx context.Context, store seed.Store) error {
	var err error
	if s.url, err = store.Empty(ctx, s.name); err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, s.url, sqldb.Options{})
	if err != nil {
		return err
	}
	s.partners, err = seed.Partners(ctx, db, clients)
	return errors.Join(err, db.Close())
}

// audit holds the number of acknowledged purchases against what is stored.
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

// partner is the one that a client buys from.
func (s *shop) partner(sc scene, client int) int64 {
	if sc.one {
		return s.partners[0]
	}
	return s.partners[client]
}

// order is the n-th order of all.
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

// reach is how a scene opens a database; nearer ends what makes it far away.
func (sc scene) reach(ctx context.Context, store seed.Store, s *shop) (at string, o sqldb.Options, nearer func(), err error) {
	at, o, nearer = s.url, s.options, func() {}
	switch {
	case !sc.afar:
	case store.Server == "":
		o.SlowCommits = diskTakes
	default:
		var way io.Closer
		at, way, err = afar(ctx, s.url, wayTakes)
		nearer = func() { _ = way.Close() }
	}
	return at, o, nearer, err
}

// title is the scene in words.
func (sc scene) title(store seed.Store) string {
	switch {
	case !sc.afar:
		return sc.name
	case store.Server == "":
		return fmt.Sprintf("%s, a sync takes %v more", sc.name, diskTakes)
	}
	return fmt.Sprintf("%s, a round trip takes %v more", sc.name, 2*wayTakes)
}

// sellInRooms sells in this process.
func (b *bench) sellInRooms(ctx context.Context, store seed.Store, sc scene, goal figure.Goal, shops ...*shop) error {
	var sides []func() (float64, error)
	for _, s := range shops {
		at, options, nearer, err := sc.reach(ctx, store, s)
		if err != nil {
			return err
		}
		defer nearer()
		db, err := sqldb.Open(ctx, at, options)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // what was acknowledged is on disk
		registry := &license.Registry{DB: db, Now: app.Now}
		sell := func(ctx context.Context, client int) error {
			order, _ := s.order(sc, client)
			_, err := registry.Purchase(ctx, audit.System("bench"), order, func(license.Sale) []byte { return nil })
			return err
		}
		sides = append(sides, func() (float64, error) { return load.Rate(ctx, clients, b.length/2, sell) })
	}
	return b.sell("purchases: "+sc.title(store)+" (room)", store, goal, sides[0], sides[1])
}

// sellByHTTP sells through the operator's door of a server process.
func (b *bench) sellByHTTP(ctx context.Context, store seed.Store, sc scene, goal figure.Goal, shops ...*shop) error {
	var sides []func() (float64, error)
	for i, s := range shops {
		house, err := startHouse(ctx, s.url, s.flags...)
		if err != nil {
			return err
		}
		defer house.stop()
		crowd, err := load.Gather(ctx, house.Addr, clients)
		if err != nil {
			return err
		}
		defer crowd.Close()
		next := func(client int) []byte { return s.request(sc, client) }
		if b.profile && i == 0 {
			name := strings.NewReplacer(" ", "-", ",", "").Replace("purchases-" + strings.ToLower(store.Name()) + "-" + sc.name)
			if err := b.profileSales(ctx, name, house, crowd, next); err != nil {
				return err
			}
		}
		sides = append(sides, func() (float64, error) { return crowd.Rate(ctx, b.length/2, 201, next) })
	}
	return b.sell("purchases: "+sc.name+" (HTTP)", store, goal, sides[0], sides[1])
}

// request is the order as the operator sends it.
func (s *shop) request(sc scene, client int) []byte {
	o, n := s.order(sc, client)
	user := ""
	if sc.buyer {
		user = fmt.Sprintf(`,"user":{"email":"buyer-%d@example.com"}`, n)
	}
	return load.Post("/operator/v1/purchases", seed.Token, fmt.Sprintf(
		`{"partner_id":%d,"tier":1,"quantity":1,"amount_cents":4900,"currency":"USD","external_id":"%s"%s}`, o.PartnerID, o.ExternalID, user))
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
func (b *bench) profileSales(ctx context.Context, name string, house *server, crowd load.Crowd, next func(int) []byte) error {
	taken := make(chan error)
	go func() { taken <- b.profileOf(ctx, house, name, 5) }()
	_, err := crowd.Rate(ctx, 6*time.Second, 201, next)
	return firstOf(err, <-taken)
}
