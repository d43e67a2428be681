package revenue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"claviger/internal/job"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// The pace of counting: the number of postings per transaction, and the wait after all are counted and
// while there are more, so that a large backlog leaves the database to others.
const (
	batchSize  = 1000
	idleWait   = 2 * time.Second
	behindWait = 20 * time.Millisecond
	failedWait = 10 * time.Second
)

// Counter is the counting job. Two nodes may run it at the same time.
type Counter struct {
	Store *Store
	Log   *slog.Logger
	Ran   job.Ran // called after each batch; nil: not called
}

// Run counts new postings until ctx ends.
func (c *Counter) Run(ctx context.Context) {
	for failing := false; ; {
		began := time.Now()
		more, err := c.Store.Count(sqldb.InJob(ctx))
		c.Ran.Run(ctx, began, err)
		wait := idleWait
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = failedWait
			if !failing {
				c.Log.Warn("revenue cannot be added up; it is tried again", "err", err)
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

// Count counts a batch of new postings, and reports whether there are more.
func (b *Store) Count(ctx context.Context) (more bool, err error) { return b.count(ctx, batchSize) }

func (b *Store) count(ctx context.Context, most int) (more bool, err error) {
	at, err := cursor(ctx, b.DB)
	if err != nil {
		return false, err
	}
	stable, err := ledger.StablePostings(ctx, b.DB)
	if err != nil || stable <= at {
		return false, err
	}
	list, err := ledger.FiguresAfter(ctx, b.DB, at, stable, most)
	if err != nil || len(list) == 0 {
		return false, err
	}
	t := tally{}
	for _, f := range list {
		t.posting(f)
	}
	return len(list) == most, b.store(ctx, at, list[len(list)-1].ID, t)
}

// cursor returns the id up to which postings are counted.
func cursor(ctx context.Context, r sqldb.Reader) (int64, error) {
	at, err := sqldb.One(ctx, r, sqldb.Value[int64], `SELECT at FROM revenue_cursor WHERE id = 1`)
	if err != nil {
		return 0, fmt.Errorf("read up to where postings are counted: %w", err)
	}
	return at, nil
}

// errMoved means that another node has counted the same postings.
var errMoved = errors.New("the cursor has moved")

// store adds to the sums and moves the cursor, both or neither. If the cursor has moved from the start
// of the tally, another node has counted it.
func (b *Store) store(ctx context.Context, from, to int64, t tally) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE revenue_cursor SET at = $2 WHERE id = 1 AND at = $1`, from, to)
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
		return fmt.Errorf("count revenue: %w", err)
	}
	return nil
}

// write queues the updates of the sums, ordered by key.
func (t tally) write(tx *sqldb.Tx) {
	for _, k := range slices.SortedFunc(maps.Keys(t), key.compare) {
		s := t[k]
		tx.Queue(`INSERT INTO revenue_sums (partner_id, days, day, tier, currency, sales, revenue, direct, refunds,
				fees, borne, share, undivided)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
			ON CONFLICT (partner_id, days, day, tier, currency) DO UPDATE
			SET sales = revenue_sums.sales + excluded.sales,
				revenue = revenue_sums.revenue + excluded.revenue, direct = revenue_sums.direct + excluded.direct,
				refunds = revenue_sums.refunds + excluded.refunds, fees = revenue_sums.fees + excluded.fees,
				borne = revenue_sums.borne + excluded.borne, share = revenue_sums.share + excluded.share,
				undivided = revenue_sums.undivided + excluded.undivided`,
			k.partnerID, k.days, k.day, k.tier, k.currency, s.Sales, s.Revenue, s.Direct, s.Refunds, s.Fees, s.Borne,
			s.Share, s.Undivided)
	}
}

// compare orders keys as the table does.
func (k key) compare(o key) int {
	return cmp.Or(
		cmp.Compare(k.partnerID, o.partnerID), cmp.Compare(k.days, o.days), cmp.Compare(k.day, o.day),
		cmp.Compare(k.tier, o.tier), cmp.Compare(k.currency, o.currency),
	)
}
