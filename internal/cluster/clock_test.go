package cluster_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb/sqldbtest"
)

// TestClockOff: a step of a node's clock shows immediately, its begin and end are logged, and the
// node keeps its shards. A right clock, and SQLite, are never off.
func TestClockOff(t *testing.T) {
	var ahead atomic.Int64
	r := start(t, sqldbtest.URL(t), func(r *running) {
		r.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	await(t, "all shards", func() bool { return r.count("gained") == cluster.Shards })
	if err := r.CheckClock(); err != nil {
		t.Errorf("at first: %v", err)
	}
	if !sqldbtest.Postgres() {
		if ahead.Store(int64(time.Hour)); r.ClockOff() != 0 {
			t.Error("SQLite has another clock than this machine")
		}
		return
	}
	for i, step := range []struct {
		by   time.Duration
		says string
	}{
		{time.Hour, "1h0m0s ahead of"}, {-time.Hour, "1h0m0s behind"}, {365 * 24 * time.Hour, "8760h0m0s ahead of"}, {cluster.MaxClockOff + time.Minute, "3m0s ahead of"},
	} {
		ahead.Store(int64(step.by))
		if err := r.CheckClock(); err == nil || !strings.Contains(err.Error(), step.says) {
			t.Errorf("%v off: %v", step.by, err)
		}
		await(t, "a line about the clock", func() bool { return r.log.count("the clock is wrong") == i+1 })
		ahead.Store(0)
		if err := r.CheckClock(); err != nil {
			t.Errorf("back from %v: %v", step.by, err)
		}
		await(t, "a line about its end", func() bool { return r.log.count("the clock is right again") == i+1 })
	}
	if ahead.Store(int64(time.Minute)); r.CheckClock() != nil {
		t.Errorf("a minute is too much: %v", r.CheckClock())
	}
	if n := r.count("lost") + r.count("released"); n != 0 {
		t.Errorf("%d shards changed", n)
	}
}
