package dispatch_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/courier"
	"claviger/internal/dispatch"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// A request is not sent if its claim is lost while it connects. It is not an attempt.
func TestAClaimLostWhileDialing(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	out := r.stepped(settings{})
	dials, dial := make(chan struct{}), make(chan struct{})
	out.Dispatcher.Client = courier.New(courier.Options{AllowPrivate: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		close(dials)
		<-dial
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	t.Cleanup(out.Dispatcher.Client.Close)
	node := out.Dispatcher.Store.Node
	node.Release = func(context.Context, cluster.Claim) {} // so that no lane is notified
	stop := r.runNode(out)
	r.poll(out)
	<-dials
	stop()
	close(dial)
	r.until("the request is over", func() bool { return out.Dispatcher.Begun() == 0 })
	r.until("nothing is in memory", func() bool { return out.Dispatcher.Counts() == dispatch.Counted{} })
	g.nobody("without a claim")
	same(t, "answers", out.Dispatcher.Answers(), 0)
	same(t, "states", r.states(), []string{"1 pending after 0"})
	node.Lost(cluster.Claim{Shard: cluster.ShardOf(1)}) // ends the lane
}

// An idle lane that ends while its shard is handed over does not delay the release. Events written
// meanwhile are sent by the next owner.
func TestAShardIsHandedOverWhileItsLaneEnds(t *testing.T) {
	r := newHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	out := r.node(settings{})
	out.Dispatcher.IdleAfter(0)
	r.run(out)
	node := out.Dispatcher.Store.Node
	const n = 100
	for range n {
		claim, ok := node.Claim(cluster.ShardOf(1))
		if !ok {
			t.Fatal("the node has no claim")
		}
		var both sync.WaitGroup
		both.Go(func() { r.event(out, 1) })
		both.Go(func() { node.Release(t.Context(), claim) })
		both.Wait()
		same(t, "lanes", out.Dispatcher.Lanes(), 0)
		node.Gained(claim)
	}
	r.until("all are delivered", func() bool { return r.open() == 0 })
	want := make([]int64, n)
	for i := range want {
		want[i] = int64(i + 1)
	}
	same(t, "got", e.list(), want)
	r.until("nothing is in memory", func() bool { return out.Dispatcher.Counts() == dispatch.Counted{} && out.Dispatcher.Lanes() == 0 })
}

// Events of another process arrive by a notification, not only by the next poll.
func TestASaleOfAnotherProcessNeedsNoPoll(t *testing.T) {
	r := newHarness(t)
	e := &endpoint{TB: t}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	times := quick
	times.HandOver = time.Millisecond
	out := r.node(settings{times: times})
	out.Dispatcher.PollEvery(time.Hour)
	r.run(out)
	other := silent(sqldbtest.OpenWith(t, r.url, sqldb.Options{}), now)
	if sqldbtest.Postgres() { // either node may own the partner, and hints announce the other's events
		other = r.node(settings{times: times})
		other.Dispatcher.PollEvery(time.Hour)
		r.shared = true
		r.run(other)
		r.until("both have their part", func() bool {
			n := other.Dispatcher.Owned()
			return n >= cluster.Shards/4 && n+out.Dispatcher.Owned() == cluster.Shards
		})
	}
	for i := range 20 { // a poll at the start may find the first one
		by := []*outbox{other, out}[i%2]
		db := r.db
		r.db = by.DB
		r.event(by, 1)
		r.db = db
		r.until("it is delivered", func() bool { return r.open() == 0 })
	}
}
