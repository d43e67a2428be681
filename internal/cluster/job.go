package cluster

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Do runs a job on one node at a time, until ctx ends: it calls run while the job is
// this node's, with a context that ends when it no longer is. There can be a moment
// with no node that runs it, and one with two: run must be safe beside another.
//
// wake, if it is not nil, makes a running job look for work; see Wake.
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

// doWhileOwn calls run and ends its context when the job is no longer this node's.
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

// Wake makes a job look for work on the node that runs it. It never waits. If the
// message is lost, or nobody runs the job at the moment, it looks when it would anyway.
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

// jobs are those that this node can do.
type jobs struct {
	mu    sync.Mutex
	all   map[string]func()
	asked []string      // to be woken on other nodes
	bell  chan struct{} // somebody asked; nil while nobody listens
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

// ask has a job woken on another node. Without others nobody takes the question.
func (j *jobs) ask(job string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.bell == nil || slices.Contains(j.asked, job) {
		return
	}
	j.asked = append(j.asked, job)
	select {
	case j.bell <- struct{}{}:
	default:
	}
}

// listen has the questions of this node's jobs announced by a signal.
func (j *jobs) listen(bell chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bell = bell
}

// takeAsked returns the jobs to be woken elsewhere.
func (j *jobs) takeAsked() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	asked := j.asked
	j.asked = nil
	return asked
}
