package event

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/sqldb"
)

// Walk selects the events to read in batches, as for an export; the zero value selects all events
// of all partners.
type Walk struct {
	PartnerID int64
	LicenseID int64
	Kind      Kind
	From, To  time.Time // From inclusive, To exclusive; zero: no bound
}

// walkWindow is the maximum number of events that one batch reads, so that no statement of a walk
// takes long, however few events match.
const walkWindow = 2000

// walkSkew is the maximum difference between the order of events by time and by id: concurrent
// transactions of several partners draw the ids.
const walkSkew = time.Minute

// Walk returns the next events before a position, newest first, without their responses, and the
// position to continue from, 0 at the end. Position 0 starts with the newest. A batch can be empty
// although more follow.
func (l *Log) Walk(ctx context.Context, w Walk, before int64, limit int) (list []Event, next int64, err error) {
	// By ordinal within a partner, otherwise by id: each is an index, and dense.
	by := `id`
	where := `$3 = 0 AND $4 = 0`
	of := int64(0)
	switch {
	case w.LicenseID != 0:
		where = `license_id = $3 AND ($4 = 0 OR partner_id = $4)`
		of = w.LicenseID
	case w.PartnerID != 0:
		by = `ord`
		where = `partner_id = $3 AND ($4 = 0 OR partner_id = $4)`
		of = w.PartnerID
	}
	if before == 0 {
		if before, err = l.newest(ctx, w); err != nil {
			return nil, 0, fmt.Errorf("find the newest event: %w", err)
		}
	}
	limit = min(limit, walkWindow)
	type row struct {
		Event
		at int64
	}
	rows, err := sqldb.All(ctx, l.DB, func(r *sqldb.Row, e *row) error {
		var ms int64
		err := r.Scan(
			&e.ID,
			&e.PartnerID,
			&e.LicenseID,
			&e.LicenseKey,
			(*int)(&e.Kind),
			&e.Tier,
			&e.PreviousTier,
			(*string)(&e.Reason),
			&ms,
			&e.CreatedAt,
			&e.at,
		)
		e.At = time.UnixMilli(ms).UTC()
		return err
	}, `SELECT `+columns+`, `+by+` FROM events WHERE `+by+` < $1 AND `+where+` ORDER BY `+by+` DESC LIMIT $2`, before,
		limit, of, w.PartnerID)
	if err != nil {
		return nil, 0, fmt.Errorf("read the next events: %w", err)
	}
	old := false
	for _, e := range rows {
		old = old || e.CreatedAt.Before(w.From.Add(-walkSkew))
		if (w.Kind == 0 || e.Kind == w.Kind) && !e.CreatedAt.Before(w.From) &&
			(w.To.IsZero() || e.CreatedAt.Before(w.To)) {
			list = append(list, e.Event)
		}
	}
	if len(rows) == limit && !old {
		next = rows[limit-1].at
	}
	return list, next, nil
}

// newest returns the position before the newest event of a walk. Over all partners it leaves out
// ids that a running transaction may still write.
func (l *Log) newest(ctx context.Context, w Walk) (int64, error) {
	if w.PartnerID != 0 && w.LicenseID == 0 {
		return sqldb.One(
			ctx,
			l.DB,
			sqldb.Value[int64],
			`SELECT coalesce(max(ord), 0) + 1 FROM events WHERE partner_id = $1`,
			w.PartnerID,
		)
	}
	stable, err := Stable(ctx, l.DB)
	return stable + 1, err
}

// Counted returns the number of events of a partner, or of all partners (0). It reads counters.
func (l *Log) Counted(ctx context.Context, partnerID int64) (int64, error) {
	n, err := sqldb.One(
		ctx,
		l.DB,
		sqldb.Value[int64],
		`SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM event_blocks WHERE partner_id = $1 OR $1 = 0`,
		partnerID,
	)
	if err != nil {
		return 0, fmt.Errorf("count the events of partner %s: %w", strconv.FormatInt(partnerID, 10), err)
	}
	return n, nil
}
