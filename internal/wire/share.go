package wire

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"claviger/internal/fault"
)

// Defaults of a Share.
const (
	DefaultWaiting  = 100
	DefaultPatience = 5 * time.Second
)

// Share divides a limited resource among keys, such as connections or bytes. A key may hold as much
// as is free: one that wants all gets half, two get a third each, and some is left for the next.
// Calls beyond that wait in a queue per key, and the queues are served in turn. The cost: a single
// key leaves half unused. A nil Share has no limit.
type Share struct {
	Total    int64         // maximum for all keys together
	Waiting  int           // waiting calls per key; DefaultWaiting if zero
	Patience time.Duration // maximum wait of a call; DefaultPatience if zero

	mu      sync.Mutex
	used    int64              // guarded by mu, like all below
	holders map[string]*holder // keys that hold something or wait
	queue   list.List          // of *holder: those that wait, the next one first
}

// holder is a key that holds something or waits.
type holder struct {
	key     string
	used    int64
	waiters []*waiter     // oldest first
	turn    *list.Element // in the queue; nil: nothing waits
}

// waiter is a waiting call. ready is closed when it has its share.
type waiter struct {
	n     int64
	ready chan struct{}
}

// Acquire acquires n for the key; the caller returns it with Release. A call fails if the queue of
// its key is full or its wait ends. It gets a fault if its own key holds too much, and unavailable
// if others do.
func (s *Share) Acquire(ctx context.Context, key string, n int64) error {
	if s == nil {
		return nil
	}
	w, err := s.enter(key, n)
	if w == nil {
		return err
	}
	patience := time.NewTimer(orDefault(s.Patience, DefaultPatience))
	defer patience.Stop()
	select {
	case <-w.ready:
		return nil
	case <-patience.C:
	case <-ctx.Done():
	}
	return s.release(ctx, key, w)
}

// enter acquires n for the key immediately, or returns a waiter.
func (s *Share) enter(key string, n int64) (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.holder(key)
	n = min(n, s.Total)
	if len(h.waiters) == 0 && s.fits(h, n) {
		s.hold(h, n)
		return nil, nil
	}
	if len(h.waiters) >= orDefault(s.Waiting, DefaultWaiting) {
		return nil, refusal(h)
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	h.waiters = append(h.waiters, w)
	if h.turn == nil {
		h.turn = s.queue.PushBack(h)
	}
	return w, nil
}

// release removes a waiter from the queue, unless it just got its share.
func (s *Share) release(ctx context.Context, key string, w *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	default:
	}
	h := s.holders[key]
	err := refusal(h)
	if ctx.Err() != nil {
		err = fmt.Errorf("wait for other requests: %w", context.Cause(ctx))
	}
	h.waiters = slices.DeleteFunc(h.waiters, func(o *waiter) bool { return o == w })
	s.settle(h)
	s.serve() // waiters behind it may fit
	return err
}

// Resize changes the share of a call without waiting. Shrinking always succeeds. Growing may be
// refused as in Acquire, and then nothing changes.
func (s *Share) Resize(key string, from, to int64) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.holder(key)
	from = min(from, s.Total)
	to = min(to, s.Total)
	s.hold(h, -from)
	if to > from && !s.fits(h, to) {
		err := refusal(h)
		s.hold(h, from)
		return err
	}
	s.hold(h, to)
	s.settle(h)
	s.serve()
	return nil
}

// Release returns n of the key.
func (s *Share) Release(key string, n int64) { _ = s.Resize(key, n, 0) }

// holder returns the holder of the key.
func (s *Share) holder(key string) *holder {
	h, ok := s.holders[key]
	if !ok {
		h = &holder{key: key}
		if s.holders == nil {
			s.holders = map[string]*holder{}
		}
		s.holders[key] = h
	}
	return h
}

// fits reports whether the holder may have n more.
func (s *Share) fits(h *holder, n int64) bool { return h.used+n <= s.Total-s.used }

// hold adds n to the holder.
func (s *Share) hold(h *holder, n int64) {
	h.used += n
	s.used += n
}

// settle removes the holder from the queue and the map if it is no longer needed there.
func (s *Share) settle(h *holder) {
	if len(h.waiters) == 0 && h.turn != nil {
		s.queue.Remove(h.turn)
		h.turn = nil
	}
	if len(h.waiters) == 0 && h.used == 0 {
		delete(s.holders, h.key)
	}
}

// serve gives free shares to waiting calls, one call of each key in turn.
func (s *Share) serve() {
	for e := s.queue.Front(); e != nil; {
		h := e.Value.(*holder)
		w := h.waiters[0]
		if !s.fits(h, w.n) {
			e = e.Next()
			continue
		}
		s.hold(h, w.n)
		h.waiters = h.waiters[1:]
		close(w.ready)
		s.queue.MoveToBack(e)
		s.settle(h)
		e = s.queue.Front()
	}
}

// refusal returns the error for a call that cannot get its share.
func refusal(h *holder) error {
	if h.used == 0 {
		return errBusy
	}
	f := fault.New(
		fault.Throttled,
		codeTooManyAtOnce,
		"Too many of your requests are being answered at the same time. Wait as long as Retry-After says, send "+
			"fewer at "+
			"once, and read each answer as it comes.",
	)
	f.After = time.Second
	return f
}

// errBusy is the error if the call's key holds nothing: others hold everything.
var errBusy error = busyError{errors.New("other partners' requests are being answered")}

type busyError struct{ error }

// Unavailable turns the error into a 503.
func (busyError) Unavailable() bool { return true }

// orDefault returns v, or other if v is zero.
func orDefault[T int | time.Duration](v, other T) T {
	if v > 0 {
		return v
	}
	return other
}
