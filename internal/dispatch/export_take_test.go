package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/webhook"
)

// Taking is a lane whose search is over.
type Taking struct {
	Held                 map[int64]*webhook.Item // by license; nil: recorded while the search was out
	Closed, Reload, Stop bool                    // the endpoint; it is to be looked at; the lane ends
	Due, More            bool                    // it is to search anew; there was more than space for
	After                webhook.Cursor
	Space                int
}

// Taken is what a lane has after a search.
type Taken struct {
	Queue    []int64 // events
	Again    []int64 // licenses to look at when they are free
	More     bool
	After    webhook.Cursor
	InMemory int
}

// Take gives a lane what its search found.
func (t Taking) Take(found webhook.Found) Taken {
	d := &Dispatcher{}
	d.limits.memory.limit, d.limits.memory.used = 1000, len(t.Held)+t.Space
	l := &lane{d: d, known: true, to: &webhook.Destination{}, held: map[int64]*hold{}, ending: ending{stop: t.Stop}}
	l.look = looking{due: t.Due, more: t.More, reload: t.Reload, after: t.After, hints: map[int64]bool{}}
	if !t.Closed {
		l.to.URL = "https://example.com"
	}
	for id, it := range t.Held {
		l.held[id] = &hold{item: it}
	}
	l.take(&findings{Found: found, asked: webhook.Search{Space: t.Space}})
	taken := Taken{More: l.look.more, After: l.look.after, InMemory: d.limits.memory.used}
	for _, it := range l.queue {
		taken.Queue = append(taken.Queue, it.EventID)
	}
	for _, id := range slices.Sorted(maps.Keys(l.held)) {
		if l.held[id].again {
			taken.Again = append(taken.Again, id)
		}
	}
	return taken
}

// Hints are the messages to other nodes that wait to be sent; they are not sent any more.
func (d *Dispatcher) Hints() []string {
	d.hinter.mu.Lock()
	defer d.hinter.mu.Unlock()
	hints := d.hinter.hints
	d.hinter.hints = nil
	return messages(hints)
}

// Gather is how many of the answers that wait the recorder takes at once, while so many
// requests are in flight and so many answers are expected, which come one by one, each a
// while after the one before. It took before answers 1 ms ago.
func Gather(ctx context.Context, before, inFlight, answers, expected int, each time.Duration) (batch, left int, waited time.Duration) {
	d := &Dispatcher{}
	c := &recorder{d: d, wake: make(chan struct{}, 1), enough: make(chan struct{}, 1)}
	if before > 0 {
		c.add(make([]*answer, before)...)
		c.next(ctx)
		c.next(ctx) // no more
		time.Sleep(time.Millisecond)
	}
	d.limits.inFlight.Store(int64(inFlight))
	c.soon.Store(int64(expected))
	c.add(make([]*answer, answers)...)
	var arrivals sync.WaitGroup
	arrivals.Go(func() {
		for range expected {
			time.Sleep(each)
			c.soon.Add(-1)
			c.add(nil)
		}
	})
	begun := time.Now()
	batch = len(c.next(ctx))
	waited = time.Since(begun)
	arrivals.Wait()
	return batch, len(c.answers), waited
}

// Finish has the recorder finish a batch of answers of one lane, whose endpoint somebody else
// has locked where locked says so. It returns how many requests are given back and how many
// answers the lane is told of, and after which time which answers wait again.
func (d *Dispatcher) Finish(ctx context.Context, locked ...bool) (given, told int, after time.Duration, again []int64) {
	l, list := newLane(d, 1, cluster.Claim{}), make([]webhook.Recorded, len(locked))
	batch := make([]*answer, len(locked))
	for i := range locked {
		batch[i], list[i].Locked = &answer{Attempt: webhook.Attempt{Item: &webhook.Item{EventID: int64(i) + 1}}, lane: l}, locked[i]
	}
	before, begun := d.limits.requests.used, time.Now()
	d.recorder.finish(ctx, batch, list)
	given, told = before-d.limits.requests.used, len(l.box.take().recorded)
	select {
	case <-d.recorder.wake:
	case <-time.After(time.Hour):
	}
	for _, a := range d.recorder.answers {
		again = append(again, a.EventID)
	}
	return given, told, time.Since(begun), again
}

// EndRecord has a lane that had nothing to do for long take that an answer is recorded, after
// which the delivery is tried again in a while, or never, and another of its license comes
// next, or none. It reports whether the lane goes on, whether it wakes by itself, and whether
// the license is looked at once more when a search finds what comes next.
func (d *Dispatcher) EndRecord(wait time.Duration, next bool) (lives, wakes, again bool) {
	l, it := newLane(d, 1, cluster.Claim{}), &webhook.Item{EventID: 1, LicenseID: 1}
	l.known, l.to, l.alarm.usedAt = true, &webhook.Destination{Endpoint: webhook.Endpoint{URL: "https://example.com"}}, time.Time{}
	l.held[it.LicenseID] = &hold{item: it}
	r := recorded{answer: &answer{lane: l, Attempt: webhook.Attempt{
		Item: it, Outcome: webhook.Outcome{OK: wait == 0}, Finished: wait == 0, Next: webhook.NextAttempt{Wait: wait},
	}}}
	if next {
		r.Next = &webhook.Item{EventID: 2, LicenseID: 1}
	}
	l.endRecord(r)
	if next {
		l.take(&findings{Found: webhook.Found{Items: []*webhook.Item{{EventID: 2, LicenseID: 1}}}})
		again = l.held[it.LicenseID].again
	}
	return !l.over(), !l.alarm.at.IsZero(), again
}

// LogAttempt writes the line of an attempt.
func (d *Dispatcher) LogAttempt(ctx context.Context, a *webhook.Attempt) { d.logAttempt(ctx, a) }

// Answer has the recorder take an answer to a delivery.
func (d *Dispatcher) Answer(a webhook.Attempt) {
	d.recorder.add(&answer{Attempt: a, lane: newLane(d, a.PartnerID, a.Claim)})
}

// Searches reports whether a lane that wants to search does, when so many deliveries of so
// many that there may be are in memory.
func (d *Dispatcher) Searches(partnerID int64, inMemory, limit int, reload bool) bool {
	d.limits.memory.used, d.limits.memory.limit = inMemory, limit
	l := newLane(d, partnerID, cluster.Claim{})
	l.known, l.look.due, l.look.reload = true, true, reload
	l.to = &webhook.Destination{Endpoint: webhook.Endpoint{URL: "https://example.com"}}
	l.search()
	d.limits.work.Wait()
	return l.look.out
}

// OpenAfter is whether a lane sends on to an endpoint that did as one of the healths says
// when a search looked at it, and as the other when an answer was recorded meanwhile.
func (d *Dispatcher) OpenAfter(searched, recordedAs webhook.Health) (open, searchesAgain bool) {
	l := newLane(d, 1, cluster.Claim{})
	l.known, l.look.out = true, true
	l.to = &webhook.Destination{Endpoint: webhook.Endpoint{URL: "https://example.com"}, Health: searched}
	l.held[1] = &hold{}
	l.endRecord(recorded{&answer{Attempt: webhook.Attempt{Item: &webhook.Item{LicenseID: 1}, Outcome: webhook.Outcome{OK: true}}}, webhook.Recorded{Health: &recordedAs}})
	l.endSearch(&findings{Found: webhook.Found{To: &webhook.Destination{Endpoint: l.to.Endpoint, Health: searched}}})
	return l.open(), l.look.due
}

// AnswersSoon is whether an endpoint that took so long at best, since it last failed, is
// known to answer in a moment.
func AnswersSoon(best time.Duration) bool {
	p := pace{minLatency: best}
	return p.answersSoon()
}

// Expected is how many answers the recorder expects in a moment.
func (d *Dispatcher) Expected() int { return int(d.recorder.soon.Load()) }
