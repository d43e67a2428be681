package license

import (
	"context"
	"fmt"
	"sync"
	"time"

	"claviger/internal/fault"
)

// Limits of sets.
const (
	maxSetOrders   = 256
	maxSetLicenses = 1000
	maxWaiting     = 10_000 // orders of one partner
	maxSetTime     = 30 * time.Second
)

// Gatherer combines concurrent orders of a partner into sets. Orders that arrive while a set of the
// partner is being sold join the next one. No order waits for others to arrive: a single order is a
// set of one. Batching adds no latency, because writes of one partner are serialized anyway. The
// zero value is ready for use.
type Gatherer struct {
	mu      sync.Mutex
	waiting map[int64][]*waiting // by partner, only while a set is being sold
}

// waiting is an order that waits for its result.
type waiting struct {
	ctx    context.Context //nolint:containedctx // it travels with the order to the goroutine that sells it
	order  Order
	result Result
	done   chan struct{}
}

// sell sells the order with all: immediately if no set of the partner is being sold, otherwise in
// the next one. If ctx ends, sell stops waiting, and the order is not sold unless its set has
// begun.
func (g *Gatherer) sell(ctx context.Context, o Order, all func(context.Context, []Order) []Result) Result {
	w := &waiting{ctx: ctx, order: o, done: make(chan struct{})}
	switch g.join(w) {
	case tooMany:
		f := fault.New(
			fault.Busy,
			codeTooManyOrders,
			"Too many orders of this partner wait. Repeat the order as Retry-After says.",
		)
		f.After = time.Second
		return Result{Err: f}
	case first:
		// It is alone, so that no other goroutine has to wake up for it.
		defer g.goOn(o.PartnerID, all) //nolint:contextcheck // waiting orders have their own contexts
		return all(ctx, []Order{o})[0]
	case joined:
	}
	select {
	case <-w.done:
		return w.result
	case <-ctx.Done():
		return Result{Err: fmt.Errorf("wait for a sale: %w", context.Cause(ctx))}
	}
}

// place is the result of join.
type place int

const (
	first   place = iota // it is sold now, as a set of its own
	joined               // it waits for the next set
	tooMany              // the queue is full
)

// join adds an order to the next set if one is being sold.
func (g *Gatherer) join(w *waiting) place {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := w.order.PartnerID
	list, under := g.waiting[id]
	if len(list) >= maxWaiting {
		return tooMany
	}
	if g.waiting == nil {
		g.waiting = map[int64][]*waiting{}
	}
	if !under {
		g.waiting[id] = nil
		return first
	}
	g.waiting[id] = append(list, w)
	return joined
}

// goOn starts the next set, if orders wait, after the set of a single order.
func (g *Gatherer) goOn(partnerID int64, all func(context.Context, []Order) []Result) {
	if set := g.next(partnerID); len(set) > 0 {
		go g.run(set, all)
	}
}

// run sells a set and those after it until no order waits.
func (g *Gatherer) run(set []*waiting, all func(context.Context, []Order) []Result) {
	for ; len(set) > 0; set = g.next(set[0].order.PartnerID) {
		orders := make([]Order, len(set))
		for i, w := range set {
			orders[i] = w.order
		}
		// The set continues if one of its callers goes away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(set[0].ctx), maxSetTime)
		results := all(ctx, orders)
		cancel()
		for i, w := range set {
			w.result = results[i]
			close(w.done)
		}
	}
}

// next removes the next set from the waiting orders and drops cancelled ones. If the set is empty,
// it also removes the partner.
func (g *Gatherer) next(partnerID int64) []*waiting {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.waiting[partnerID]
	var set []*waiting
	licenses := 0
	for ; len(list) > 0 && len(set) < maxSetOrders; list = list[1:] {
		w := list[0]
		if w.ctx.Err() != nil {
			continue
		}
		if licenses += w.order.Quantity; licenses > maxSetLicenses && len(set) > 0 {
			break
		}
		set = append(set, w)
	}
	g.waiting[partnerID] = list
	if len(set) == 0 {
		delete(g.waiting, partnerID)
	}
	return set
}
