package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Sending runs the dispatcher of this node. What keeps it from starting, such as a
// lock file that cannot be opened, is tried again for ever, and meanwhile the node
// is not ready.
type Sending struct {
	DB         *sqldb.DB
	Dispatcher *webhook.Dispatcher
	Log        *slog.Logger
	Wait       func(context.Context, time.Duration) // nil: by the clock

	locked bool // Run's own: the database is this process's, or needs no lock

	mu      sync.Mutex
	failure error // why it does not send; nil: it sends, or another process does
}

// The waits between two tries to start: they double from the first to the last.
const (
	firstStartWait = time.Second
	lastStartWait  = time.Minute
)

// startWait is how long to wait after so many failed tries.
func startWait(tries int) time.Duration {
	wait := firstStartWait
	for ; tries > 1 && wait < lastStartWait; tries-- {
		wait *= 2
	}
	return min(wait, lastStartWait)
}

// Run sends until ctx ends.
func (s *Sending) Run(ctx context.Context) {
	s.Dispatcher.Started = func() { s.note(nil) }
	for tries := 1; ; tries++ {
		err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		s.note(err)
		s.wait(ctx, startWait(tries))
	}
}

// once gets the lock, where there is one, and sends. It returns when ctx ends or
// one of the two failed to begin.
func (s *Sending) once(ctx context.Context) error {
	if !s.locked {
		alone, err := s.DB.AcquireExclusive(ctx, func() {
			s.note(nil)
			s.Log.Warn("another process serves this database; webhooks are left to it until it ends")
		})
		if err != nil {
			return err
		}
		s.locked, s.Dispatcher.Alone = true, alone
	}
	return s.Dispatcher.Run(ctx)
}

// note keeps why the node does not send, and logs when that begins, changes or ends.
func (s *Sending) note(err error) {
	s.mu.Lock()
	before := s.failure
	s.failure = err
	s.mu.Unlock()
	switch {
	case err != nil && (before == nil || before.Error() != err.Error()):
		s.Log.Error("webhooks are not sent; it is tried again until it works", "err", err)
	case err == nil && before != nil:
		s.Log.Info("what kept webhooks from being sent is over")
	}
}

func (s *Sending) wait(ctx context.Context, d time.Duration) {
	if s.Wait != nil {
		s.Wait(ctx, d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Ready returns why this node does not send although it should. A node that leaves
// the sending to another process on the same SQLite file is ready: it serves
// requests, and what they make is sent by the other.
func (s *Sending) Ready(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}
