package dispatch_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/dispatch"
	"claviger/internal/webhook"
)

// recording runs the recorder of a dispatcher until the test ends.
func (r *harness) recording(out *outbox) {
	ctx, end := context.WithCancel(context.Background())
	var recording sync.WaitGroup
	recording.Go(func() { out.Dispatcher.RunRecorder(ctx) })
	r.Cleanup(func() { end(); recording.Wait() })
}

// heard waits until the partner's lane has received its messages.
func (r *harness) heard(out *outbox, partnerID int64) {
	r.Helper()
	r.until("the lane has heard it", func() bool { return out.Dispatcher.Heard(partnerID) })
}

// The first delivery of a partner without a lane is sent without a poll.
func TestTheFirstDeliveryNeedsNoPoll(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	out := r.manual(settings{})
	r.event(out, 1)
	same(t, "sent", g.next().id, 1)
}

// A new event of a license is sent when its head is recorded, without a poll, whichever node wrote
// it.
func TestASaleWhileItsHeadIsRecorded(t *testing.T) {
	for name, sell := range map[string]func(r *harness, out *outbox){
		"by this node":      func(r *harness, out *outbox) { r.event(out, 1) },
		"by another":        func(r *harness, out *outbox) { r.event(r.out, 1); out.Dispatcher.Hear("1:1") },
		"of two, by others": func(r *harness, out *outbox) { r.event(r.out, 1); out.Dispatcher.Hear("2:1,1:1") },
	} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1)
			r.event(r.out, 1)
			out := r.manual(settings{})
			answer(200, g.next())
			r.until("answered", func() bool { return out.Dispatcher.Answers() == 1 })
			out.Dispatcher.RecordThen(t, func() {
				sell(r, out)
				r.heard(out, 1)
			})
			same(t, "sent next", g.next().id, 2)
		})
	}
}

// A delivery written while the endpoint is known to be parked, or without a URL, is not sent.
func TestANewDeliveryToAClosedEndpoint(t *testing.T) {
	for name, parked := range map[string]bool{"parked": true, "without a URL": false} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1, 2)
			r.event(r.out, 1)
			out := r.manual(settings{schedule: hourly})
			r.recordAll(out, map[bool]int{true: 410, false: 200}[parked], g.next())
			if !parked {
				r.point(1, nil)
				r.reload(out, 1)
				r.until("it is known to have none", func() bool { return r.count(`SELECT count(*) FROM endpoints WHERE closed = TRUE`) == 1 })
			}
			r.until("nothing is in memory", func() bool { return out.Dispatcher.Counts() == dispatch.Counted{} })
			r.event(out, 2)
			r.heard(out, 1)
			r.event(out, 2)
			r.heard(out, 1) // the lane has handled the first
			r.until("nothing is under way", func() bool { return out.Dispatcher.Counts() == dispatch.Counted{} })
			g.nobody("to a closed endpoint")
		})
	}
}

// An event is sent once even if its offer comes late: after a search found it, and after it was
// sent and recorded.
func TestALateOffer(t *testing.T) {
	for name, status := range map[string]int{"delivered": 200, "failed": 500} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1)
			event := r.event(r.out, 1)
			out := r.manual(settings{schedule: hourly})
			r.recordAll(out, status, g.next())
			r.until("nothing is in memory", func() bool { return out.Dispatcher.Counts() == dispatch.Counted{} })
			late := webhook.Item{EventID: event, PartnerID: 1, LicenseID: 1, Body: "{}", DueAt: r.clock.now()}
			for range 2 { // when the lane has heard the second, it is done with the first
				out.Dispatcher.Tell(webhook.News{Item: &late, PartnerID: 1, LicenseID: 1})
				r.heard(out, 1)
			}
			r.until("nothing is under way", func() bool { return out.Dispatcher.Counts() == dispatch.Counted{} })
			g.nobody("a second time")
			r.event(out, 1)
			if status == 200 {
				same(t, "sent next", g.next().id, event+1)
			}
		})
	}
}

// The release of a shard waits only for started requests.
func TestReleaseWaitsForWhatIsBegun(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	const n = 20
	r.store(1, n, n)
	out := r.manual(settings{})
	r.recording(out)
	callers := g.callers(dispatch.FirstInFlight)
	r.until("all are in memory", func() bool { return out.Dispatcher.Counts().Held == n })
	node := out.Dispatcher.Store.Node
	claim, _ := node.Claim(cluster.ShardOf(1))
	released := make(chan struct{})
	go func() {
		defer close(released)
		node.Release(context.Background(), claim)
	}()
	r.until("no more than is begun is in memory", func() bool { return out.Dispatcher.Counts().Held == len(callers) })
	answer(200, callers...)
	select {
	case <-released:
	case <-time.After(30 * time.Second):
		t.Fatal("the shard is not released")
	}
	g.nobody("after the shard was released")
	same(t, "lanes", out.Dispatcher.Lanes(), 0)
	same(t, "open", r.open(), int64(n-len(callers)))
}

// A lane in the queue that has nothing left to send, or ends, does not block others.
func TestALaneThatWaitsNoMore(t *testing.T) {
	for name, c := range map[string]struct {
		requests, memory int
		ends             bool
	}{
		"to send, and ends":                  {1, 1000, true},
		"to send, and has no URL":            {1, 1000, false},
		"for space in memory, and ends":      {1000, 1, true},
		"for space in memory, without a URL": {1000, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			for p := int64(1); p <= 3; p++ {
				r.partner(p, g.ServeHTTP)
				r.license(p, p)
			}
			out := r.stepped(settings{times: hasty})
			waiting := func() int { requests, memory := out.Dispatcher.Waiting(); return requests + memory }
			out.Dispatcher.Limit(c.requests, c.memory)
			r.runNode(out)
			for p := int64(1); p <= 3; p++ {
				r.event(out, p)
				r.until("the first is sent and the others wait", func() bool { return waiting() == int(p)-1 && out.Dispatcher.Counts().InFlight == 1 })
			}
			if c.ends {
				out.Dispatcher.Store.Node.Lost(cluster.Claim{Shard: cluster.ShardOf(2)})
				same(t, "waiting", waiting(), 1)
			} else {
				r.point(2, nil)
				r.reload(out, 2)
				r.until("it is known to have none", func() bool { return r.count(`SELECT count(*) FROM endpoints WHERE closed = TRUE`) == 1 })
			}
			r.recordAll(out, 200, g.next())
			same(t, "sent next", g.next().id, 3)
		})
	}
}

// The load of the node and the lane, and the settings, limit the requests in flight of a lane.
func TestPaceKnowsTheLoad(t *testing.T) {
	const first, usual, busy, ms = dispatch.FirstInFlight, dispatch.UsualInFlight, dispatch.BusyNode, time.Millisecond
	for name, c := range map[string]struct{ limit, lane, node, begun, mayBegin, most, want int }{
		"at the limit":       {first, first, first, 0, 100, 0, first + 1},
		"below the limit":    {first, first - 1, first - 1, 0, 100, 0, first},
		"not yet busy":       {first, first, busy - 1, 0, 100, 0, first + 1},
		"busy":               {first, first, busy, 0, 100, 0, first},
		"much is left":       {usual, usual, usual, 49, 100, 0, usual + 1},
		"not much is left":   {usual, usual, usual, 50, 100, 0, usual},
		"as much as is set":  {first, first, first, 0, 100, first, first},
		"where nothing is":   {256, 256, 127, 0, 100, 0, 256},
		"and one below that": {255, 255, 127, 0, 100, 0, 256},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "limit", dispatch.Ended(c.limit, c.lane, c.node, c.begun, c.mayBegin, c.most, ms), float64(c.want))
		})
	}
}
