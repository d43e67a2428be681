package cluster

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Delays between attempts to start: they double from the first to the last.
const (
	firstStartWait = time.Second
	lastStartWait  = time.Minute
)

// lastWrite is the timeout of the write that a process on SQLite ends with.
const lastWrite = 5 * time.Second

// Run takes part in the cluster until ctx ends, then releases every shard and leaves. It retries
// failures until they succeed; meanwhile Ready returns the reason. An error means that leaving
// failed: others must wait until this node expires.
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
	if err := n.register(ctx); err != nil && ctx.Err() == nil {
		n.Log.Warn("this process could not store its version", "err", err)
	}
	n.alone.Store(true)
	n.until.never()
	n.note(nil)
	for shard := range Shards {
		n.gain(Claim{Shard: shard})
	}
	// Other processes cannot ask for jobs, but their commits are heard.
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
	last, end := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer end()
	return errors.Join(n.unregister(last), n.DB.ReleaseExclusive())
}

// gain makes a claim valid and calls Gained.
func (n *Node) gain(c Claim) {
	n.shards[c.Shard].Store(&held{Claim: c})
	if n.Gained != nil {
		n.Gained(c)
	}
}

// stopBeginning makes Claim refuse a shard; running work stays valid.
func (n *Node) stopBeginning(c Claim) { n.shards[c.Shard].Store(&held{Claim: c, releasing: true}) }

// release calls Release, if set.
func (n *Node) release(ctx context.Context, c Claim) {
	if n.Release != nil {
		n.Release(ctx, c)
	}
}

// note stores the reason for not taking part, and logs its begin and end. In between, the text of
// the error changes with each port tried.
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

// Ready returns the reason if this node takes no part although it should. A node that leaves the
// work to another process on the same SQLite file is ready: it serves requests, and the other
// process does the resulting work.
func (n *Node) Ready(context.Context) error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failure
}
