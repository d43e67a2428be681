package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/support"
	"claviger/internal/today"
)

// searchPartners is the number of partners that share the licenses.
const searchPartners = 300

// search measures the console's search by each kind of key.
func (b *bench) search(ctx context.Context, store seed.Store) error {
	const name = "search"
	url, err := store.Empty(ctx, name)
	if err != nil {
		return err
	}
	say("seeding %d licenses of %d partners into %s", b.licenses, searchPartners, store.Name())
	if err := seed.Shop(ctx, url, searchPartners, b.licenses); err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, url, sqldb.Options{})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	lookups := &support.Store{
		DB: db, Accounts: &account.Store{DB: db, Now: app.Now}, Partners: &partner.Store{DB: db, Now: app.Now},
		Licenses: &license.Store{DB: db, Now: app.Now},
	}
	for _, kind := range []struct {
		what string
		text func(i int64) string
	}{
		{"license key", seed.LicenseKey},
		{"end of a key", func(i int64) string { key := seed.LicenseKey(i); return key[len(key)-4:] }},
		{"email", seed.Email},
		{"external id", seed.Customer},
		{"purchase reference", seed.Reference},
		{"partner name", func(i int64) string { return fmt.Sprintf("part %d", 1+i%searchPartners) }},
		{"nothing", func(i int64) string { return fmt.Sprintf("nothing %d", i) }},
	} {
		noise := meter.Listen(b.servers...)
		p95, err := b.searches(ctx, lookups, kind.text)
		if err != nil {
			return fmt.Errorf("search by %s: %w", kind.what, err)
		}
		b.add(figure.Single("console search by "+kind.what+", p95", store.Name(),
			fmt.Sprintf("%d licenses", b.licenses), p95, "%.2f", "ms", figure.AtMost(30, "ms"), noise.Share()))
	}
	return store.Drop(ctx, name)
}

// searches returns the 95th percentile of the duration of searches, in milliseconds.
func (b *bench) searches(ctx context.Context, lookups *support.Store, text func(int64) string) (float64, error) {
	return p95(400, func(i int64) error {
		_, err := lookups.Search(ctx, text(1+i*7919%b.licenses))
		return err
	})
}

// today measures the queries of the console's first page, without a cache.
func (b *bench) today(ctx context.Context, store seed.Store, w seed.World) error {
	db, err := sqldb.Open(ctx, w.URL, sqldb.Options{})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	ago := time.Since(w.End)
	now := func() time.Time { return app.Now().Add(-ago) }
	book := &today.Store{DB: db, Keys: &oauth.Keys{DB: db, Now: now}, Now: now}
	noise := meter.Listen(b.servers...)
	took, err := p95(200, func(int64) error {
		_, err := book.Read(ctx)
		return err
	})
	if err != nil {
		return err
	}
	b.add(figure.Single("console, what Today shows, p95", store.Name(), fmt.Sprintf("%d partners", seed.WorldPartners),
		took, "%.2f", "ms", figure.AtMost(50, "ms"), noise.Share()))
	return nil
}

// p95 returns the 95th percentile of the duration of calls, in milliseconds.
func p95(times int, call func(i int64) error) (float64, error) {
	took := make([]float64, 0, times)
	for i := range times {
		started := time.Now()
		if err := call(int64(i)); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(started).Microseconds())/1000)
	}
	slices.Sort(took)
	return took[times*95/100], nil
}
