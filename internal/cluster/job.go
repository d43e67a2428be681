package cluster

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Do runs a job on one node at a time, until ctx ends. It calls run while this node owns the job,
// with a context that ends when it no longer does. For a moment no node or two nodes may run it:
// run must be safe beside another.
//
// wake, if not nil, makes a running job look for work; see Wake.
func (n *Node) Do(ctx context.Context, job string, wake func(), run func(context.Context)) {
	if wake != nil {
		n.jobs.add(job, wake)
	}
	ticker := time.NewTicker(n.times().Beat)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if n.Does(job) {
			n.doWhileOwn(ctx, ticker.C, job, run)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// doWhileOwn calls run and ends its context when this node no longer owns the job.
func (n *Node) doWhileOwn(ctx context.Context, tick <-chan time.Time, job string, run func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	for {
		select {
		case <-ended:
			return
		case <-tick:
			if !n.Does(job) {
				cancel()
			}
		}
	}
}

// Wake makes a job look for work on the node that runs it. It never waits. If the message is lost,
// or no node runs the job now, the job looks at its next regular time.
func (n *Node) Wake(job string) {
	if n == nil {
		return
	}
	if n.Does(job) {
		n.jobs.wake(job)
		return
	}
	n.jobs.ask(job)
}

// Wake wakes a job; see Node.Wake. A package whose rows a job works on calls it after the commit.
type Wake func()

// Waker returns the function that wakes a job.
func (n *Node) Waker(job string) Wake { return func() { n.Wake(job) } }

// jobs are the jobs that this node can run.
type jobs struct {
	mu     sync.Mutex
	all    map[string]func()
	asked  []string      // to be woken on other nodes
	signal chan struct{} // signals new entries in asked; nil without a listener
}

func (j *jobs) add(job string, wake func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.all == nil {
		j.all = map[string]func(){}
	}
	j.all[job] = wake
}

// wake wakes a job of this node; "" means all.
func (j *jobs) wake(job string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, wake := range j.all {
		if job == "" || job == name {
			wake()
		}
	}
}

// ask requests that another node wakes a job. Without a listener it does nothing.
func (j *jobs) ask(job string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.signal == nil || slices.Contains(j.asked, job) {
		return
	}
	j.asked = append(j.asked, job)
	select {
	case j.signal <- struct{}{}:
	default:
	}
}

// listen sets the channel that signals requests for other nodes.
func (j *jobs) listen(signal chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.signal = signal
}

// takeAsked returns the jobs to wake elsewhere, and clears them.
func (j *jobs) takeAsked() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	asked := j.asked
	j.asked = nil
	return asked
}
