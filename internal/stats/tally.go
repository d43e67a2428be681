package stats

import (
	"time"

	"claviger/internal/event"
	"claviger/internal/webhook/history"
)

// tally collects numbers for the counters.
type tally struct {
	days     map[key]*Day
	hours    map[key]*Hour
	failures map[failureKey]*Failures
}

// key is a day or an hour of a partner.
type key struct{ partnerID, at int64 }

type failureKey struct {
	key
	status int
}

func newTally() *tally {
	return &tally{days: map[key]*Day{}, hours: map[key]*Hour{}, failures: map[failureKey]*Failures{}}
}

// of returns the value of a key and creates it if necessary.
func of[K comparable, V any](m map[K]*V, k K) *V {
	v := m[k]
	if v == nil {
		v = new(V)
		m[k] = v
	}
	return v
}

// event counts an event. A license that stays active, as after a plan change, does not count as
// activated again.
func (t *tally) event(f event.Fact) {
	day := func() *Day { return of(t.days, key{f.PartnerID, dayOf(f.At)}) }
	switch {
	case f.Was == 0 && f.Reason == event.Operator:
		return // imported in its current status
	case f.Reason == event.Purchased:
		day().Sold++
	case f.Kind == event.Activate && f.Was != event.Active:
		day().Activated++
	case f.Kind == event.Deactivate && f.Was != event.Deactivated:
		day().Deactivated++
		if f.Reason == event.Refunded {
			day().Refunded++
		}
	}
	if !f.SoldAt.IsZero() && f.At.Sub(f.SoldAt) <= soon {
		of(t.days, key{f.PartnerID, dayOf(f.SoldAt)}).ActivatedSoon++
	}
}

// attempt counts an attempt, unless it is older than the retention.
func (t *tally) attempt(f history.AttemptFact, since time.Time) {
	if f.At.Before(since) {
		return
	}
	k := key{f.PartnerID, hourOf(f.At)}
	h := of(t.hours, k)
	if f.Status != 0 {
		h.Latency.add(f.Took)
	}
	if f.Success {
		h.Succeeded++
		return
	}
	h.Failed++
	c := of(t.failures, failureKey{k, f.Status})
	c.Count++
	if c.FirstAt.IsZero() || f.At.Before(c.FirstAt) {
		c.FirstAt = f.At
	}
	if f.At.After(c.LastAt) {
		c.LastAt = f.At
	}
}
