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

// Taking is a lane with a finished search.
type Taking struct {
	Held                 map[int64]*webhook.Item // by license; nil: recorded during the search
	Closed, Reload, Stop bool                    // the endpoint; it must be loaded again; the lane ends
	Due, More            bool                    // it must search again; there was more than fits
	After                webhook.Cursor
	Space                int
}

// Taken is the state of a lane after a search.
type Taken struct {
	Queue    []int64 // events
	Again    []int64 // licenses to check when they are free
	More     bool
	After    webhook.Cursor
	InMemory int
}

// Take gives a lane the result of its search.
func (t Taking) Take(found webhook.Found) Taken {
	d := &Dispatcher{}
	d.limits.memory.limit, d.limits.memory.used = 1000, len(t.Held)+t.Space
	l := &lane{d: d, endpoint: current, to: &webhook.Destination{}, held: map[int64]*head{}}
	l.look = looking{due: t.Due, more: t.More, after: t.After, hints: map[int64]bool{}}
	if t.Reload {
		l.endpoint = outdated
	}
	if t.Stop {
		l.ending.phase = stopping
	}
	if !t.Closed {
		l.to.URL = "https://example.com"
	}
	for id, it := range t.Held {
		l.held[id] = &head{licenseID: id, state: queued, item: it}
		if it == nil {
			l.held[id].state = settled
		}
	}
	l.takeFound(&findings{Found: found, asked: webhook.Search{Space: t.Space}})
	taken := Taken{More: l.look.more, After: l.look.after, InMemory: d.limits.memory.used}
	for _, h := range l.queue {
		taken.Queue = append(taken.Queue, h.item.EventID)
	}
	for _, id := range slices.Sorted(maps.Keys(l.held)) {
		if l.held[id].check {
			taken.Again = append(taken.Again, id)
		}
	}
	return taken
}

// Hints returns the hints to other nodes that wait to be sent, and discards them.
func (d *Dispatcher) Hints() []string {
	d.hinter.mu.Lock()
	defer d.hinter.mu.Unlock()
	hints := d.hinter.hints
	d.hinter.hints = nil
	return messages(hints)
}

// Gather returns how many of the waiting answers the recorder takes as a batch. inFlight requests
// are running, and expected answers arrive one by one, each after another interval. It recorded
// before answers 1 ms ago.
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

// Finish makes the recorder finish a batch of answers of one lane; locked marks those with an
// endpoint locked by another transaction. It returns the number of released requests, the number of
// answers passed to the lane, and the answers queued again with their delay.
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

// EndRecord tells a long idle lane that an answer is recorded. The delivery is retried after wait,
// or never; next adds a next delivery of the license. It reports whether the lane continues,
// whether it wakes without a message, and whether the license is checked again after a search finds
// the next delivery.
func (d *Dispatcher) EndRecord(wait time.Duration, next bool) (lives, wakes, again bool) {
	l, it := newLane(d, 1, cluster.Claim{}), &webhook.Item{EventID: 1, LicenseID: 1}
	l.endpoint, l.to, l.alarm.usedAt = current, &webhook.Destination{Endpoint: webhook.Endpoint{URL: "https://example.com"}}, time.Time{}
	l.held[it.LicenseID] = &head{licenseID: it.LicenseID, state: answered, item: it}
	r := recorded{answer: &answer{lane: l, Attempt: webhook.Attempt{
		Item: it, Outcome: webhook.Outcome{OK: wait == 0}, Finished: wait == 0, Next: webhook.NextAttempt{Wait: wait},
	}}}
	if next {
		r.Next = &webhook.Item{EventID: 2, LicenseID: 1}
	}
	l.endRecord(r)
	if next {
		l.takeFound(&findings{Found: webhook.Found{Items: []*webhook.Item{{EventID: 2, LicenseID: 1}}}})
		again = l.held[it.LicenseID].check
	}
	return !l.over(), !l.alarm.at.IsZero(), again
}

// LogAttempt writes the log line of an attempt.
func (d *Dispatcher) LogAttempt(ctx context.Context, a *webhook.Attempt) { d.logAttempt(ctx, a) }

// Answer gives an answer to the recorder.
func (d *Dispatcher) Answer(a webhook.Attempt) {
	d.recorder.add(&answer{Attempt: a, lane: newLane(d, a.PartnerID, a.Claim)})
}

// Searches reports whether a lane that wants to search does so with inMemory of limit deliveries in
// memory.
func (d *Dispatcher) Searches(partnerID int64, inMemory, limit int, reload bool) bool {
	d.limits.memory.used, d.limits.memory.limit = inMemory, limit
	l := newLane(d, partnerID, cluster.Claim{})
	l.endpoint, l.look.due = current, true
	if reload {
		l.endpoint = outdated
	}
	l.to = &webhook.Destination{Endpoint: webhook.Endpoint{URL: "https://example.com"}}
	l.search()
	d.limits.work.Wait()
	return l.look.search != idle
}

// SearchesAfter reports whether a lane whose search left more searches again immediately after a result,
// and whether it does so later.
func (d *Dispatcher) SearchesAfter(err error) (again, later bool) {
	l := newLane(d, 1, cluster.Claim{})
	l.endpoint, l.look.search, l.look.more = current, searching, true
	l.to = &webhook.Destination{Endpoint: webhook.Endpoint{URL: "https://example.com"}}
	l.endSearch(&findings{err: err, Found: webhook.Found{Searched: err == nil, More: true, To: l.to}})
	l.search()
	d.limits.work.Wait()
	return l.look.search != idle, !l.alarm.at.IsZero()
}

// OpenAfter reports whether a lane continues to send if a search read one health of the endpoint
// and a record meanwhile brought the other.
func (d *Dispatcher) OpenAfter(searched, recordedAs webhook.Health) (open, searchesAgain bool) {
	l := newLane(d, 1, cluster.Claim{})
	l.endpoint, l.look.search = current, searching
	l.to = &webhook.Destination{Endpoint: webhook.Endpoint{URL: "https://example.com"}, Health: searched}
	l.held[1] = &head{licenseID: 1, state: answered}
	l.endRecord(recorded{&answer{Attempt: webhook.Attempt{Item: &webhook.Item{LicenseID: 1}, Outcome: webhook.Outcome{OK: true}}}, webhook.Recorded{Health: &recordedAs}})
	l.endSearch(&findings{Found: webhook.Found{To: &webhook.Destination{Endpoint: l.to.Endpoint, Health: searched}}})
	return l.open(), l.look.due
}

// AnswersSoon reports whether an endpoint with this best latency since its last failure is expected
// to answer soon.
func AnswersSoon(best time.Duration) bool {
	p := pace{minLatency: best}
	return p.answersSoon()
}

// Expected returns the number of answers that the recorder expects soon.
func (d *Dispatcher) Expected() int { return int(d.recorder.soon.Load()) }
