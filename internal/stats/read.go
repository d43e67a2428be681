package stats

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"claviger/internal/event"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// The limits of a query.
const (
	MaxDays  = 400
	MaxHours = int(HoursKept / time.Hour)
)

// maxUncounted is the number of events, and of attempts, that a read adds because the job has not
// counted them yet.
const maxUncounted = 2000

// Query selects the numbers of the last days and hours, including today and the current hour.
type Query struct{ Days, Hours int }

// Numbers contains the numbers of a partner. It has every day and hour of the query, the oldest
// first.
type Numbers struct {
	Days     []Day
	Hours    []Hour
	Failures []Failures // by hour, then by status; only hours with failures

	// CountedTo is not zero while the job lags behind: everything after it is missing.
	CountedTo time.Time
}

// Read returns the numbers of a partner, in one snapshot: the counters and the rows not counted
// yet.
func (b *Store) Read(ctx context.Context, partnerID int64, q Query) (Numbers, error) {
	now := b.Now()
	firstDay := dayOf(now) - int64(q.Days) + 1
	firstHour := hourOf(now) - int64(q.Hours) + 1
	t := newTally()
	var countedTo time.Time
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		t = newTally()
		countedTo = time.Time{}
		if err := t.addCounters(ctx, tx, partnerID, firstDay, firstHour); err != nil {
			return err
		}
		countedTo, err = t.addUncounted(ctx, tx, partnerID, now.Add(-HoursKept))
		return err
	})
	if err != nil {
		return Numbers{}, fmt.Errorf("read the numbers of partner %d: %w", partnerID, err)
	}
	n := Numbers{CountedTo: countedTo, Days: make([]Day, q.Days), Hours: make([]Hour, q.Hours)}
	for i := range n.Days {
		n.Days[i] = *of(t.days, key{partnerID, firstDay + int64(i)})
		n.Days[i].At = timeOfDay(firstDay + int64(i))
	}
	for i := range n.Hours {
		n.Hours[i] = *of(t.hours, key{partnerID, firstHour + int64(i)})
		n.Hours[i].At = timeOfHour(firstHour + int64(i))
	}
	for k, f := range t.failures {
		if k.partnerID == partnerID && k.at >= firstHour {
			f.Hour = timeOfHour(k.at)
			f.Status = k.status
			n.Failures = append(n.Failures, *f)
		}
	}
	slices.SortFunc(n.Failures, func(a, b Failures) int {
		if c := a.Hour.Compare(b.Hour); c != 0 {
			return c
		}
		return a.Status - b.Status
	})
	return n, nil
}

// addCounters reads the counters.
func (t *tally) addCounters(ctx context.Context, tx *sqldb.Tx, partnerID, firstDay, firstHour int64) error {
	type day struct {
		at int64
		Day
	}
	days := sqldb.QueueQuery(tx, func(r *sqldb.Row, d *day) error {
		return r.Scan(&d.at, &d.Sold, &d.Activated, &d.Deactivated, &d.Refunded, &d.ActivatedSoon)
	}, `SELECT day, sold, activated, deactivated, refunded, activated_soon FROM stats_days WHERE partner_id = $1
		AND day >= $2`, partnerID, firstDay)
	type hour struct {
		at int64
		Hour
	}
	hours := sqldb.QueueQuery(tx, func(r *sqldb.Row, h *hour) error {
		to := []any{&h.at, &h.Succeeded, &h.Failed}
		for i := range h.Latency {
			to = append(to, &h.Latency[i])
		}
		return r.Scan(to...)
	}, `SELECT hour, succeeded, failed, `+strings.Join(latencyColumns, ", ")+` FROM stats_hours WHERE partner_id = $1
		AND hour >= $2`, partnerID, firstHour)
	type failed struct {
		at     int64
		status int
		Failures
	}
	failures, err := sqldb.All(ctx, tx, func(r *sqldb.Row, f *failed) error {
		return r.Scan(&f.at, &f.status, &f.Count, &f.FirstAt, &f.LastAt)
	}, `SELECT hour, status, count, first_at, last_at FROM stats_failures WHERE partner_id = $1
		AND hour >= $2`, partnerID, firstHour)
	if err != nil {
		return err
	}
	for _, f := range failures {
		t.failures[failureKey{key{partnerID, f.at}, f.status}] = &f.Failures
	}
	dayList, err := days.All(ctx)
	if err != nil {
		return err
	}
	for _, d := range dayList {
		t.days[key{partnerID, d.at}] = &d.Day
	}
	hourList, err := hours.All(ctx)
	for _, h := range hourList {
		t.hours[key{partnerID, h.at}] = &h.Hour
	}
	return err
}

// addUncounted adds the rows that the job has not counted yet. It reads those of all partners,
// because the only index is by id. If there are too many, it adds the first ones and returns the
// time up to which everything is counted.
func (t *tally) addUncounted(
	ctx context.Context,
	tx *sqldb.Tx,
	partnerID int64,
	since time.Time,
) (countedTo time.Time, err error) {
	at, err := cursor(ctx, tx, ofEvents)
	if err != nil {
		return countedTo, err
	}
	events, err := event.Facts(ctx, tx, at, math.MaxInt64, maxUncounted)
	if err != nil {
		return countedTo, err
	}
	for _, f := range events {
		if f.PartnerID == partnerID {
			t.event(f)
		}
	}
	if len(events) == maxUncounted {
		countedTo = events[len(events)-1].At
	}
	if at, err = cursor(ctx, tx, ofAttempts); err != nil {
		return countedTo, err
	}
	attempts, err := history.AttemptFacts(ctx, tx, at, math.MaxInt64, maxUncounted)
	for _, f := range attempts {
		if f.PartnerID == partnerID {
			t.attempt(f, since)
		}
	}
	if n := len(attempts); n == maxUncounted && (countedTo.IsZero() || attempts[n-1].At.Before(countedTo)) {
		countedTo = attempts[n-1].At
	}
	return countedTo, err
}

// Expiring lists the rows that expire: the numbers of hours.
func Expiring() []prune.Rule {
	return []prune.Rule{
		{Table: "stats_hours", Key: "partner_id, hour", At: "hour", Keep: HoursKept, Hours: true},
		{Table: "stats_failures", Key: "partner_id, hour, status", At: "hour", Keep: HoursKept, Hours: true},
	}
}
