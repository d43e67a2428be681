package main

import (
	"context"
	"errors"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/app"
	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// missed is the number of events that wait when the endpoint is back.
const missed = 50_000

// outage measures the time from the first success after an outage of two minutes until all waiting
// events are delivered and recorded; on PostgreSQL with a second node. The outage is written to the
// database, not waited for.
func (b *bench) outage(ctx context.Context, store seed.Store) error {
	p, err := openPost(ctx, store, "outage", 1)
	if err != nil {
		return err
	}
	defer p.close() //nolint:errcheck // the results were read
	for range missed / 100 {
		if err := p.buy(ctx, nil, p.partners[0], 100); err != nil {
			return err
		}
	}
	if err := p.fail(ctx, 2*time.Minute); err != nil {
		return err
	}
	out, stop, err := p.runNodes(ctx, store)
	if err != nil {
		return err
	}
	noise, begun := meter.Listen(b.servers...), time.Now()
	err = p.buy(ctx, out, p.partners[0], 1)
	for waiting := int64(1); err == nil && waiting > 0; time.Sleep(5 * time.Millisecond) {
		waiting, err = p.waiting(ctx)
	}
	took := time.Since(begun)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	b.add(figure.Single("outage: "+thousands(missed)+" waiting events, endpoint back after 2 minutes", store.Name(),
		"one partner",
		took.Seconds(), "%.1f", "s", figure.AtMost(10, "s"), noise.Share()))
	return nil
}

// fail writes the result of an outage of that length with the usual schedule: each event was tried
// three times, and waits for up to two minutes.
func (p *post) fail(ctx context.Context, length time.Duration) error {
	now := app.Now()
	return p.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE outbox SET attempts = 3, due_at = $1 + event_id % 115 * 1000000000`, now.Add(5*time.Second))
		tx.Queue(`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at,
			last_error_at)
			VALUES ($1, $2, $3, 0, 0, 0, $4, $4)`, p.partners[0], now.Add(-length), 3*missed, now)
		return nil
	})
}

// runNodes starts a dispatcher, and on a server a second one.
func (p *post) runNodes(ctx context.Context, store seed.Store) (*webhook.Outbox, func() error, error) {
	out, node, stop := p.run(ctx, p.db, cluster.Times{})
	if store.Server == "" {
		return out, stop, nil
	}
	for !node.Owns(p.partners[0]) {
		time.Sleep(10 * time.Millisecond)
	}
	db, err := sqldb.Open(ctx, p.url, sqldb.Options{}) // a node has its own connections
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	_, _, stopSecond := p.run(ctx, db, cluster.Times{})
	return out, func() error { return errors.Join(stopSecond(), stop(), db.Close()) }, nil
}

// waiting returns 1 if an event waits, else 0. The query is as cheap as possible, because it runs
// during the measurement.
func (p *post) waiting(ctx context.Context) (int64, error) {
	return sqldb.One(ctx, p.db, sqldb.Value[int64], `SELECT count(*)
		FROM (SELECT 1 FROM outbox WHERE state = 1 LIMIT 1) AS w`)
}
