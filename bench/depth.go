package main

import (
	"context"
	"fmt"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// view is a list whose deep page is compared with its first.
type view struct {
	name   string
	target string // with a query, without page and limit; "": no page has a number there
	limit  int64
	deep   int64 // page
	goal   figure.Goal
	read   func(context.Context, paging.Page) (int, error) // from the domain package; returns the number of rows
}

// views returns the lists of a market, each with a page of the given depth. A list of 600,000 has
// no page 10,000 of 100: there it uses the last one, and page 10,000 of 50.
func views(db *sqldb.DB, m seed.Market, deep int64) []view {
	licenses := func(s event.Status) func(context.Context, paging.Page) (int, error) {
		return func(ctx context.Context, p paging.Page) (int, error) {
			list, err := (&license.Store{DB: db}).List(ctx, m.Partners[0], license.Filter{Status: s}, p)
			return len(list.Licenses), err
		}
	}
	events := func(s event.Status) func(context.Context, paging.Page) (int, error) {
		return func(ctx context.Context, p paging.Page) (int, error) {
			list, err := (&event.Log{DB: db}).List(ctx, m.Partners[0], event.Filter{Status: s}, p)
			return len(list.Events), err
		}
	}
	// A page of changes begins at a cursor: here, at the license before it.
	changes := func(ctx context.Context, p paging.Page) (int, error) {
		last := p.Offset()
		f := license.Filter{UpdatedSince: time.Unix(1, 0)}
		p.Number, p.Order = 1, paging.OldestFirst
		var err error
		if last > 0 {
			f.After.Ord = last
			f.After.UpdatedAt, err = sqldb.One(ctx, db, sqldb.Value[time.Time], `SELECT updated_at FROM licenses
				WHERE partner_id = $1 AND ord = $2`, m.Partners[0], last)
		}
		if err != nil {
			return 0, err
		}
		list, err := (&license.Store{DB: db}).List(ctx, m.Partners[0], f, p)
		return len(list.Licenses), err
	}
	flat, filtered := figure.AtMost(1.2, ""), figure.AtMost(2, "")
	return []view{
		{"licenses", "/v2/licenses?", 100, deep, flat, licenses(0)},
		{"licenses, updated_since", "", 100, deep, flat, changes},
		{
			"licenses, status=active", "/v2/licenses?status=active&", 100, m.Active / 100, filtered,
			licenses(event.Active),
		},
		{
			"licenses, status=active", "/v2/licenses?status=active&", 50, min(deep, m.Active/50), filtered,
			licenses(event.Active),
		},
		{"events", "/v2/licenses/events?", 100, deep, flat, events(0)},
		{"events", "/v2/licenses/events?", 100, m.Events / 100, flat, events(0)},
		{"events, status=active", "/v2/licenses/events?status=active&", 100, deep, figure.Goal{}, events(event.Active)},
	}
}

// depths compares a deep page of each list with its first one.
func (b *bench) depths(ctx context.Context, store seed.Store) error {
	market, err := store.Market(ctx, b.licenses, say)
	if err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, market.URL, sqldb.Options{})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	service, err := startService(ctx, market.URL)
	if err != nil {
		return err
	}
	defer service.stop()
	client, err := load.Dial(ctx, service.Addr)
	if err != nil {
		return err
	}
	defer client.Close()

	for _, v := range views(db, market, b.licenses/100) {
		err := b.depth(v.title("package"), store, v, func(p paging.Page) error {
			n, err := v.read(ctx, p)
			if err == nil && int64(n) != p.Limit {
				err = fmt.Errorf("page %d has %d items", p.Number, n)
			}
			return err
		})
		if err != nil {
			return err
		}
		if v.target == "" {
			continue
		}
		err = b.depth(v.title("HTTP"), store, v, func(p paging.Page) error {
			status, size, err := client.Do(load.Get(fmt.Sprintf("%slimit=%d&page=%d", v.target, p.Limit, p.Number),
				seed.APIKey(1)))
			if err == nil && (status != 200 || size < 100) {
				err = fmt.Errorf("page %d: %d, %d bytes", p.Number, status, size)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v view) title(level string) string {
	return fmt.Sprintf("%s: page %s of %d against page 1 (%s)", v.name, thousands(float64(v.deep)), v.limit, level)
}

// depth reads the deep page and the first one in turns, a few times each.
func (b *bench) depth(name string, store seed.Store, v view, read func(paging.Page) error) error {
	const times = 10
	timed := func(p paging.Page) func() (float64, error) {
		return func() (float64, error) {
			start := time.Now()
			for range times {
				if err := read(p); err != nil {
					return 0, err
				}
			}
			return float64(time.Since(start).Microseconds()) / times, nil
		}
	}
	deep := timed(paging.Page{Number: v.deep, Limit: v.limit})
	first := timed(paging.Page{Number: 1, Limit: v.limit})
	if _, err := figure.Turns(5, deep, first); err != nil { // warm
		return err
	}
	noise := meter.Listen(b.servers...)
	rounds, err := figure.Turns(15*b.rounds, deep, first)
	if err != nil {
		return err
	}
	b.add(figure.Compare(name, store.Name(), rounds, micros, v.goal, noise.Share()))
	return nil
}
