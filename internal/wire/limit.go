package wire

import (
	"container/list"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// DefaultKeys is the default number of keys that a Limiter stores.
const DefaultKeys = 10_000

// Limiter allows each key a number of calls per minute, by a bucket that holds a minute's worth and
// fills evenly. It stores a limited number of keys. The least recently seen key is dropped first,
// and would start again with a full bucket. A nil Limiter, and one without a positive PerMinute,
// allows everything.
type Limiter struct {
	PerMinute int
	Keys      int              // maximum number of keys; DefaultKeys if not positive
	Now       func() time.Time // the clock; time.Now when nil

	mu      sync.Mutex
	buckets map[string]*list.Element // of *bucket
	recent  list.List                // most recently seen first
}

type bucket struct {
	key  string
	rate *rate.Limiter
}

// Quota is the state of a key after a call.
type Quota struct {
	OK        bool          // the call is within the limit
	Limit     int           // calls per minute; 0: no limit
	Remaining int           // calls that may follow immediately
	Reset     time.Duration // until the bucket is full again
	After     time.Duration // until the next call is allowed, if this one is not
}

// Header sets the RateLimit headers if there is a limit.
func (q Quota) Header(h http.Header) {
	if q.Limit <= 0 {
		for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			h.Del(name)
		}
		return
	}
	h.Set("RateLimit-Limit", strconv.Itoa(q.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(q.Remaining))
	h.Set("RateLimit-Reset", seconds(q.Reset))
}

// Take counts a call of key.
func (l *Limiter) Take(key string) Quota { return l.count(key, 1) }

// held reports whether key has used up its calls, without counting one, and the time until the
// next.
func (l *Limiter) held(key string) (time.Duration, bool) {
	q := l.count(key, 0)
	return q.After, q.Limit > 0 && q.Remaining == 0
}

func (l *Limiter) count(key string, n int) Quota {
	if l == nil || l.PerMinute <= 0 {
		return Quota{OK: true}
	}
	now := time.Now()
	if l.Now != nil {
		now = l.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(key, n > 0)
	if b == nil {
		return Quota{OK: true, Limit: l.PerMinute, Remaining: l.PerMinute}
	}
	ok := b.AllowN(now, n)
	tokens := b.TokensAt(now)
	q := Quota{OK: ok, Limit: l.PerMinute, Remaining: max(int(tokens), 0)}
	q.Reset = l.refill(float64(l.PerMinute) - tokens)
	if tokens < 1 {
		q.After = l.refill(1 - tokens)
	}
	return q
}

// refill returns the time to gain this many calls.
func (l *Limiter) refill(tokens float64) time.Duration {
	return time.Duration(tokens / float64(l.PerMinute) * float64(time.Minute))
}

// bucket returns the bucket of key and marks it as most recently seen. With create, an unknown key
// gets a bucket, which replaces the oldest if the limiter is full.
func (l *Limiter) bucket(key string, create bool) *rate.Limiter {
	if e, ok := l.buckets[key]; ok {
		l.recent.MoveToFront(e)
		return e.Value.(*bucket).rate
	}
	if !create {
		return nil
	}
	keys := l.Keys
	if keys <= 0 {
		keys = DefaultKeys
	}
	if l.buckets == nil {
		l.buckets = make(map[string]*list.Element)
	}
	for len(l.buckets) >= keys {
		oldest := l.recent.Back()
		delete(l.buckets, l.recent.Remove(oldest).(*bucket).key)
	}
	b := &bucket{key: key, rate: rate.NewLimiter(rate.Limit(float64(l.PerMinute)/60), l.PerMinute)}
	l.buckets[key] = l.recent.PushFront(b)
	return b.rate
}
