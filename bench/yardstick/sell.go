package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"claviger/bench/internal/yard"
)

// tables store a sale as a plain program would: as many rows as the service writes, with the
// indexes that it needs.
var tables = []string{
	`CREATE TABLE y_partners (id BIGINT PRIMARY KEY, licenses BIGINT NOT NULL, events BIGINT NOT NULL)`,
	`CREATE TABLE y_plans (partner_id BIGINT NOT NULL, tier BIGINT NOT NULL, name TEXT NOT NULL,
		PRIMARY KEY (partner_id, tier))`,
	`CREATE TABLE y_purchases (
		id BIGINT PRIMARY KEY, partner_id BIGINT NOT NULL, external_id TEXT NOT NULL,
		amount BIGINT NOT NULL, at BIGINT NOT NULL)`,
	`CREATE UNIQUE INDEX y_purchases_external ON y_purchases (partner_id, external_id)`,
	`CREATE TABLE y_licenses (id BIGINT PRIMARY KEY, partner_id BIGINT NOT NULL, ord BIGINT NOT NULL,
		key TEXT NOT NULL UNIQUE,
		redemption TEXT NOT NULL UNIQUE,
		status BIGINT NOT NULL, tier BIGINT NOT NULL, at BIGINT NOT NULL)`,
	`CREATE UNIQUE INDEX y_licenses_ord ON y_licenses (partner_id, ord)`,
	`CREATE INDEX y_licenses_status ON y_licenses (partner_id, status, ord)`,
	`CREATE TABLE y_links (license_id BIGINT PRIMARY KEY, purchase_id BIGINT NOT NULL)`,
	`CREATE TABLE y_events (
		id BIGINT PRIMARY KEY, partner_id BIGINT NOT NULL, ord BIGINT NOT NULL,
		license_id BIGINT NOT NULL, kind BIGINT NOT NULL, at BIGINT NOT NULL)`,
	`CREATE UNIQUE INDEX y_events_ord ON y_events (partner_id, ord)`,
	`CREATE INDEX y_events_license ON y_events (license_id, id)`,
	`CREATE TABLE y_deliveries (event_id BIGINT PRIMARY KEY, body TEXT NOT NULL)`,
	`CREATE TABLE y_outbox (event_id BIGINT PRIMARY KEY, partner_id BIGINT NOT NULL, due BIGINT NOT NULL)`,
	`CREATE INDEX y_outbox_due ON y_outbox (partner_id, due)`,
	`CREATE TABLE y_audit (
		id BIGINT PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
		subject TEXT NOT NULL, after TEXT NOT NULL)`,
}

// seller sells with a commit per order and a round trip per statement.
type seller struct {
	market yard.Market
	with   func(client int) transact
	sold   atomic.Int64
}

// sell creates the tables and then sells, a round for each line of input.
func sell(ctx context.Context, line []byte, input *bufio.Reader) error {
	market, err := read[yard.Market](line)
	if err != nil {
		return err
	}
	s := &seller{market: market}
	if s.with, err = connect(ctx, market.DB); err != nil {
		return err
	}
	if err := s.with(0)(ctx, s.setUp(ctx)); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	out, rounds := json.NewEncoder(os.Stdout), json.NewDecoder(input)
	if err := out.Encode(yard.Address{}); err != nil { // ready
		return err
	}
	for {
		var r yard.Round
		if err := rounds.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the next round: %w", err)
		}
		sold, err := s.round(ctx, time.Duration(r.Millis)*time.Millisecond)
		if err != nil {
			return err
		}
		if err := out.Encode(sold); err != nil {
			return err
		}
	}
}

// connect returns a function per client that runs its transactions. SQLite has one writer.
func connect(ctx context.Context, at string) (func(int) transact, error) {
	if isPostgres(at) {
		pool, err := openPool(ctx, at)
		return func(int) transact {
			return func(ctx context.Context, fn func(statement) error) error {
				tx, err := pool.Begin(ctx)
				if err != nil {
					return err
				}
				defer tx.Rollback(ctx) //nolint:errcheck // no effect after a commit
				if err := fn(onPostgres(tx)); err != nil {
					return err
				}
				return tx.Commit(ctx)
			}
		}, err
	}
	f, err := openFile(at)
	var mu sync.Mutex
	return func(int) transact {
		return func(ctx context.Context, fn func(statement) error) error {
			mu.Lock()
			defer mu.Unlock()
			if err := f.run(ctx, "BEGIN IMMEDIATE", nil, nil); err != nil {
				return err
			}
			if err := fn(f.run); err != nil {
				return errors.Join(err, f.run(ctx, "ROLLBACK", nil, nil))
			}
			return f.run(ctx, "COMMIT", nil, nil)
		}
	}, err
}

func (s *seller) setUp(ctx context.Context) func(statement) error {
	return func(run statement) error {
		for _, sql := range tables {
			if err := run(ctx, sql, nil, nil); err != nil {
				return err
			}
		}
		for id := range int64(s.market.Partners) {
			if err := run(ctx, `INSERT INTO y_partners (id, licenses, events)
				VALUES ($1, 0, 0)`, []any{id}, nil); err != nil {
				return err
			}
			if err := run(ctx, `INSERT INTO y_plans (partner_id, tier, name)
				VALUES ($1, 1, 'Plan')`, []any{id}, nil); err != nil {
				return err
			}
		}
		return nil
	}
}

// round sells for a while.
func (s *seller) round(ctx context.Context, length time.Duration) (yard.Sold, error) {
	begun, before := time.Now(), s.sold.Load()
	errs := make([]error, s.market.Clients)
	var wg sync.WaitGroup
	for client := range s.market.Clients {
		wg.Go(func() {
			do := s.with(client)
			for time.Since(begun) < length && errs[client] == nil {
				n := s.sold.Add(1)
				errs[client] = do(ctx, func(run statement) error {
					return s.order(ctx, run, int64(client%s.market.Partners), n)
				})
			}
		})
	}
	wg.Wait()
	return yard.Sold{Orders: s.sold.Load() - before, Seconds: time.Since(begun).Seconds()}, errors.Join(errs...)
}

// order makes one sale, in as many statements as a plain program needs.
func (s *seller) order(ctx context.Context, run statement, partner, n int64) error {
	var licenses, events int64
	var name string
	lock := ""
	if isPostgres(s.market.DB) {
		lock = " FOR UPDATE"
	}
	err := run(ctx, `SELECT licenses, events FROM y_partners
		WHERE id = $1`+lock, []any{partner}, func(scan func(...any) error) error {
		return scan(&licenses, &events)
	})
	if err == nil {
		err = run(ctx, `SELECT name FROM y_plans WHERE partner_id = $1
			AND tier = 1`, []any{partner}, func(scan func(...any) error) error {
			return scan(&name)
		})
	}
	now, text := time.Now().UnixNano(), strconv.FormatInt(n, 10)
	body := `{"license_key":"` + text + `","partner_plan_name":"` + name + `","padding":"` + strings.Repeat("x", 200) +
		`"}`
	for _, st := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO y_purchases (id, partner_id, external_id, amount, at)
			VALUES ($1, $2, $3, 4900, $4)`, []any{n, partner, "order-" + text, now}},
		{
			`INSERT INTO y_licenses (id, partner_id, ord, key, redemption, status, tier, at)
				VALUES ($1, $2, $3, $4, $5, 1, 1, $6)`,
			[]any{n, partner, licenses + 1, "license-" + text, "redemption-" + text, now},
		},
		{`INSERT INTO y_links (license_id, purchase_id) VALUES ($1, $1)`, []any{n}},
		{`INSERT INTO y_events (id, partner_id, ord, license_id, kind, at)
			VALUES ($1, $2, $3, $1, 1, $4)`, []any{n, partner, events + 1, now}},
		{`INSERT INTO y_deliveries (event_id, body) VALUES ($1, $2)`, []any{n, body}},
		{`INSERT INTO y_outbox (event_id, partner_id, due) VALUES ($1, $2, $3)`, []any{n, partner, now}},
		{`INSERT INTO y_audit (id, at, actor, action, subject, after)
			VALUES ($1, $2, 'bench', 'purchase', $3, $4)`, []any{n, now, "license:" + text, body}},
		{`UPDATE y_partners SET licenses = licenses + 1, events = events + 1 WHERE id = $1`, []any{partner}},
	} {
		if err == nil {
			err = run(ctx, st.sql, st.args, nil)
		}
	}
	return err
}
