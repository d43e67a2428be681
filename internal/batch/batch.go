// Package batch is what jobs have in common that people begin and can pause, resume and
// cancel, and that a node works off in batches: how such a job stands, and the loop that
// does the next batch. The jobs themselves, with their tables, belong to the packages
// that know what is done.
package batch

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"claviger/internal/job"
)

// Status is how a job stands, in a word.
type Status string

// The statuses.
const (
	Running Status = "running"
	Paused  Status = "paused"
	Stopped Status = "stopped" // before it was done: Stopped says why
	Done    Status = "done"
)

// Cancelled is why a job ended that somebody cancelled.
const Cancelled = "It was cancelled."

// State is how a job stands.
type State struct {
	PausedAt   time.Time // zero: it is not paused
	Stopped    string    // why it ended before its time; "": it did not
	FinishedAt time.Time // zero: it is not finished
}

// Status is the state in a word.
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

// Open reports whether there is something left to do.
func (s State) Open() bool { return s.FinishedAt.IsZero() }

// Pause has the job wait, and reports whether that is new.
func (s *State) Pause(now time.Time) bool {
	paused := s.PausedAt.IsZero()
	if paused {
		s.PausedAt = now
	}
	return paused
}

// Resume has the job go on, and reports whether that is new.
func (s *State) Resume() bool {
	paused := !s.PausedAt.IsZero()
	s.PausedAt = time.Time{}
	return paused
}

// Stop ends the job.
func (s *State) Stop(why string, now time.Time) { s.Stopped, s.FinishedAt = why, now }

// Worker works jobs off. There can be a moment when two nodes do: what Once does must be
// safe beside another.
type Worker struct {
	Once  func(ctx context.Context) (more bool, err error) // does the next batch, and reports whether there was one
	What  string                                           // what is done, for the log: "a redelivery"
	Every time.Duration                                    // how often to look for work; 0: five times a second
	Log   *slog.Logger
	Ran   job.Ran // called after each batch; nil: not called
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	ticker := time.NewTicker(cmp.Or(w.Every, time.Second/5))
	defer ticker.Stop()
	failed := false
	for {
		began := time.Now()
		more, err := w.Once(ctx)
		w.Ran.Run(ctx, began, err)
		if err != nil && ctx.Err() == nil && !failed {
			w.Log.Error(w.What+" failed; it is tried again", "err", err)
		}
		if failed = err != nil; more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
