package wire

import (
	"context"
	"net/http"
	"sync"
)

// leastExpected is the minimum number of bytes that a request reserves before the size of its
// answer is known.
const leastExpected = 64 << 10

// sizes has the size of a route's last answer to each caller, if at least leastExpected. The next
// answer is expected to be as long. So a caller with too small a share waits before the answer is
// read, not after.
type sizes struct {
	mu   sync.Mutex
	last map[string]int64
}

// expected returns the size to reserve for a caller's next answer.
func (s *sizes) expected(key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.last[key], leastExpected)
}

// set stores the size of an answer, sent or refused.
func (s *sizes) set(key string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= leastExpected {
		delete(s.last, key)
		return
	}
	if s.last == nil {
		s.last = map[string]int64{}
	}
	s.last[key] = n
}

// answering is a request that holds a share of the readers and of the unsent bytes of all callers.
// It releases the reader as soon as the answer is known, because the client may read slowly, and
// the bytes when the answer was sent.
type answering struct {
	http.ResponseWriter
	readers, bytes *Share
	sizes          *sizes
	key            string
	reading        bool
	held           int64 // bytes
}

// admit waits until the caller may read. It acquires the bytes first: a caller with clients that do
// not read their answers must not hold a reader while it waits.
func (d *AuthRoutes[P]) admit(ctx context.Context, w http.ResponseWriter, key string, s *sizes) (*answering, error) {
	expected := s.expected(key)
	if err := d.Bytes.Acquire(ctx, key, expected); err != nil {
		return nil, err
	}
	a := &answering{ResponseWriter: w, readers: d.Readers, bytes: d.Bytes, sizes: s, key: key, held: expected}
	if err := d.Readers.Acquire(ctx, key, 1); err != nil {
		a.finish()
		return nil, err
	}
	a.reading = true
	return a, nil
}

// reserve is called before an answer of n bytes is written. It fails if the caller's share is too
// small; nothing has been answered then.
func (a *answering) reserve(n int) error {
	a.stopReading()
	a.sizes.set(a.key, int64(n))
	if err := a.bytes.Resize(a.key, a.held, int64(n)); err != nil {
		for _, name := range []string{"Link", "X-Total-Count", "ETag", "Cache-Control"} {
			a.Header().Del(name)
		}
		return err
	}
	a.held = int64(n)
	return nil
}

func (a *answering) stopReading() {
	if a.reading {
		a.readers.Release(a.key, 1)
		a.reading = false
	}
}

// finish releases reader and bytes.
func (a *answering) finish() {
	a.stopReading()
	a.bytes.Release(a.key, a.held)
	a.held = 0
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }
