package sqldb

import (
	"cmp"
	"context"
	"math"
	"time"
)

// DeleteAged reads at least agedPlaces batches, or the whole table if that is smaller.
const (
	agedPlaces = 32 // spread over the table, including the lowest id
	agedIdle   = 8  // a walk ends after this many batches in a row without an old row
)

// Aged describes a table without an index by age. Its rows are written nearly in id order.
type Aged struct {
	From string // "FROM " and the table
	Old  string // condition for an old row, with the time as $1

	// Batch is the maximum number of rows per transaction; 0 means 1,000. Use less if each row
	// deletes rows of other tables.
	Batch int
}

// DeleteAged deletes old rows in batches, one transaction each, and returns their number. Batches
// without an old row are only read.
//
// Ids follow time, except for rows written with a wrong clock. So neither a single row nor a block
// of rows may end the search. DeleteAged looks at places spread over the table, shifted in each
// run. From a place with an old row it walks up and down until agedIdle batches in a row have none.
// Every run finds stretches of old rows longer than 1/agedPlaces of the ids; a later run finds
// shorter ones. A table of up to agedIdle batches is searched completely.
func (db *DB) DeleteAged(ctx context.Context, before time.Time, a Aged) (int64, error) {
	a.Batch = cmp.Or(a.Batch, sweepBatch)
	w := &agedWalk{Aged: a, db: db, before: before}
	ends, err := w.ends(ctx)
	if err != nil || ends.rows == 0 {
		return 0, err
	}
	w.done = ends.low - 1
	if err := w.from(ctx, w.done, true); err != nil {
		return w.deleted, err
	}
	stride := (ends.high-ends.low)/agedPlaces + 1
	shift := uint64(before.UnixNano()) % uint64(stride) //nolint:gosec // any number will do
	for at := ends.low + int64(shift); at < ends.high; at += stride {
		if at < w.done {
			continue
		}
		if err := w.from(ctx, at, false); err != nil {
			return w.deleted, err
		}
	}
	return w.deleted, nil
}

// agedWalk is a run of DeleteAged.
type agedWalk struct {
	Aged
	db      *DB
	before  time.Time
	done    int64 // highest id that the walks have reached
	deleted int64
}

// span is a batch: lowest and highest id, number of rows, and number of old rows.
type span struct{ low, high, rows, old int64 }

func scanSpan(r *Row, s *span) error { return r.Scan(&s.low, &s.high, &s.rows, &s.old) }

// ends returns the lowest and the highest id of the table.
func (w *agedWalk) ends(ctx context.Context) (span, error) {
	return One(ctx, w.db, scanSpan, `SELECT coalesce(min(id), 0), coalesce(max(id), 0), count(*), count(*) FROM (
		SELECT id FROM (SELECT id `+w.From+` ORDER BY id LIMIT 1) AS lowest
		UNION ALL SELECT id FROM (SELECT id `+w.From+` ORDER BY id DESC LIMIT 1) AS highest) AS ends`)
}

// Orders in which a walk reads the ids.
const (
	upwards   = `id`
	downwards = `id DESC`
)

// from looks at the rows above id. If some are old, or must is set, it walks up from there, and
// down to the rows that earlier walks have seen.
func (w *agedWalk) from(ctx context.Context, id int64, must bool) error {
	floor := w.done
	first, err := w.batch(ctx, id, math.MaxInt64, upwards)
	w.done = max(w.done, first.high)
	if err != nil || first.old == 0 && !must {
		return err
	}
	idle := 0
	for at := first; at.rows > 0 && idle < agedIdle; idle = at.idle(idle) {
		if at, err = w.batch(ctx, at.high, math.MaxInt64, upwards); err != nil {
			return err
		}
		w.done = max(w.done, at.high)
	}
	idle = 0
	for at := first; at.rows > 0 && idle < agedIdle; idle = at.idle(idle) {
		if at, err = w.batch(ctx, floor, at.low, downwards); err != nil {
			return err
		}
	}
	return nil
}

// idle returns the number of batches in a row without an old row, including this one.
func (s span) idle(before int) int {
	if s.old > 0 {
		return 0
	}
	return before + 1
}

// batch reads the first rows between two ids, in the given order, and deletes the old ones.
func (w *agedWalk) batch(ctx context.Context, above, below int64, order string) (span, error) {
	s, err := One(
		ctx,
		w.db,
		scanSpan,
		`SELECT coalesce(min(id), 0), coalesce(max(id), 0), count(*), count(CASE WHEN old = 1 THEN 1 END) FROM (
		SELECT id, CASE WHEN `+w.Old+` THEN 1 ELSE 0 END AS old `+w.From+`
		WHERE id > $2 AND id < $3 ORDER BY `+order+` LIMIT $4) AS batch`,
		w.before,
		above,
		below,
		w.Batch,
	)
	if err != nil || s.old == 0 {
		return s, err
	}
	var n int64
	err = w.db.Write(ctx, func(tx *Tx) (err error) {
		n, err = tx.Exec(ctx, `DELETE `+w.From+` WHERE id >= $2 AND id <= $3 AND (`+w.Old+`)`, w.before, s.low, s.high)
		return err
	})
	w.deleted += n
	return s, err
}
