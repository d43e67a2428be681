package account

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"claviger/internal/fault"
)

// Client is a client that waits for a password to be hashed.
type Client struct {
	// Known is true if it is signed in, or its browser was signed in before.
	Known bool
	// From is its IP address. When too many strangers wait, one of the most crowded network gives
	// way.
	From netip.Addr
	// Address is the same address in the form that the audit stores.
	Address string
}

// lane is one of the two queues. Known clients have priority, and one slot is reserved for them:
// they never wait for strangers.
type lane int

const (
	strangers lane = iota
	known
)

func (c Client) lane() lane {
	if c.Known {
		return known
	}
	return strangers
}

// queue limits how many passwords are hashed concurrently, and how many clients wait. This bounds
// the memory and time that signing in can take. A full queue refuses immediately, because a wait of
// a minute helps no one.
type queue struct {
	slots   int    // passwords hashed concurrently
	waiting [2]int // most waiters, by lane

	mu      sync.Mutex
	used    [2]int       // slots in use, by lane; guarded by mu
	waiters [2][]*waiter // by lane, the next one first; guarded by mu
}

// waiter is a client that waits for a slot.
type waiter struct {
	from    netip.Addr
	turn    chan struct{} // closed when the wait is over
	refused bool          // set before turn is closed: others needed the place
}

// hashing is the queue of this process. One hash takes about 35 ms, so a stranger waits for about
// 300 ms.
var hashing = &queue{slots: 2, waiting: [2]int{strangers: 8, known: 64}}

// errBusy returns the fault of a full queue.
func errBusy() error {
	f := fault.New(
		fault.Busy,
		CodeSignInBusy,
		"Too many people are signing in just now. Nothing is lost: try again in a few seconds.",
	)
	f.After = 2 * time.Second
	return f
}

// hashed runs f when a slot is free for the client.
func hashed[T any](ctx context.Context, q *queue, c Client, f func() (T, error)) (T, error) {
	if err := q.enter(ctx, c); err != nil {
		var zero T
		return zero, err
	}
	defer q.handOn(c.lane())
	return f()
}

// enter takes a slot, and waits for one if necessary.
func (q *queue) enter(ctx context.Context, c Client) error {
	in := c.lane()
	w := &waiter{from: c.From, turn: make(chan struct{})}
	if served, err := q.join(in, w); served || err != nil {
		return err
	}
	select {
	case <-w.turn:
		if w.refused {
			return errBusy()
		}
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiters[in], w); i >= 0 {
		q.waiters[in] = slices.Delete(q.waiters[in], i, i+1)
	} else if !w.refused { // the slot came at the same moment
		q.release(in)
	}
	return fmt.Errorf("wait to hash a password: %w", context.Cause(ctx))
}

// join takes a free slot and reports served, or adds w to the waiters.
func (q *queue) join(in lane, w *waiter) (served bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.waiters[in]
	if len(list) == 0 && q.free(in) {
		q.used[in]++
		return true, nil
	}
	if len(list) >= q.waiting[in] {
		first, last := largestNetwork(list, w.from)
		if last < 0 {
			return false, errBusy()
		}
		list[last].refused = true
		close(list[last].turn)
		// Insert before these waiters: clients of other networks must not wait for all of it.
		q.waiters[in] = slices.Insert(slices.Delete(list, last, last+1), first, w)
		return false, nil
	}
	q.waiters[in] = append(list, w)
	return false, nil
}

// networkBits are the sizes of the compared networks, for IPv4 and IPv6. The first entry compares
// the two families; then the networks get smaller.
var networkBits = [][2]int{{0, 0}, {8, 16}, {16, 32}, {24, 48}, {32, 56}, {32, 64}}

// largestNetwork returns the first and last waiters of the largest network, if it has more waiters than
// the newcomer's own. The last one gives way. If there is no such network, it returns -1 and the
// newcomer is refused.
func largestNetwork(list []*waiter, from netip.Addr) (first, last int) {
	among := make([]int, len(list))
	for i := range list {
		among[i] = i
	}
	for _, bits := range networkBits {
		own := network(from, bits)
		of := map[netip.Prefix][]int{}
		largest := own
		for _, i := range among {
			n := network(list[i].from, bits)
			of[n] = append(of[n], i)
			if len(of[n]) > len(of[largest]) {
				largest = n
			}
		}
		if waiting := of[largest]; len(waiting) > len(of[own])+1 {
			return waiting[0], waiting[len(waiting)-1]
		}
		among = slices.DeleteFunc(among, func(i int) bool { return network(list[i].from, bits) != own })
	}
	return -1, -1
}

// network returns the network of an address with the size for its family.
func network(addr netip.Addr, bits [2]int) netip.Prefix {
	size := bits[1]
	if addr = addr.Unmap(); addr.Is4() {
		size = bits[0]
	}
	p, _ := addr.Prefix(size) // the zero prefix if there is no address
	return p
}

// handOn gives a slot back.
func (q *queue) handOn(in lane) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(in)
}

// free reports whether there is a slot for the lane. The lock is held.
func (q *queue) free(in lane) bool {
	if in == strangers && q.used[strangers] >= max(q.slots-1, 1) {
		return false
	}
	return q.used[strangers]+q.used[known] < q.slots
}

// release frees a slot of a lane and gives free slots to waiters, known ones first. The lock is
// held.
func (q *queue) release(in lane) {
	q.used[in]--
	for _, next := range []lane{known, strangers} {
		for len(q.waiters[next]) > 0 && q.free(next) {
			close(q.waiters[next][0].turn)
			q.waiters[next] = slices.Delete(q.waiters[next], 0, 1)
			q.used[next]++
		}
	}
}
