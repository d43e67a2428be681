package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// OfPartner is a delivery with its partner.
type OfPartner struct {
	PartnerID int64
	Delivery
}

// AllList is one page of the deliveries of all partners, newest first.
type AllList struct {
	Deliveries []OfPartner
	Next       Key       // start of the next page; zero: there is none
	SearchedTo time.Time // time reached by a search that ended before the page was full
}

// skew is how far the times of consecutive events may be out of order: each node has its own clock.
const skew = time.Minute

// The sources of deliveries of all partners. Each yields rows before an event ($1) in the order of
// events, which is nearly the order of their times.
var (
	allDeliveries = `(SELECT event_id, created_at, partner_id, license_id, license_key, kind FROM deliveries
		WHERE event_id < $1
		ORDER BY event_id DESC LIMIT $2) AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id`
	allOpen    = fromOutbox(allOf(`TRUE`)) // waiting deliveries are picked from it
	allFailing = fromOutbox(allOf(webhook.IsPending + ` AND attempts > 0`))
	allGivenUp = fromOutbox(allOf(webhook.IsGivenUp))
	allFailed  = fromOutbox(`SELECT * FROM (SELECT * FROM (` + allOf(
		webhook.IsPending+` AND attempts > 0`,
	) + `) AS failing UNION ALL SELECT * FROM (` +
		allOf(webhook.IsGivenUp) + `) AS given_up) AS failed ORDER BY event_id DESC LIMIT $2`)
)

func allOf(condition string) string {
	return `SELECT event_id, state, attempts, due_at FROM outbox WHERE ` + condition +
		` AND event_id < $1 ORDER BY event_id DESC LIMIT $2`
}

// sourceOfAll returns the smallest source that contains all matches of the filter.
func (f Filter) sourceOfAll() string {
	switch {
	case f.State == Failing:
		return allFailing
	case f.State == Exhausted, f.State == Superseded:
		return allGivenUp
	case f.State == Failed, f.Codes.failures():
		return allFailed
	case f.State == Waiting:
		return allOpen
	}
	return allDeliveries
}

// queryOfAll returns the statement for the next rows.
func (f Filter) queryOfAll() string {
	return `SELECT d.partner_id, ` + deliveryColumns + ` FROM ` + f.sourceOfAll() + ` ORDER BY d.event_id DESC LIMIT $2`
}

// ListAll returns a page of a partner's deliveries, or of all partners if partnerID is 0, newest
// first, after a key. With a license filter the caller must pass its partner. The partner of an
// event is looked up.
func (r Reader) ListAll(ctx context.Context, partnerID int64, f Filter, after Key, limit int) (AllList, error) {
	if partnerID == 0 && f.EventID != 0 {
		id, err := r.PartnerOf(ctx, f.EventID)
		if fault.Is(err, webhook.CodeUnknownEvent) {
			return AllList{}, nil
		}
		if err != nil {
			return AllList{}, err
		}
		partnerID = id
	}
	if partnerID != 0 || f.LicenseID != 0 {
		list, err := r.List(ctx, partnerID, f, after, limit)
		return AllList{Deliveries: list.Of(partnerID), Next: list.Next, SearchedTo: list.SearchedTo}, err
	}
	var list AllList
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		w := allWalk{
			tried: lastTried{tx, map[int64]counted{}}, filter: f, before: after.EventID,
			partners: map[int64]int64{},
		}
		if after.IsZero() {
			var err error
			if w.before, err = firstAfter(ctx, tx, f.To); err != nil {
				return err
			}
		}
		found, err := w.run(ctx, limit)
		if err != nil {
			return err
		}
		list = AllList{Next: w.next, SearchedTo: w.searchedTo}
		if err := w.tried.addAttempts(ctx, found); err != nil {
			return err
		}
		for _, d := range found {
			list.Deliveries = append(list.Deliveries, OfPartner{w.partners[d.EventID], d})
		}
		return nil
	})
	if err != nil {
		return AllList{}, fmt.Errorf("list deliveries of all partners: %w", err)
	}
	return list, nil
}

// PartnerOf returns the partner of an event.
func (r Reader) PartnerOf(ctx context.Context, eventID int64) (int64, error) {
	id, err := sqldb.One(
		ctx, r.DB, sqldb.Value[int64], `SELECT partner_id FROM deliveries WHERE event_id = $1`, eventID,
	)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return 0, webhook.UnknownEvent(eventID)
	case err != nil:
		return 0, fmt.Errorf("read whose an event is: %w", err)
	}
	return id, nil
}

// nextDelivery selects the first delivery at or after an event.
const nextDelivery = `SELECT event_id, created_at FROM deliveries WHERE event_id >= $1 ORDER BY event_id LIMIT 1`

// firstAfter returns an event at or after a time with few such events before it; for the zero time,
// the end of the list. No index has the times of all partners. Events are nearly in the order of
// time, so it is a binary search.
func firstAfter(ctx context.Context, tx *sqldb.Tx, at time.Time) (int64, error) {
	if at.IsZero() {
		return math.MaxInt64, nil
	}
	newest, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT coalesce(max(event_id), 0) FROM deliveries`)
	if err != nil {
		return 0, err
	}
	low := int64(0)
	high := newest + 1 // all events before low are earlier
	for low < high {
		middle := low + (high-low)/2
		next, err := sqldb.One(
			ctx, tx, func(r *sqldb.Row, k *Key) error { return r.Scan(&k.EventID, &k.At) }, nextDelivery,
			middle,
		)
		switch {
		case errors.Is(err, sqldb.ErrNone):
			high = middle
		case err != nil:
			return 0, err
		case next.At.Before(at.Add(skew)):
			low = next.EventID + 1
		default:
			high = middle
		}
	}
	return low, nil
}

// allWalk reads the deliveries of all partners, newest first.
type allWalk struct {
	tried      lastTried
	filter     Filter
	before     int64
	partners   map[int64]int64 // by event
	next       Key
	searchedTo time.Time
}

// run returns matching deliveries until the page is full or the search has reached its limit.
func (w *allWalk) run(ctx context.Context, limit int) ([]Delivery, error) {
	var found []Delivery
	chunk := limit + 1
	for looked := 0; looked < paging.MaxLooked; chunk = paging.NextChunk(chunk, looked) {
		rows, err := w.nextRows(ctx, chunk)
		if err != nil {
			return nil, err
		}
		more, err := w.filter.among(ctx, w.tried, rows)
		if err != nil {
			return nil, err
		}
		if found = append(found, more...); len(found) > limit {
			w.next = found[limit-1].Key()
			w.searchedTo = time.Time{}
			return found[:limit], nil
		}
		looked += chunk
		if len(rows) < chunk ||
			!w.filter.From.IsZero() && rows[len(rows)-1].CreatedAt.Before(w.filter.From.Add(-skew)) {
			w.next = Key{}
			w.searchedTo = time.Time{}
			return found, nil
		}
		last := rows[len(rows)-1]
		w.before, w.next, w.searchedTo = last.EventID, last.Key(), last.CreatedAt
	}
	return found, nil
}

// nextRows reads the next n rows.
func (w *allWalk) nextRows(ctx context.Context, n int) ([]Delivery, error) {
	rows, err := sqldb.All(ctx, w.tried.tx, func(r *sqldb.Row, d *OfPartner) error {
		var s deliveryState
		err := r.Scan(append([]any{&d.PartnerID}, s.targets(&d.Delivery)...)...)
		s.apply(&d.Delivery)
		return err
	}, w.filter.queryOfAll(), w.before, n)
	list := make([]Delivery, len(rows))
	for i, d := range rows {
		list[i] = d.Delivery
		w.partners[d.EventID] = d.PartnerID
	}
	return list, err
}
