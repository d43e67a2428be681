package profile

import (
	"context"
	"sync"
)

// Background runs functions that continue after the request that began them, until the node stops.
// The zero value is ready.
type Background struct {
	mu      sync.Mutex
	base    context.Context // of the functions; nil until the first one
	cancel  context.CancelFunc
	stopped bool
	running sync.WaitGroup
}

// Run lasts until ctx ends. It then interrupts the functions, waits for their end, and prevents
// others from beginning.
func (b *Background) Run(ctx context.Context) {
	<-ctx.Done()
	b.mu.Lock()
	b.stopped = true
	if b.cancel != nil {
		b.cancel()
	}
	b.mu.Unlock()
	b.running.Wait()
}

// Begin runs fn in the background, unless the node is stopping.
func (b *Background) Begin(fn func(ctx context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return false
	}
	if b.base == nil {
		b.base, b.cancel = context.WithCancel(context.Background())
	}
	base := b.base
	b.running.Go(func() { fn(base) })
	return true
}

// Wait waits until none of the functions is running.
func (b *Background) Wait() { b.running.Wait() }
