package sqldb

import (
	"context"
	"errors"
	"math"
	"sort"
	"time"
)

// slack is the maximum difference between the order of ids and of times: transactions that run
// concurrently number their rows.
const slack = time.Minute

// IDsBetween returns a range of ids that contains all rows of a table made in a span of time, and
// some more; zero times are no bounds. The table has the columns id and created_at. A binary search
// finds the ends; the caller checks each row's time.
func IDsBetween(ctx context.Context, tx *Tx, table string, from, to time.Time) (low, high int64, err error) {
	if from.IsZero() && to.IsZero() {
		return 1, math.MaxInt64 - 1, nil
	}
	most, err := One(ctx, tx, Value[int64], `SELECT coalesce(max(id), 0) FROM `+table)
	if err != nil {
		return 0, 0, err
	}
	first := func(at time.Time) int64 {
		return 1 + int64(sort.Search(int(most), func(i int) bool {
			made, e := One(
				ctx,
				tx,
				Value[time.Time],
				`SELECT created_at FROM `+table+` WHERE id >= $1 ORDER BY id LIMIT 1`,
				i+1,
			)
			if !errors.Is(e, ErrNone) {
				err = errors.Join(err, e)
			}
			return !made.Before(at)
		}))
	}
	low = 1
	high = most
	if !from.IsZero() {
		low = first(from.Add(-slack))
	}
	if !to.IsZero() {
		high = first(to.Add(slack))
	}
	return low, high, err
}
