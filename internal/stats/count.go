package stats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/event"
	"claviger/internal/job"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// The pace of counting: the number of events or attempts per transaction, and the wait after all
// are counted and while there are more, so that a large backlog leaves the database to others.
const (
	batchSize  = 1000
	idleWait   = 2 * time.Second
	behindWait = 20 * time.Millisecond
	failedWait = 10 * time.Second
)

// source identifies a cursor by the rows it counts.
type source string

const (
	ofEvents   source = "events"
	ofAttempts source = "attempts"
)

// Counter is the counting job. Two nodes may run it at the same time.
type Counter struct {
	Store *Store
	Log   *slog.Logger
	Ran   job.Ran // called after each batch; nil: not called
}

// Run counts new rows until ctx ends.
func (c *Counter) Run(ctx context.Context) {
	for failing := false; ; {
		began := time.Now()
		more, err := c.Store.Count(ctx)
		c.Ran.Run(ctx, began, err)
		wait := idleWait
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = failedWait
			if !failing {
				c.Log.Warn("the numbers for statistics cannot be counted; it is tried again", "err", err)
			}
		case more:
			wait = behindWait
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Count counts a batch of new rows, and reports whether there are more.
func (b *Store) Count(ctx context.Context) (more bool, err error) {
	events, err := b.countEvents(ctx)
	if err != nil {
		return false, err
	}
	attempts, err := b.countAttempts(ctx)
	return events || attempts, err
}

func (b *Store) countEvents(ctx context.Context) (more bool, err error) {
	at, err := cursor(ctx, b.DB, ofEvents)
	if err != nil {
		return false, err
	}
	stable, err := event.Stable(ctx, b.DB)
	if err != nil || stable <= at {
		return false, err
	}
	facts, err := event.Facts(ctx, b.DB, at, stable, batchSize)
	if err != nil || len(facts) == 0 {
		return false, err
	}
	t := newTally()
	for _, f := range facts {
		t.event(f)
	}
	return len(facts) == batchSize, b.store(ctx, ofEvents, at, facts[len(facts)-1].ID, t)
}

func (b *Store) countAttempts(ctx context.Context) (more bool, err error) {
	at, err := cursor(ctx, b.DB, ofAttempts)
	if err != nil {
		return false, err
	}
	stable, err := history.StableAttempts(ctx, b.DB)
	if err != nil || stable <= at {
		return false, err
	}
	facts, err := history.AttemptFacts(ctx, b.DB, at, stable, batchSize)
	if err != nil || len(facts) == 0 {
		return false, err
	}
	t := newTally()
	since := b.Now().Add(-HoursKept)
	for _, f := range facts {
		t.attempt(f, since)
	}
	return len(facts) == batchSize, b.store(ctx, ofAttempts, at, facts[len(facts)-1].ID, t)
}

// cursor returns the id up to which a source is counted.
func cursor(ctx context.Context, r sqldb.Reader, of source) (int64, error) {
	at, err := sqldb.One(ctx, r, sqldb.Value[int64], `SELECT at FROM stats_cursors WHERE source = $1`, string(of))
	if err != nil {
		return 0, fmt.Errorf("read up to where %s are counted: %w", of, err)
	}
	return at, nil
}

// errMoved means that another node has counted the same rows.
var errMoved = errors.New("the cursor has moved")

// store adds to the counters and moves the cursor, both or neither. If the cursor has moved from
// the start of the tally, another node has counted it.
func (b *Store) store(ctx context.Context, of source, from, to int64, t *tally) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE stats_cursors SET at = $3 WHERE source = $1 AND at = $2`, string(of), from, to)
		if err != nil {
			return err
		}
		if n == 0 {
			return errMoved
		}
		t.write(tx)
		return nil
	})
	if err != nil && !errors.Is(err, errMoved) {
		return fmt.Errorf("count %s: %w", of, err)
	}
	return nil
}

// write queues the updates of the counters, ordered by key, because another transaction may lock
// them in that order.
func (t *tally) write(tx *sqldb.Tx) {
	for _, k := range sortedKeys(t.days) {
		d := t.days[k]
		tx.Queue(
			`INSERT INTO stats_days (partner_id, day, sold, activated, deactivated, refunded, activated_soon)
				VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (partner_id, day)
			DO UPDATE SET sold = stats_days.sold + excluded.sold, activated = stats_days.activated + excluded.activated,
				deactivated = stats_days.deactivated + excluded.deactivated,
				refunded = stats_days.refunded + excluded.refunded,
				activated_soon = stats_days.activated_soon + excluded.activated_soon`,
			k.partnerID,
			k.at,
			d.Sold,
			d.Activated,
			d.Deactivated,
			d.Refunded,
			d.ActivatedSoon,
		)
	}
	for _, k := range sortedKeys(t.hours) {
		h := t.hours[k]
		args := []any{k.partnerID, k.at, h.Succeeded, h.Failed}
		for _, n := range h.Latency {
			args = append(args, n)
		}
		tx.Queue(addHour, args...)
	}
	for k, f := range t.failures {
		tx.Queue(
			`INSERT INTO stats_failures (partner_id, hour, status, count, first_at, last_at)
				VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (partner_id, hour, status) DO UPDATE SET count = stats_failures.count + excluded.count,
				first_at = CASE WHEN excluded.first_at < stats_failures.first_at THEN excluded.first_at
				ELSE stats_failures.first_at END,
				last_at = CASE WHEN excluded.last_at > stats_failures.last_at THEN excluded.last_at
				ELSE stats_failures.last_at END`,
			k.partnerID,
			k.at,
			k.status,
			f.Count,
			f.FirstAt,
			f.LastAt,
		)
	}
}

func sortedKeys[V any](m map[key]V) []key {
	keys := make([]key, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.partnerID != b.partnerID {
			return int(a.partnerID - b.partnerID)
		}
		return int(a.at - b.at)
	})
	return keys
}

// latencyColumns lists the columns of a histogram.
var latencyColumns = func() []string {
	list := make([]string, 0, len(bounds)+1)
	for _, ms := range bounds {
		list = append(list, "le_"+strconv.FormatInt(ms, 10))
	}
	return append(list, "le_more")
}()

// addHour is the statement that adds to the counters of an hour.
var addHour = func() string {
	columns := append([]string{"succeeded", "failed"}, latencyColumns...)
	marks := []string{"$1", "$2"}
	sums := make([]string, len(columns))
	for i, c := range columns {
		marks = append(marks, "$"+strconv.Itoa(i+3))
		sums[i] = c + " = stats_hours." + c + " + excluded." + c
	}
	return `INSERT INTO stats_hours (partner_id, hour, ` + strings.Join(
		columns,
		", ",
	) + `) VALUES (` + strings.Join(
		marks,
		", ",
	) + `)
		ON CONFLICT (partner_id, hour) DO UPDATE SET ` + strings.Join(
		sums,
		", ",
	)
}()
