// Package stats counts changes of licenses per partner and day, and results of webhook attempts per
// partner and hour. It owns the tables stats_cursors, stats_days, stats_hours, stats_failures and
// stats_refunds. Days are days in UTC.
//
// CountRefund counts refunds as they happen. Nothing else is counted in the transaction of a sale
// or of an attempt. A job adds up events and attempts in the order of their ids, a batch at a time.
// It moves a cursor in the transaction that adds to the counters, so that each is counted exactly
// once. Reads add the rows after the cursor, up to a limit: right after an upgrade the numbers of a
// large database lag behind until the job has caught up, and say so.
package stats

import (
	"time"

	"claviger/internal/sqldb"
)

// Store reads the numbers, and counts them. DB and Now must be set.
type Store struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// HoursKept is the retention of hourly numbers; daily numbers stay forever.
const HoursKept = 90 * 24 * time.Hour

// soon is the time after its sale within which a license counts as activated soon.
const soon = 7 * 24 * time.Hour

// Day counts changes of a partner's licenses on a day.
type Day struct {
	At            time.Time // its start, in UTC
	Sold          int64
	Activated     int64 // became active from any other status
	Deactivated   int64 // became deactivated
	Refunded      int64 // became deactivated by a refund
	ActivatedSoon int64 // of those sold on the day: activated within seven days so far
}

// Hour counts the results of delivery attempts in an hour.
type Hour struct {
	At        time.Time // its start
	Succeeded int64
	Failed    int64
	Latency   Histogram // of answered attempts
}

// Failures counts the failed attempts of an hour with the same status.
type Failures struct {
	Hour    time.Time
	Status  int // 0: no answer
	Count   int64
	FirstAt time.Time
	LastAt  time.Time
}

// bounds are the upper bounds of the histogram's buckets, in milliseconds. Each has a column in
// stats_hours, beside le_more.
var bounds = [...]int64{5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10000}

// Histogram counts durations by bucket.
type Histogram [len(bounds) + 1]int64

func (h *Histogram) add(d time.Duration) {
	i := 0
	for i < len(bounds) && d.Milliseconds() > bounds[i] {
		i++
	}
	h[i]++
}

// Plus adds another histogram.
func (h *Histogram) Plus(o Histogram) {
	for i := range h {
		h[i] += o[i]
	}
}

// Total returns the number of durations.
func (h *Histogram) Total() (n int64) {
	for _, c := range h {
		n += c
	}
	return n
}

// Quantile estimates the duration that a fraction q of all does not exceed, by interpolation within
// its bucket. It returns false if the histogram is empty.
func (h *Histogram) Quantile(q float64) (time.Duration, bool) {
	total := h.Total()
	if total == 0 {
		return 0, false
	}
	rank := q * float64(total)
	low := int64(0)
	for i, high := range bounds {
		if n := float64(h[i]); n > 0 && rank <= n {
			ms := float64(low) + rank/n*float64(high-low)
			return time.Duration(ms * float64(time.Millisecond)).Round(time.Millisecond), true
		}
		rank -= float64(h[i])
		low = high
	}
	return time.Duration(low) * time.Millisecond, true // it was longer, but connections are cut soon after
}

// dayOf and hourOf return the day and the hour of a time in UTC, counted from 1970.
func dayOf(t time.Time) int64  { return t.Unix() / 86400 }
func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

func timeOfDay(day int64) time.Time   { return time.Unix(day*86400, 0).UTC() }
func timeOfHour(hour int64) time.Time { return time.Unix(hour*3600, 0).UTC() }
