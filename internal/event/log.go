package event

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// Log stores and reads the events.
type Log struct {
	DB     *sqldb.DB
	Outbox *webhook.Outbox // nil: deliveries wait for a dispatcher of another node
}

// Filter narrows a list of events; the zero value lists all.
type Filter struct {
	Status Status // the current status of the event's license
	Kind   Kind
	After  int64 // only events with a higher id
}

// List is one page of events.
type List struct {
	Events []Event
	Total  int64 // -1 if a filter makes it unknown
	More   bool  // whether a next page exists, if Total is unknown
}

const columns = `id, partner_id, license_id, license_key, kind, tier, previous_tier, reason, event_ms, created_at`

func scan(r *sqldb.Row, e *Event) error {
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
	)
	e.At = time.UnixMilli(ms).UTC()
	return err
}

// List lists a partner's events with their newest responses.
func (l *Log) List(ctx context.Context, partnerID int64, f Filter, p paging.Page) (List, error) {
	return l.list(ctx, func(tx *sqldb.Tx) (List, error) {
		switch {
		case f.Kind == 0 && f.After <= 0 && f.Status == 0:
			return byOrdinal(ctx, tx, partnerID, p)
		case f.Kind == 0 && f.After <= 0:
			return byStatus(ctx, tx, partnerID, f.Status, p)
		default:
			return filtered(ctx, tx, partnerID, f, p)
		}
	})
}

// OfLicense lists the events of one license, which are few, with their newest
// responses. Filter.Status is ignored.
func (l *Log) OfLicense(ctx context.Context, licenseID int64, f Filter, p paging.Page) (List, error) {
	return l.list(ctx, func(tx *sqldb.Tx) (List, error) {
		const where = `license_id = $1 AND id > $2 AND (kind = $3 OR $3 = 0)`
		total := sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT count(*) FROM events WHERE `+where,
			licenseID, max(f.After, 0), int(f.Kind))
		events, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM events WHERE `+where+`
			ORDER BY id `+direction(p)+` LIMIT $4 OFFSET $5`, licenseID, max(f.After, 0), int(f.Kind), p.Limit,
			p.Offset())
		if err != nil {
			return List{}, err
		}
		n, err := total.One(ctx)
		list := List{Events: events, Total: n, More: p.Offset()+p.Limit < n}
		if f.Kind != 0 || f.After > 0 {
			list.Total = -1
		}
		return list, err
	})
}

// LastActivation returns the latest event that made a license usable for its buyer: its activation
// or its import. ID 0: there is none.
func LastActivation(ctx context.Context, r sqldb.Reader, licenseID int64) (Event, error) {
	e, err := sqldb.One(ctx, r, scan, `SELECT `+columns+` FROM events
		WHERE license_id = $1 AND reason IN ($2, $3) ORDER BY id DESC
		LIMIT 1`, licenseID, string(Redeemed), string(Operator))
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return Event{}, fmt.Errorf("read the last activation of a license: %w", err)
	}
	return e, nil
}

// LatestReasons returns the reason of the latest event of each license, by license.
func LatestReasons(ctx context.Context, r sqldb.Reader, licenseIDs []int64) (map[int64]Reason, error) {
	list, err := sqldb.All(ctx, r, scan, `SELECT `+columns+` FROM events
		WHERE id IN (SELECT max(id) FROM events WHERE license_id = ANY($1) GROUP BY license_id)`, licenseIDs)
	if err != nil {
		return nil, fmt.Errorf("read the latest events of licenses: %w", err)
	}
	reasons := make(map[int64]Reason, len(list))
	for _, e := range list {
		reasons[e.LicenseID] = e.Reason
	}
	return reasons, nil
}

// list runs read in one snapshot and adds the responses: two queries in total.
func (l *Log) list(ctx context.Context, read func(*sqldb.Tx) (List, error)) (List, error) {
	var list List
	err := l.DB.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		if list, err = read(tx); err != nil {
			return err
		}
		ids := make([]int64, len(list.Events))
		for i := range list.Events {
			ids[i] = list.Events[i].ID
		}
		responses, err := history.OfEvents(ctx, tx, ids)
		for i := range list.Events {
			list.Events[i].Responses = responses[list.Events[i].ID]
		}
		return err
	})
	if err != nil {
		return List{}, fmt.Errorf("list events: %w", err)
	}
	return list, nil
}

// byOrdinal reads a page as a range of ordinals, at the same cost at any depth. Ordinals are dense,
// so the highest is the total.
func byOrdinal(ctx context.Context, tx *sqldb.Tx, partnerID int64, p paging.Page) (List, error) {
	total, err := sqldb.One(ctx, tx, sqldb.Value[int64],
		`SELECT coalesce(max(ord), 0) FROM events WHERE partner_id = $1`, partnerID)
	if err != nil {
		return List{}, err
	}
	low, high := p.Ordinals(total)
	events, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM events
		WHERE partner_id = $1 AND ord >= $2 AND ord <= $3 ORDER BY ord `+direction(p), partnerID, low, high)
	return List{Events: events, Total: total}, err
}

// byStatus finds the page by the counts of its blocks; see paging.Seek.
func byStatus(ctx context.Context, tx *sqldb.Tx, partnerID int64, s Status, p paging.Page) (List, error) {
	blocks, err := sqldb.All(
		ctx,
		tx,
		func(r *sqldb.Row, b *paging.Block) error { return r.Scan(&b.Index, &b.N) },
		`SELECT block, n FROM event_blocks WHERE partner_id = $1 AND status = $2 AND n > 0 ORDER BY block`,
		partnerID,
		int(s),
	)
	if err != nil {
		return List{}, err
	}
	from, skip, total, ok := p.Seek(blocks)
	if !ok {
		return List{Events: []Event{}, Total: total}, nil
	}
	// The subquery walks only the index; the outer query reads rows.
	side := side(p)
	events, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM events
		WHERE partner_id = $1 AND status = $2 AND ord `+side+` (
			SELECT ord FROM events WHERE partner_id = $1 AND status = $2 AND ord `+side+` $3
			ORDER BY ord `+direction(p)+` LIMIT 1 OFFSET $4)
		ORDER BY ord `+direction(p)+` LIMIT $5`, partnerID, int(s), from, skip, p.Limit)
	return List{Events: events, Total: total}, err
}

// filtered reads a page with the other filters, without a total.
func filtered(ctx context.Context, tx *sqldb.Tx, partnerID int64, f Filter, p paging.Page) (List, error) {
	after, err := ordinalAfter(ctx, tx, partnerID, f.After)
	if err != nil {
		return List{}, err
	}
	// Absent conditions are left out, so that each combination uses its index.
	where := `partner_id = $1 AND ord > $2`
	args := []any{partnerID, after, p.Limit + 1, p.Offset()}
	if f.Kind != 0 {
		args = append(args, int(f.Kind))
		where += fmt.Sprintf(` AND kind = $%d`, len(args))
	}
	if f.Kind != 0 && f.Kind != Purchase {
		where += ` AND kind <> ` + sqldb.Literal(Purchase) // the condition of the index
	}
	if f.Status != 0 {
		args = append(args, int(f.Status))
		where += fmt.Sprintf(` AND status = $%d`, len(args))
	}
	// The subquery walks only the index; SQLite uses this index for nothing else.
	events, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM events
		WHERE partner_id = $1 AND ord IN (SELECT ord FROM events
		WHERE `+where+` ORDER BY ord `+direction(p)+` LIMIT $3 OFFSET $4)
		ORDER BY ord `+direction(p), args...)
	list := List{Events: events, Total: -1}
	if list.More = int64(len(events)) > p.Limit; list.More {
		list.Events = events[:p.Limit]
	}
	return list, err
}

// ordinalAfter returns the ordinal of the partner's last event with an id up to after. A cursor is
// nearly always the id of one of the partner's events: one lookup. Any other number is found by
// binary search, because ids rise with ordinals, so that no further index is needed.
func ordinalAfter(ctx context.Context, tx *sqldb.Tx, partnerID, after int64) (int64, error) {
	if after <= 0 {
		return 0, nil
	}
	ord, err := sqldb.One(
		ctx,
		tx,
		sqldb.Value[int64],
		`SELECT ord FROM events WHERE id = $1 AND partner_id = $2`,
		after,
		partnerID,
	)
	if !errors.Is(err, sqldb.ErrNone) {
		return ord, err
	}
	total, err := sqldb.One(
		ctx,
		tx,
		sqldb.Value[int64],
		`SELECT coalesce(max(ord), 0) FROM events WHERE partner_id = $1`,
		partnerID,
	)
	if err != nil {
		return 0, err
	}
	above := sort.Search(int(total), func(i int) bool {
		id, e := sqldb.One(
			ctx,
			tx,
			sqldb.Value[int64],
			`SELECT id FROM events WHERE partner_id = $1 AND ord = $2`,
			partnerID,
			int64(i+1),
		)
		err = errors.Join(err, e)
		return id > after
	})
	return int64(above), err
}

// Feed returns the events of all partners after an id, oldest first, and whether
// there are more. Ids of different partners may be committed out of order, so it
// stops before the lowest id that an open transaction may still commit: a reader
// that continues from the last id it read misses nothing.
func (l *Log) Feed(ctx context.Context, after int64, limit int) (events []Event, more bool, err error) {
	stable, err := l.DB.StableUpTo(ctx, "event_ids")
	if err != nil {
		return nil, false, fmt.Errorf("read up to which id events are stable: %w", err)
	}
	events, err = sqldb.All(ctx, l.DB, scan, `SELECT `+columns+` FROM events WHERE id > $1 AND id <= $2
		ORDER BY id LIMIT $3`, after, stable, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("read the feed of events: %w", err)
	}
	if more = len(events) > limit; more {
		events = events[:limit]
	}
	return events, more, nil
}

// Get returns one event, without its responses.
func (l *Log) Get(ctx context.Context, id int64) (Event, error) {
	e, err := sqldb.One(ctx, l.DB, scan, `SELECT `+columns+` FROM events WHERE id = $1`, id)
	if errors.Is(err, sqldb.ErrNone) {
		return Event{}, fault.New(fault.Missing, CodeUnknownEvent, "There is no event %d.", id)
	}
	if err != nil {
		return Event{}, fmt.Errorf("read event %d: %w", id, err)
	}
	return e, nil
}

// Count returns the number of events.
func (l *Log) Count(ctx context.Context) (int64, error) {
	n, err := sqldb.One(ctx, l.DB, sqldb.Value[int64], `SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM event_blocks`)
	if err != nil {
		return 0, fmt.Errorf("count events: %w", err)
	}
	return n, nil
}

func direction(p paging.Page) string {
	if p.Order == paging.OldestFirst {
		return "ASC"
	}
	return "DESC"
}

func side(p paging.Page) string {
	if p.Order == paging.OldestFirst {
		return ">="
	}
	return "<="
}
