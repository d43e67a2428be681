package dispatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// Requests that are cut off when the claim has expired are not attempts and are repeated.
func TestCutOffRequestsAreMadeAgain(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	out := r.manual(settings{})
	g.next()
	out.Dispatcher.Store.Node.Cut()
	r.until("nothing is under way", func() bool { return out.Dispatcher.Counts() == dispatch.Counted{} && out.Dispatcher.Begun() == 0 })
	same(t, "answers", out.Dispatcher.Answers(), 0)
	r.poll(out)
	r.recordAll(out, 200, g.next())
	same(t, "states", r.states(), []string{"1 delivered after 1"})
}

// A lost shard waits neither for answers nor for records.
func TestALostShardWaitsForNothing(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2)
	r.event(r.out, 1)
	r.event(r.out, 2)
	out := r.manual(settings{})
	callers := g.callers(2)
	answer(200, callers[0])
	r.until("one is answered and not recorded", func() bool { return out.Dispatcher.Answers() == 1 })
	out.Dispatcher.Store.Node.Lost(cluster.Claim{Shard: cluster.ShardOf(1)})
	same(t, "lanes", out.Dispatcher.Lanes(), 0)
	same(t, "under way", out.Dispatcher.Counts(), dispatch.Counted{})
	same(t, "open", r.open(), 2)
}

// When a node gains a shard, it searches for due deliveries immediately, not only by the next poll.
func TestWhatIsDueInAGainedShard(t *testing.T) {
	r, g := newHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	out := r.node(settings{times: hasty})
	out.Dispatcher.PollEvery(time.Hour)
	r.run(out)
	node := out.Dispatcher.Store.Node
	claim, _ := node.Claim(cluster.ShardOf(1))
	node.Release(t.Context(), claim)
	r.settle(out) // the polls at the start are done
	r.event(silent(out.DB, now), 1)
	node.Gained(claim)
	same(t, "sent", g.next().id, 1)
}

// While the endpoint is loaded again, nothing is sent with the old settings, and new messages are
// not lost.
func TestNothingIsSentWhileTheEndpointIsLookedUp(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2)
	out := r.stepped(settings{times: hasty})
	lookUp := out.Dispatcher.Store.Endpoint
	asked, answers := make(chan struct{}), make(chan struct{}, 1)
	answers <- struct{}{}
	out.Dispatcher.Store.Endpoint = func(ctx context.Context, id int64) (webhook.Endpoint, error) {
		select {
		case <-answers:
		default:
			asked <- struct{}{}
			<-answers
		}
		return lookUp(ctx, id)
	}
	r.runNode(out)
	r.event(out, 1)
	r.recordAll(out, 200, g.next())
	r.reload(out, 1)
	<-asked
	r.event(out, 2)
	r.heard(out, 1)
	r.event(out, 2)
	r.heard(out, 1) // the lane has handled the first
	same(t, "under way", out.Dispatcher.Begun(), 0)
	answers <- struct{}{}
	same(t, "sent then", g.next().id, 2)
}

// If loading an endpoint fails, it is retried soon, without a poll. This logs two lines.
func TestAnEndpointThatCannotBeLookedUp(t *testing.T) {
	r, g, log := steppedHarness(t), newGate(t), &journal{}
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	out := r.stepped(settings{times: hasty, log: log})
	lookUp := out.Dispatcher.Store.Endpoint
	var asked atomic.Int64
	out.Dispatcher.Store.Endpoint = func(ctx context.Context, id int64) (webhook.Endpoint, error) {
		if asked.Add(1) < 3 {
			return webhook.Endpoint{}, errors.New("no answer")
		}
		return lookUp(ctx, id)
	}
	r.runNode(out)
	r.event(out, 1)
	same(t, "sent", g.next().id, 1)
	same(t, "looked up", asked.Load(), 3)
	same(t, "begun", len(log.lines("level=ERROR", "look for webhooks to partner 1", "no answer")), 1)
	same(t, "over", len(log.lines("level=INFO", "trouble is over", "look for webhooks to partner 1")), 1)
}

// A second search does not exceed the lane's memory limit.
func TestASecondSearchKnowsWhatIsHeld(t *testing.T) {
	r, g := newHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	const most = dispatch.PerRequest * dispatch.FirstInFlight
	const n = most * 3 / 4
	r.store(1, n, n)
	out := r.manual(settings{})
	r.until("all are in memory", func() bool { return out.Dispatcher.Counts().Held == n })
	for id := int64(n + 1); id <= 2*n; id++ {
		r.license(1, id)
		r.event(r.out, id)
	}
	r.poll(out)
	r.until("the lane is full", func() bool { return out.Dispatcher.Counts().Held >= most })
	r.poll(out)
	r.heard(out, 1)
	same(t, "in memory", out.Dispatcher.Counts().Held, most)
}

// A normal stop logs no error.
func TestAStopIsNoError(t *testing.T) {
	r, e, log := newHarness(t), &endpoint{TB: t}, &journal{}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	out, stop := r.running(settings{log: log})
	r.event(out, 1)
	r.until("it is delivered", func() bool { return r.open() == 0 })
	stop()
	same(t, "errors", log.lines("level=ERROR"), nil)
}

// By default retries are spread randomly.
func TestRetriesAreSpreadByDefault(t *testing.T) {
	d := (&dispatch.Dispatcher{Store: webhook.Store{DB: &sqldb.DB{}, Node: &cluster.Node{}}}).Prepare()
	a, b := d.Random(), d.Random()
	if a == b || a < 0 || a >= 1 || b < 0 || b >= 1 {
		t.Errorf("%v and %v", a, b)
	}
}

// Polls run every second and use at most a twentieth of the time.
func TestPollsLeaveTime(t *testing.T) {
	d := (&dispatch.Dispatcher{Store: webhook.Store{DB: &sqldb.DB{}, Node: &cluster.Node{}}}).Prepare()
	same(t, "after a quick one", d.PollPause(time.Millisecond), time.Second)
	same(t, "after a slow one", d.PollPause(time.Second), 20*time.Second)
}

// All refused events are checked every ten seconds, and when the clock was set back.
func TestRefusedEventsAreLookedAtNowAndThen(t *testing.T) {
	const long = 12 * time.Hour
	for name, c := range map[string]struct{ early, late time.Duration }{
		"after ten seconds":    {10*time.Second - 1, 1},
		"when the clock fell":  {0, -1},
		"at the same time not": {0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			schedule := webhook.Schedule{time.Minute, time.Minute, 10 * time.Minute, long, long}
			r, _, first := poison(t, schedule)
			r.pass(first, 20)
			g := newGate(t)
			r.point(1, g.ServeHTTP)
			out := r.manual(settings{schedule: schedule}) // checks them
			refund := r.event(r.out, 1)
			r.clock.step(c.early)
			r.poll(out)
			same(t, "lanes before it is time", out.Dispatcher.Lanes(), 0)
			r.clock.step(c.late)
			r.poll(out)
			same(t, "sent", g.next().id, refund)
		})
	}
}
