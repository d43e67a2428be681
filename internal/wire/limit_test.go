package wire_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/wire"
)

// clock is a manual clock.
type clock struct{ at time.Time }

func newClock() *clock                { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }
func (c *clock) now() time.Time       { return c.at }
func (c *clock) tick(d time.Duration) { c.at = c.at.Add(d) }

func TestLimiter(t *testing.T) {
	c := newClock()
	l := &wire.Limiter{PerMinute: 3, Now: c.now}
	steps := []struct {
		wait time.Duration
		want wire.Quota
	}{
		{0, wire.Quota{OK: true, Limit: 3, Remaining: 2, Reset: 20 * time.Second}},
		{0, wire.Quota{OK: true, Limit: 3, Remaining: 1, Reset: 40 * time.Second}},
		{0, wire.Quota{OK: true, Limit: 3, Remaining: 0, Reset: 60 * time.Second, After: 20 * time.Second}},
		{0, wire.Quota{OK: false, Limit: 3, Remaining: 0, Reset: 60 * time.Second, After: 20 * time.Second}},
		{5 * time.Second, wire.Quota{OK: false, Limit: 3, Remaining: 0, Reset: 55 * time.Second, After: 15 * time.Second}},
		{15 * time.Second, wire.Quota{OK: true, Limit: 3, Remaining: 0, Reset: 60 * time.Second, After: 20 * time.Second}},
		{time.Hour, wire.Quota{OK: true, Limit: 3, Remaining: 2, Reset: 20 * time.Second}},
	}
	nearly := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() < time.Millisecond })
	for i, s := range steps {
		c.tick(s.wait)
		if d := cmp.Diff(s.want, l.Take("a"), nearly); d != "" {
			t.Errorf("step %d (-want +got):\n%s", i, d)
		}
	}
	if q := l.Take("b"); q.Remaining != 2 {
		t.Errorf("another key shares the account: %+v", q)
	}
}

func TestLimiterHeaders(t *testing.T) {
	h := http.Header{}
	wire.Quota{OK: true, Limit: 600, Remaining: 12, Reset: 58_800 * time.Millisecond}.Header(h)
	want := http.Header{"Ratelimit-Limit": {"600"}, "Ratelimit-Remaining": {"12"}, "Ratelimit-Reset": {"59"}}
	if d := cmp.Diff(want, h); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestNoLimit(t *testing.T) {
	for _, l := range []*wire.Limiter{nil, {}, {PerMinute: -1}} {
		h := http.Header{}
		q := l.Take("a")
		q.Header(h)
		if !q.OK || len(h) > 0 {
			t.Errorf("got %+v, %v", q, h)
		}
	}
}

func TestLimiterForgetsTheOldestKey(t *testing.T) {
	l := &wire.Limiter{PerMinute: 10, Keys: 3, Now: newClock().now}
	for _, key := range []string{"a", "b", "c", "a", "d"} { // d replaces b, because a was seen later
		l.Take(key)
	}
	for key, want := range map[string]int{"a": 7, "c": 8, "d": 8} {
		if q := l.Take(key); q.Remaining != want {
			t.Errorf("%s has %d left, want %d", key, q.Remaining, want)
		}
	}
	if q := l.Take("b"); q.Remaining != 9 {
		t.Errorf("b has %d left, want a new account", q.Remaining)
	}
}

func TestLimiterTogether(t *testing.T) {
	l := &wire.Limiter{PerMinute: 100, Keys: 4, Now: newClock().now}
	var wg sync.WaitGroup
	var mu sync.Mutex
	ok := 0
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				l.Take("other" + strconv.Itoa((i+n)%3))
				if l.Take("shared").OK {
					mu.Lock()
					ok++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if ok != 100 {
		t.Errorf("%d calls were allowed, want 100", ok)
	}
}

func BenchmarkLimiter(b *testing.B) {
	l := &wire.Limiter{PerMinute: 600}
	b.ReportAllocs()
	for b.Loop() {
		l.Take("partner:1")
	}
}
