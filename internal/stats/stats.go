// Package stats counts what happens to licenses per partner and day, and what attempts to
// deliver webhooks meet per partner and hour. It owns the tables stats_cursors,
// stats_days, stats_hours, stats_failures and stats_refunds. Days are days in UTC.
//
// Refunds are counted as they happen, by CountRefund. Nothing is counted in the
// transaction of a sale or of an attempt: a job adds up events
// and attempts in the order of their ids, a batch at a time, and moves a cursor in the
// transaction that adds to the counters, so that each is counted exactly once. What is
// behind the cursor is added when the numbers are read, if it is not too much: right
// after an upgrade the numbers of a large database lag behind until the job has caught
// up, and say so.
package stats

import (
	"time"

	"claviger/internal/sqldb"
)

// Book reads the numbers, and counts them. DB and Now must be set.
type Book struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// HoursKept is for how long the numbers of hours stay; those of days stay for ever.
const HoursKept = 90 * 24 * time.Hour

// soon is within what time after its sale a license counts as activated soon.
const soon = 7 * 24 * time.Hour

// Day is what happened to a partner's licenses on a day.
type Day struct {
	At            time.Time // its beginning, in UTC
	Sold          int64
	Activated     int64 // became active, whatever they were before
	Deactivated   int64 // became deactivated
	Refunded      int64 // became so by a refund
	ActivatedSoon int64 // of those sold on the day: activated within seven days so far
}

// Hour is what attempts to deliver in an hour met.
type Hour struct {
	At        time.Time // its beginning
	Succeeded int64
	Failed    int64
	Latency   Histogram // of attempts that were answered
}

// Failures is the failed attempts of an hour that met the same.
type Failures struct {
	Hour    time.Time
	Status  int // that was answered; 0: none was
	Count   int64
	FirstAt time.Time
	LastAt  time.Time
}

// bounds are the upper bounds of the histogram's parts, in milliseconds. They are the
// columns of stats_hours, le_more aside.
var bounds = [...]int64{5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10000}

// Histogram counts durations by how long they were.
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

// Total is how many durations were counted.
func (h *Histogram) Total() (n int64) {
	for _, c := range h {
		n += c
	}
	return n
}

// Quantile estimates the duration that a part q of all does not exceed, within the bounds
// between which it lies. It is false if nothing was counted.
func (h *Histogram) Quantile(q float64) (time.Duration, bool) {
	total := h.Total()
	if total == 0 {
		return 0, false
	}
	rank, low := q*float64(total), int64(0)
	for i, high := range bounds {
		if n := float64(h[i]); n > 0 && rank <= n {
			ms := float64(low) + rank/n*float64(high-low)
			return time.Duration(ms * float64(time.Millisecond)).Round(time.Millisecond), true
		}
		rank -= float64(h[i])
		low = high
	}
	return time.Duration(low) * time.Millisecond, true // it was longer, and the connection is cut soon after
}

// dayOf and hourOf are the day and the hour of a time in UTC, counted from 1970.
func dayOf(t time.Time) int64  { return t.Unix() / 86400 }
func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

func timeOfDay(day int64) time.Time   { return time.Unix(day*86400, 0).UTC() }
func timeOfHour(hour int64) time.Time { return time.Unix(hour*3600, 0).UTC() }
