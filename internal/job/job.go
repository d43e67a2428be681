// Package job stores the last run of each background job, its duration and its result, so that
// people notice a job that fails or stops. It owns the table job_runs. Jobs schedule themselves,
// and cluster decides on which node they run.
package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"claviger/internal/sqldb"
)

// writeEvery is the minimum interval for storing runs with an unchanged result: some jobs look for
// work several times a second.
const writeEvery = time.Minute

// Late is the delay after which a missing run is reported. It is longer than writeEvery: an
// unwritten run is not missing.
const Late = 5 * time.Minute

// writeTime is the timeout of one write.
const writeTime = 5 * time.Second

// maxError is the maximum number of characters stored of an error.
const maxError = 500

// Run is the last run of a job.
type Run struct {
	Job         string
	Node        string // node that ran it
	BeganAt     time.Time
	Took        time.Duration
	NextAt      time.Time // next scheduled run; zero: it runs once
	SucceededAt time.Time // of the last successful run; zero: none
	FailedSince time.Time // zero: the last run succeeded
	Error       string
}

// Failed reports whether the last run failed.
func (r Run) Failed() bool { return !r.FailedSince.IsZero() }

// Late reports whether the next run is overdue.
func (r Run) Late(now time.Time) bool { return !r.NextAt.IsZero() && now.Sub(r.NextAt) > Late }

// Log stores the runs of a node's jobs.
type Log struct {
	DB   *sqldb.DB
	Now  func() time.Time
	Node string       // name of this node
	Log  *slog.Logger // nil: slog.Default()

	mu      sync.Mutex
	written map[string]Run
}

// Ran is called by a job at the end of each run, with its duration and its error.
type Ran func(ctx context.Context, took time.Duration, err error)

// Run calls f if it is not nil.
func (f Ran) Run(ctx context.Context, began time.Time, err error) {
	if f != nil && ctx.Err() == nil { // an interrupted run says nothing about the job
		f(ctx, time.Since(began), err)
	}
}

// Of returns the function that a job calls at the end of each run. every is the interval of runs;
// 0: it runs once.
func (l *Log) Of(name string, every time.Duration) Ran {
	return func(ctx context.Context, took time.Duration, err error) {
		now := l.Now()
		r := Run{Job: name, Node: l.Node, BeganAt: now.Add(-took), Took: took, SucceededAt: now}
		if every > 0 {
			r.NextAt = now.Add(every)
		}
		if err != nil {
			r.SucceededAt, r.FailedSince, r.Error = time.Time{}, now, short(err.Error())
		}
		if !l.due(r, now) {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, writeTime)
		defer cancel()
		if err := l.write(ctx, r); err != nil {
			l.writeNext(name)
			cmp.Or(l.Log, slog.Default()).Warn("the run of a job could not be recorded", "job", name, "err", err)
		}
	}
}

// due reports whether a run must be written, and records that it is.
func (l *Log) due(r Run, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.written[r.Job]
	if age := now.Sub(last.BeganAt.Add(last.Took)); ok && last.Error == r.Error && age >= 0 && age < writeEvery {
		return false
	}
	if l.written == nil {
		l.written = map[string]Run{}
	}
	l.written[r.Job] = r
	return true
}

// writeNext makes the next run be written in any case.
func (l *Log) writeNext(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.written, name)
}

// Forget deletes the last run of a job that is switched off.
func (l *Log) Forget(ctx context.Context, name string) error {
	return l.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM job_runs WHERE job = $1`, name)
		return nil
	})
}

func (l *Log) write(ctx context.Context, r Run) error {
	return l.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(
			`INSERT INTO job_runs (job, node, began_at, took_us, next_at, succeeded_at, failed_since, error)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (job)
			DO UPDATE SET node = excluded.node, began_at = excluded.began_at, took_us = excluded.took_us,
			next_at = excluded.next_at,
				succeeded_at = CASE WHEN excluded.succeeded_at <> 0 THEN excluded.succeeded_at
				ELSE job_runs.succeeded_at END,
				failed_since = CASE WHEN excluded.failed_since <> 0
				AND job_runs.failed_since <> 0 THEN job_runs.failed_since ELSE excluded.failed_since END,
				error = excluded.error`,
			r.Job,
			r.Node,
			r.BeganAt,
			r.Took.Microseconds(),
			r.NextAt,
			r.SucceededAt,
			r.FailedSince,
			r.Error,
		)
		return nil
	})
}

// short returns an error as it is stored.
func short(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if r := []rune(s); len(r) > maxError {
		s = string(r[:maxError]) + "…"
	}
	return cmp.Or(s, "unknown error")
}

func scan(r *sqldb.Row, v *Run) error {
	var us int64
	err := r.Scan(&v.Job, &v.Node, &v.BeganAt, &us, &v.NextAt, &v.SucceededAt, &v.FailedSince, &v.Error)
	v.Took = time.Duration(us) * time.Microsecond
	return err
}

// runColumns are the columns that scan reads.
const runColumns = `job, node, began_at, took_us, next_at, succeeded_at, failed_since, error`

// Last returns the last run of a job; zero: it has never run.
func Last(ctx context.Context, r sqldb.Reader, name string) (Run, error) {
	last, err := sqldb.One(ctx, r, scan, `SELECT `+runColumns+` FROM job_runs WHERE job = $1`, name)
	if errors.Is(err, sqldb.ErrNone) {
		return Run{}, nil
	}
	if err != nil {
		return Run{}, fmt.Errorf("read the last run of a job: %w", err)
	}
	return last, nil
}

// Runs returns the last run of every job that has ever run, by name.
func Runs(ctx context.Context, r sqldb.Reader) ([]Run, error) {
	list, err := sqldb.All(ctx, r, scan,
		`SELECT `+runColumns+` FROM job_runs ORDER BY job`)
	if err != nil {
		return nil, fmt.Errorf("read the runs of jobs: %w", err)
	}
	return list, nil
}

// Troubled returns the runs that failed or are late.
func Troubled(list []Run, now time.Time) []Run {
	return slices.DeleteFunc(slices.Clone(list), func(r Run) bool { return !r.Failed() && !r.Late(now) })
}
