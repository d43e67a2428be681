package license

import (
	"context"
	"fmt"
	"sync"
	"time"

	"claviger/internal/fault"
)

// The bounds of sets.
const (
	maxSetOrders   = 256
	maxSetLicenses = 1000
	maxWaiting     = 10_000 // orders of one partner
	maxSetTime     = 30 * time.Second
)

// Gatherer makes sets of orders that come at the same time: who comes while a set of the
// partner is under way joins the next one. Nobody waits for others to come, and an order
// that comes alone is a set of one. Writers of one partner wait for one another in any
// case, so that nobody waits longer for that. The zero value is ready for use.
type Gatherer struct {
	mu      sync.Mutex
	waiting map[int64][]*waiting // by partner, for those with a set under way
}

// waiting is an order that waits for its result.
type waiting struct {
	ctx    context.Context //nolint:containedctx // it travels with the order to the goroutine that sells it
	order  Order
	result Result
	done   chan struct{}
}

// sell has all sell the order: at once if no set of the partner is under way, otherwise in
// the next one. A caller whose context ends waits no longer; the order is not sold if its
// set has not begun.
func (g *Gatherer) sell(ctx context.Context, o Order, all func(context.Context, []Order) []Result) Result {
	w := &waiting{ctx: ctx, order: o, done: make(chan struct{})}
	switch g.join(w) {
	case tooMany:
		f := fault.New(fault.Busy, codeTooManyOrders, "Too many orders of this partner wait. Repeat the order as Retry-After says.")
		f.After = time.Second
		return Result{Err: f}
	case first:
		// It is alone, so that no other goroutine has to wake up for it.
		defer g.goOn(o.PartnerID, all) //nolint:contextcheck // those who wait have contexts of their own
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

// place is where an order is that was given to join.
type place int

const (
	first   place = iota // it is the set that is under way
	joined               // it waits for the next set
	tooMany              // it may not even wait
)

// join adds an order to the next set if one is under way.
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

// goOn begins with those who wait when the set of one order has ended.
func (g *Gatherer) goOn(partnerID int64, all func(context.Context, []Order) []Result) {
	if set := g.next(partnerID); len(set) > 0 {
		go g.run(set, all)
	}
}

// run sells a set and those after it until nobody waits.
func (g *Gatherer) run(set []*waiting, all func(context.Context, []Order) []Result) {
	for ; len(set) > 0; set = g.next(set[0].order.PartnerID) {
		orders := make([]Order, len(set))
		for i, w := range set {
			orders[i] = w.order
		}
		// The set goes on when one of its callers goes away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(set[0].ctx), maxSetTime)
		results := all(ctx, orders)
		cancel()
		for i, w := range set {
			w.result = results[i]
			close(w.done)
		}
	}
}

// next takes the next set off those who wait, without those who have gone. Nobody is in
// the last one: then the partner is forgotten.
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
	if g.waiting[partnerID] = list; len(set) == 0 {
		delete(g.waiting, partnerID)
	}
	return set
}
