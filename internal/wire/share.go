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

// What a Share has unless told otherwise.
const (
	DefaultWaiting  = 100
	DefaultPatience = 5 * time.Second
)

// Share divides something limited among keys, such as connections or bytes. A key
// may hold as much as nobody holds: one that wants all gets half, two get a third
// each, and something is left for whoever comes next. What a call asks for beyond
// that waits, in a queue per key, and the queues are served in turn. The price: a
// key that is alone leaves half unused. A nil Share has enough for everybody.
type Share struct {
	Total    int64         // what all keys hold together, at most
	Waiting  int           // how many calls of a key may wait; DefaultWaiting when zero
	Patience time.Duration // how long a call waits; DefaultPatience when zero

	mu      sync.Mutex
	used    int64              // guarded by mu, as is all below
	holders map[string]*holder // those that hold something or wait
	queue   list.List          // of *holder: those that wait, the next one first
}

// holder is a key that holds something or waits.
type holder struct {
	key     string
	used    int64
	waiters []*waiter     // the first comer first
	turn    *list.Element // in the queue; nil when nothing waits
}

// waiter is a call that waits. ready is closed when it has what it asked for.
type waiter struct {
	n     int64
	ready chan struct{}
}

// Acquire gets n for the key; who got it gives it back with Release. A call that
// finds the queue of its key full, or waits in vain, is refused: with a fault when
// its key holds too much, as unavailable when others do.
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
	return s.leave(ctx, key, w)
}

// enter gets n for the key at once, or returns who waits for it.
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

// leave takes a waiter out of the queue, unless it got what it waited for just now.
func (s *Share) leave(ctx context.Context, key string, w *waiter) error {
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
	s.serve() // what waited behind it may fit
	return err
}

// Resize changes what a call of the key holds, without waiting. To give some back is
// always possible; more may be refused as in Acquire, and nothing has changed then.
func (s *Share) Resize(key string, from, to int64) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.holder(key)
	from, to = min(from, s.Total), min(to, s.Total)
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

// Release gives back n of the key.
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

// hold gives the holder n more.
func (s *Share) hold(h *holder, n int64) {
	h.used += n
	s.used += n
}

// settle removes the holder from where it has nothing left.
func (s *Share) settle(h *holder) {
	if len(h.waiters) == 0 && h.turn != nil {
		s.queue.Remove(h.turn)
		h.turn = nil
	}
	if len(h.waiters) == 0 && h.used == 0 {
		delete(s.holders, h.key)
	}
}

// serve gives what is free to those that wait, one call of each key in turn.
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

// refusal is the answer to a call that cannot have its share.
func refusal(h *holder) error {
	if h.used == 0 {
		return errBusy
	}
	f := fault.New(fault.Throttled, codeTooManyAtOnce,
		"Too many of your requests are being answered at once. Wait as long as Retry-After says, send fewer at once, and read each answer as it comes.")
	f.After = time.Second
	return f
}

// errBusy is the refusal of a call whose key holds nothing: others hold it all.
var errBusy error = busyError{errors.New("other partners' requests are being answered")}

type busyError struct{ error }

// Unavailable makes it a 503.
func (busyError) Unavailable() bool { return true }

// orDefault is v, or the default in place of zero.
func orDefault[T int | time.Duration](v, other T) T {
	if v > 0 {
		return v
	}
	return other
}
