package prune

import (
	"cmp"
	"context"
	"math"
	"time"

	"claviger/internal/sqldb"
)

// walkIDs reads at least places batches, or the whole table if that is smaller.
const (
	places      = 32 // spread over the table, including the lowest id
	idleBatches = 8  // a walk ends after this many batches in a row without an old row
)

// walkIDs deletes the expired rows of a table without an index on their time, in batches of one
// transaction each, and returns their number. Batches without an old row are only read.
//
// Ids follow time, except for rows written with a wrong clock. So neither a single row nor a block
// of rows may end the search. It looks at places spread over the table, shifted in each run. From a
// place with an old row it walks up and down until idleBatches in a row have none. Every run finds
// stretches of old rows longer than 1/places of the ids; a later run finds shorter ones. A table of
// up to idleBatches is searched completely.
func walkIDs(ctx context.Context, db *sqldb.DB, r Rule, before time.Time) (int64, error) {
	w := &walk{
		db:     db,
		from:   `FROM ` + r.Table,
		old:    r.expired(),
		batch:  cmp.Or(r.Batch, batch),
		before: before,
	}
	ends, err := w.ends(ctx)
	if err != nil || ends.rows == 0 {
		return 0, err
	}
	w.done = ends.low - 1
	if err := w.above(ctx, w.done, true); err != nil {
		return w.deleted, err
	}
	stride := (ends.high-ends.low)/places + 1
	shift := uint64(before.UnixNano()) % uint64(stride) //nolint:gosec // any number will do
	for at := ends.low + int64(shift); at < ends.high; at += stride {
		if at < w.done {
			continue
		}
		if err := w.above(ctx, at, false); err != nil {
			return w.deleted, err
		}
	}
	return w.deleted, nil
}

// walk is a run of walkIDs.
type walk struct {
	db      *sqldb.DB
	from    string // FROM and the table
	old     string // condition for an old row, with the time as $1
	batch   int    // most rows of a transaction
	before  time.Time
	done    int64 // highest id that the walks have reached
	deleted int64
}

// span is a batch: lowest and highest id, number of rows, and number of old rows.
type span struct{ low, high, rows, old int64 }

func scanSpan(r *sqldb.Row, s *span) error { return r.Scan(&s.low, &s.high, &s.rows, &s.old) }

// ends returns the lowest and the highest id of the table.
func (w *walk) ends(ctx context.Context) (span, error) {
	return sqldb.One(ctx, w.db, scanSpan, `SELECT coalesce(min(id), 0), coalesce(max(id), 0), count(*), count(*) FROM (
		SELECT id FROM (SELECT id `+w.from+` ORDER BY id LIMIT 1) AS lowest
		UNION ALL SELECT id FROM (SELECT id `+w.from+` ORDER BY id DESC LIMIT 1) AS highest) AS ends`)
}

// Orders in which a walk reads the ids.
const (
	upwards   = `id`
	downwards = `id DESC`
)

// above looks at the rows above id. If some are old, or must is set, it walks up from there, and
// down to the rows that earlier walks have seen.
func (w *walk) above(ctx context.Context, id int64, must bool) error {
	floor := w.done
	first, err := w.next(ctx, id, math.MaxInt64, upwards)
	w.done = max(w.done, first.high)
	if err != nil || first.old == 0 && !must {
		return err
	}
	idle := 0
	for at := first; at.rows > 0 && idle < idleBatches; idle = at.idle(idle) {
		if at, err = w.next(ctx, at.high, math.MaxInt64, upwards); err != nil {
			return err
		}
		w.done = max(w.done, at.high)
	}
	idle = 0
	for at := first; at.rows > 0 && idle < idleBatches; idle = at.idle(idle) {
		if at, err = w.next(ctx, floor, at.low, downwards); err != nil {
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

// next reads the first rows between two ids, in the given order, and deletes the old ones.
func (w *walk) next(ctx context.Context, above, below int64, order string) (span, error) {
	s, err := sqldb.One(
		ctx,
		w.db,
		scanSpan,
		`SELECT coalesce(min(id), 0), coalesce(max(id), 0), count(*), count(CASE WHEN old = 1 THEN 1 END) FROM (
		SELECT id, CASE WHEN `+w.old+` THEN 1 ELSE 0 END AS old `+w.from+`
		WHERE id > $2 AND id < $3 ORDER BY `+order+` LIMIT $4) AS batch`,
		w.before,
		above,
		below,
		w.batch,
	)
	if err != nil || s.old == 0 {
		return s, err
	}
	var n int64
	err = w.db.Write(ctx, func(tx *sqldb.Tx) (err error) {
		n, err = tx.Exec(ctx, `DELETE `+w.from+` WHERE id >= $2 AND id <= $3 AND (`+w.old+`)`, w.before, s.low, s.high)
		return err
	})
	w.deleted += n
	return s, err
}
