package batch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Number of attempts of work that fails because of an internal error, before it is given up.
const (
	MaxTries = 10 // of a batch, in about an hour: then the job is stopped
	RowTries = 5  // of one row of a batch, in about three minutes
)

// waits are the delays after the first failure, the second and so on.
var waits = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}

// NextTry returns the time of the next attempt after a number of failures in a row.
func NextTry(now time.Time, tries int) time.Time {
	return now.Add(waits[min(max(tries, 1), len(waits))-1])
}

// Away reports whether an error says nothing about the work: the database is unavailable, or the
// node is being stopped. It does not count as a try.
func Away(ctx context.Context, err error) bool {
	var e interface{ Unavailable() bool }
	return ctx.Err() != nil || errors.As(err, &e) && e.Unavailable()
}

// NewFailureID returns an id that people who see a failure can look up in the log: err_ and 26
// random lower-case letters and digits.
func NewFailureID() string { return "err_" + strings.ToLower(rand.Text()) }

// GivenUp returns the text shown for work that was given up after a number of tries. The error
// itself is in the log, under the id.
func GivenUp(tries int, id string) string {
	return fmt.Sprintf(
		"It failed %d times because of an internal error. The log of the service has the cause under %s.",
		tries,
		id,
	)
}

// Turn is the next batch of a job. A job rests after a failed batch, so that other jobs get their
// turns. It is stopped after repeated failures.
type Turn struct {
	What  string // names the work in the log: "redelivery"
	Job   int64  // its id
	Tries int    // previous failures of the batch
	Now   func() time.Time
	Log   *slog.Logger // nil: slog.Default()

	Do func(ctx context.Context) (more bool, err error) // does the batch
	// stores that the job rests; 0 tries: that it works again
	PutOff func(ctx context.Context, tries int, until time.Time) error
	Stop   func(ctx context.Context, reason string) error // ends the job
}

// Take does the batch, and reports whether another one may be done now, of this job or the next. It
// has already logged an error that it returns with more.
func (t *Turn) Take(ctx context.Context) (more bool, err error) {
	more, err = t.Do(ctx)
	switch {
	case err == nil && t.Tries > 0:
		return more, t.PutOff(ctx, 0, time.Time{})
	case err == nil:
		return more, nil
	case Away(ctx, err):
		return false, err
	}
	tries := t.Tries + 1
	id := NewFailureID()
	cmp.Or(t.Log, slog.Default()).
		Error("a batch failed", "what", t.What, "job", t.Job, "tries", tries, "failure", id, "err", err)
	if tries < MaxTries {
		put := t.PutOff(ctx, tries, NextTry(t.Now(), tries))
		return put == nil, errors.Join(err, put)
	}
	stop := t.Stop(ctx, GivenUp(tries, id))
	return stop == nil, errors.Join(err, stop)
}
