package history

import (
	"context"
	"fmt"
	"math"
	"time"

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
	Next       int64     // the next page has events before this one; 0: there is none
	SearchedTo time.Time // up to when was searched, when that ended before the page was full
}

// skew is how far the times of events that follow one another may be out of order, since
// each node has a clock of its own.
const skew = time.Minute

// The sources of deliveries of all partners. Each yields rows before an event ($1), by the
// order of events, which is nearly that of their times.
var (
	allDeliveries = `(SELECT event_id, created_at, partner_id, license_id, license_key, kind FROM deliveries WHERE event_id < $1
		ORDER BY event_id DESC LIMIT $2) AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id`
	allOpen    = fromOutbox(allOf(`TRUE`)) // what waits is picked from it
	allFailing = fromOutbox(allOf(webhook.IsPending + ` AND attempts > 0`))
	allGivenUp = fromOutbox(allOf(webhook.IsGivenUp))
	allFailed  = fromOutbox(`SELECT * FROM (SELECT * FROM (` + allOf(webhook.IsPending+` AND attempts > 0`) + `) AS failing UNION ALL SELECT * FROM (` +
		allOf(webhook.IsGivenUp) + `) AS given_up) AS failed ORDER BY event_id DESC LIMIT $2`)
)

func allOf(condition string) string {
	return `SELECT event_id, state, attempts, due_at FROM outbox WHERE ` + condition + ` AND event_id < $1 ORDER BY event_id DESC LIMIT $2`
}

// sourceOfAll is the smallest source that has all that the filter means.
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

// ListAll returns a page of the deliveries of all partners, newest first, before an event;
// 0 stands for all. It does not look for one license or event.
func (r Reader) ListAll(ctx context.Context, f Filter, before int64, limit int) (AllList, error) {
	var list AllList
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		w := allWalk{tried: lastTried{tx, map[int64]counted{}}, filter: f, before: before, partners: map[int64]int64{}}
		if before == 0 {
			w.before = math.MaxInt64
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

// allWalk reads the deliveries of all partners, newest first.
type allWalk struct {
	tried      lastTried
	filter     Filter
	before     int64
	partners   map[int64]int64 // by event
	next       int64
	searchedTo time.Time
}

// run returns what the filter means, until the page is full or the search is long enough.
func (w *allWalk) run(ctx context.Context, limit int) ([]Delivery, error) {
	var found []Delivery
	for looked := 0; looked < maxLooked; looked += searchChunk {
		rows, err := w.read(ctx)
		if err != nil {
			return nil, err
		}
		more, err := w.filter.among(ctx, w.tried, rows)
		if err != nil {
			return nil, err
		}
		if found = append(found, more...); len(found) > limit {
			w.next, w.searchedTo = found[limit-1].EventID, time.Time{}
			return found[:limit], nil
		}
		if len(rows) < searchChunk || !w.filter.From.IsZero() && rows[len(rows)-1].CreatedAt.Before(w.filter.From.Add(-skew)) {
			w.next, w.searchedTo = 0, time.Time{}
			return found, nil
		}
		last := rows[len(rows)-1]
		w.before, w.next, w.searchedTo = last.EventID, last.EventID, last.CreatedAt
	}
	return found, nil
}

// read reads the next rows.
func (w *allWalk) read(ctx context.Context) ([]Delivery, error) {
	rows, err := sqldb.All(ctx, w.tried.tx, func(r *sqldb.Row, d *OfPartner) error {
		var s deliveryState
		err := r.Scan(append([]any{&d.PartnerID}, s.targets(&d.Delivery)...)...)
		s.apply(&d.Delivery)
		return err
	}, `SELECT d.partner_id, `+deliveryColumns+` FROM `+w.filter.sourceOfAll()+` ORDER BY d.event_id DESC LIMIT $2`, w.before, searchChunk)
	list := make([]Delivery, len(rows))
	for i, d := range rows {
		list[i], w.partners[d.EventID] = d.Delivery, d.PartnerID
	}
	return list, err
}
