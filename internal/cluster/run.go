package cluster

import (
	"context"
	"sync"
	"time"
)

// The waits between two tries to start: they double from the first to the last.
const (
	firstStartWait = time.Second
	lastStartWait  = time.Minute
)

// Run takes part in the cluster until ctx ends, then releases every shard and leaves.
// What fails is tried again until it works; meanwhile Ready says what it is. The error
// is why leaving failed: then others wait until this node's time has run out.
func (n *Node) Run(ctx context.Context) error {
	for wait := firstStartWait; ; wait = min(2*wait, lastStartWait) {
		alone, err := n.DB.AcquireExclusive(ctx, func() {
			n.note(nil)
			n.Log.Warn("another process serves this database; its work is left to that one until it ends")
		})
		switch {
		case err == nil && alone:
			return n.runAlone(ctx)
		case err == nil:
			return (&member{node: n}).run(ctx)
		case ctx.Err() != nil:
			return nil
		}
		n.note(err)
		n.wait(ctx, wait)
	}
}

// runAlone owns everything until ctx ends.
func (n *Node) runAlone(ctx context.Context) error {
	n.alone.Store(true)
	n.until.never()
	n.note(nil)
	for shard := range Shards {
		n.gain(Claim{Shard: shard})
	}
	// Other processes cannot ask for jobs; what they commit is heard.
	_ = n.DB.Listen(ctx, channel, func(string) { n.jobs.wake("") })
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.times().Drain)
	defer cancel()
	var all sync.WaitGroup
	for shard := range Shards {
		n.stopBeginning(Claim{Shard: shard})
		all.Go(func() {
			n.release(drain, Claim{Shard: shard})
			n.shards[shard].Store(nil)
		})
	}
	all.Wait()
	n.alone.Store(false)
	return n.DB.ReleaseExclusive()
}

// gain makes a claim hold and tells the user.
func (n *Node) gain(c Claim) {
	n.shards[c.Shard].Store(&held{Claim: c})
	if n.Gained != nil {
		n.Gained(c)
	}
}

// stopBeginning makes Claim yield a shard no more; what is under way stays valid.
func (n *Node) stopBeginning(c Claim) { n.shards[c.Shard].Store(&held{Claim: c, releasing: true}) }

// release lets the user end its work for a shard.
func (n *Node) release(ctx context.Context, c Claim) {
	if n.Release != nil {
		n.Release(ctx, c)
	}
}

// note stores why the node takes no part, and logs when that begins and ends. Between
// them the words of the error change with each port that is tried.
func (n *Node) note(err error) {
	n.mu.Lock()
	before := n.failure
	n.failure = err
	n.mu.Unlock()
	switch {
	case err != nil && before == nil:
		n.Log.Error("this node does no work for partners; it is tried again until it works", "err", err)
	case err == nil && before != nil:
		n.Log.Info("what kept this node from its work is over")
	}
}

func (n *Node) wait(ctx context.Context, d time.Duration) {
	if n.Wait != nil {
		n.Wait(ctx, d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Ready returns why this node takes no part although it should. A node that leaves the
// work to another process on the same SQLite file is ready: it serves requests, and
// what they make is done by the other.
func (n *Node) Ready(context.Context) error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failure
}
