package dispatch_test

import (
	"context"
	"testing"

	"claviger/internal/cluster"
	"claviger/internal/dispatch"
	"claviger/internal/webhook"
)

// A lane that has nothing and gets nothing waits, in the order of requests; no lane overtakes a
// waiting one.
func TestBudgetHasAnOrder(t *testing.T) {
	b := dispatch.NewBudget(2, 1)
	same(t, "a takes all", b.Take("a", 0, 2), 2)
	for _, name := range []string{"b", "c", "d"} {
		same(t, "nothing is left for "+name, b.Take(name, 0, 1), 0)
	}
	same(t, "who asks again waits once", b.Take("b", 0, 1), 0)
	same(t, "who has some does not wait", b.Take("a", 2, 1), 0)
	same(t, "woken while nothing is left", b.Woken(), nil)
	b.Leave("d")
	b.Leave("a") // it does not wait
	same(t, "woken by who leaves while nothing is left", b.Woken(), nil)
	b.Give(1)
	same(t, "woken when something is left", b.Woken(), []string{"b"})
	same(t, "c is not the next", b.Take("c", 0, 1), 0)
	same(t, "nor is who does not wait", b.Take("e", 0, 1), 0)
	same(t, "b is", b.Take("b", 0, 1), 1)
	same(t, "woken while nothing is left", b.Woken(), nil)
	b.Give(1)
	same(t, "woken next", b.Woken(), []string{"c"})
	b.Leave("c")
	same(t, "woken in place of who leaves", b.Woken(), []string{"e"})
	same(t, "e takes", b.Take("e", 0, 1), 1)
	b.Give(1)
	same(t, "woken when nobody waits", b.Woken(), nil)
	same(t, "who asks when nobody waits", b.Take("c", 0, 1), 1)
}

// A single waiting lane is not overtaken either.
func TestBudgetIsNotTakenBeforeTheOnlyOneThatWaits(t *testing.T) {
	b := dispatch.NewBudget(1, 1)
	same(t, "a takes all", b.Take("a", 0, 1), 1)
	same(t, "b waits", b.Take("b", 0, 1), 0)
	b.Give(1)
	same(t, "c comes too early", b.Take("c", 0, 1), 0)
	same(t, "b takes", b.Take("b", 0, 1), 1)
}

// A lane that takes less than is left wakes the next one.
func TestBudgetIsPassedOn(t *testing.T) {
	b := dispatch.NewBudget(2, 1)
	same(t, "a takes all", b.Take("a", 0, 2), 2)
	same(t, "b waits", b.Take("b", 0, 1), 0)
	same(t, "c waits", b.Take("c", 0, 1), 0)
	b.Give(2)
	same(t, "woken", b.Woken(), []string{"b"})
	same(t, "b takes", b.Take("b", 0, 1), 1)
	same(t, "woken by what b left", b.Woken(), []string{"c"})
	same(t, "c takes", b.Take("c", 0, 1), 1)
}

// When half is used, a lane gets only its fair part.
func TestBudgetIsShared(t *testing.T) {
	b := dispatch.NewBudget(8, 2)
	same(t, "a", b.Take("a", 0, 3), 3)
	same(t, "less than half is used", b.Half(), true)
	same(t, "a goes on", b.Take("a", 3, 1), 1)
	same(t, "less than half is used", b.Half(), false)
	same(t, "a has more than its part", b.Take("a", 4, 1), 0)
	same(t, "b has its part", b.Take("b", 0, 5), 2)
	same(t, "b has no more", b.Take("b", 2, 1), 0)
	b.Give(3)
	same(t, "less than half is used", b.Half(), true)
}

// The space reserved for a search stays in use until the search ends, even if its lane has ended.
func TestASearchOutlivesItsLane(t *testing.T) {
	r := newHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	out := r.node(settings{})
	asked, answer := make(chan struct{}), make(chan struct{})
	out.Dispatcher.Store.Endpoint = func(context.Context, int64) (webhook.Endpoint, error) {
		close(asked)
		<-answer
		return webhook.Endpoint{}, nil
	}
	node, claim := out.Dispatcher.Store.Node, cluster.Claim{Shard: cluster.ShardOf(1)}
	node.Gained(claim)
	r.poll(out)
	<-asked
	node.Lost(claim)
	same(t, "lanes", out.Dispatcher.Lanes(), 0)
	same(t, "in memory or on its way there", out.Dispatcher.Counts().Held > 0, true)
	close(answer)
	r.until("nothing is", func() bool { return out.Dispatcher.Counts().Held == 0 })
}
