// Package batch has the common part of jobs that people start, pause, resume and cancel, and that a
// node processes in batches: the state of such a job, and the loop that does the next batch. The
// jobs and their tables belong to the packages that know the work.
package batch

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"claviger/internal/job"
)

// Status is the state of a job in a word.
type Status string

// The statuses.
const (
	Running Status = "running"
	Paused  Status = "paused"
	Stopped Status = "stopped" // before it was done: State.Stopped has the reason
	Done    Status = "done"
)

// Cancelled is the reason of a job that someone cancelled.
const Cancelled = "It was cancelled."

// State is the state of a job.
type State struct {
	PausedAt   time.Time // zero: not paused
	Stopped    string    // reason for an early end; "": none
	FinishedAt time.Time // zero: not finished
}

// Status returns the state in a word.
func (s State) Status() Status {
	switch {
	case s.Stopped != "":
		return Stopped
	case !s.FinishedAt.IsZero():
		return Done
	case !s.PausedAt.IsZero():
		return Paused
	}
	return Running
}

// Open reports whether there is work left.
func (s State) Open() bool { return s.FinishedAt.IsZero() }

// Pause makes the job wait, and reports whether that is a change.
func (s *State) Pause(now time.Time) bool {
	paused := s.PausedAt.IsZero()
	if paused {
		s.PausedAt = now
	}
	return paused
}

// Resume makes the job continue, and reports whether that is a change.
func (s *State) Resume() bool {
	paused := !s.PausedAt.IsZero()
	s.PausedAt = time.Time{}
	return paused
}

// Stop ends the job.
func (s *State) Stop(why string, now time.Time) {
	s.Stopped = why
	s.FinishedAt = now
}

// Worker processes jobs. Two nodes may do so for a moment: Once must be safe beside another.
type Worker struct {
	// does the next batch, and reports whether there may be another; see Turn
	Once  func(ctx context.Context) (more bool, err error)
	What  string        // names the work in the log: "a redelivery"
	Every time.Duration // interval of looking for work; 0: see busyEvery
	Log   *slog.Logger
	Ran   job.Ran // called after each batch; nil: not called
}

// A worker looks for work five times a second, and every other second after idleLooks looks in a
// row without work: mostly there is none, and each look costs a query.
const (
	busyEvery = time.Second / 5
	idleEvery = 2 * time.Second
	idleLooks = 50
)

// pause returns the delay after a number of looks in a row without work.
func (w *Worker) pause(looks int) time.Duration {
	if w.Every == 0 && looks > idleLooks {
		return idleEvery
	}
	return cmp.Or(w.Every, busyEvery)
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	failed := false
	for looks := idleLooks; ; looks++ {
		began := time.Now()
		more, err := w.Once(ctx)
		w.Ran.Run(ctx, began, err)
		if err != nil && !more && ctx.Err() == nil && !failed {
			w.Log.Error(w.What+" failed; it is tried again", "err", err)
		}
		failed = err != nil
		if more && ctx.Err() == nil {
			looks = 0
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.pause(looks)):
		}
	}
}
