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

// Client is who waits to have a password hashed.
type Client struct {
	// Known says that it is signed in, or comes with a browser that was signed in
	// before.
	Known bool
	// From is its address. When too many strangers wait, one of the most crowded
	// network gives way.
	From netip.Addr
	// Address is the same as the audit keeps it.
	Address string
}

// lane is one of the two queues. Who is known goes first, and strangers never use
// the last slot: however many of them come, who is known waits for others who are
// known, and for nobody else.
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

// queue bounds how many passwords are hashed at once, and so the memory and the
// time that signing in can take, and how many wait for it. Whoever finds the queue
// full is refused at once: a wait of a minute serves nobody.
type queue struct {
	slots   int    // passwords hashed at once
	waiting [2]int // how many may wait, by lane

	mu      sync.Mutex
	used    [2]int       // slots in use, by lane; guarded by mu
	waiters [2][]*waiter // by lane, the next one first; guarded by mu
}

// waiter is somebody who waits for a slot.
type waiter struct {
	from    netip.Addr
	turn    chan struct{} // closed when the wait is over
	refused bool          // set before: no slot, others needed the place
}

// hashing is the queue of this process. One hash takes about 35 ms, so a stranger
// waits for some 300 ms.
var hashing = &queue{slots: 2, waiting: [2]int{strangers: 8, known: 64}}

// errBusy is the refusal of a queue that is full.
func errBusy() error {
	f := fault.New(fault.Busy, CodeSignInBusy, "Too many people are signing in just now. Nothing is lost: try again in a few seconds.")
	f.After = 2 * time.Second
	return f
}

// hashed runs f when a slot is free for the client.
func hashed[T any](ctx context.Context, q *queue, c Client, f func() (T, error)) (T, error) {
	if err := q.enter(ctx, c); err != nil {
		var zero T
		return zero, err
	}
	defer q.leave(c.lane())
	return f()
}

// enter takes a slot, and waits for one if need be.
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

// join takes a slot at once, and is served then, or a place among those who wait.
func (q *queue) join(in lane, w *waiter) (served bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.waiters[in]
	if len(list) == 0 && q.free(in) {
		q.used[in]++
		return true, nil
	}
	if len(list) >= q.waiting[in] {
		first, last := crowded(list, w.from)
		if last < 0 {
			return false, errBusy()
		}
		list[last].refused = true
		close(list[last].turn)
		// Before the crowd, or whoever is not of it would wait for all of it.
		q.waiters[in] = slices.Insert(slices.Delete(list, last, last+1), first, w)
		return false, nil
	}
	q.waiters[in] = append(list, w)
	return false, nil
}

// networkBits are the sizes of the networks that are compared, of IPv4 and IPv6:
// first one family with the other, then ever smaller networks.
var networkBits = [][2]int{{0, 0}, {8, 16}, {16, 32}, {24, 48}, {32, 56}, {32, 64}}

// crowded returns the first and the last one in list of the largest network, if it
// has more of them than the newcomer's own: the last one gives way. It is -1 when
// there is none, and the newcomer has to go.
func crowded(list []*waiter, from netip.Addr) (first, last int) {
	among := make([]int, len(list))
	for i := range list {
		among[i] = i
	}
	for _, bits := range networkBits {
		own := network(from, bits)
		of, largest := map[netip.Prefix][]int{}, own
		for _, i := range among {
			n := network(list[i].from, bits)
			if of[n] = append(of[n], i); len(of[n]) > len(of[largest]) {
				largest = n
			}
		}
		if crowd := of[largest]; len(crowd) > len(of[own])+1 {
			return crowd[0], crowd[len(crowd)-1]
		}
		among = slices.DeleteFunc(among, func(i int) bool { return network(list[i].from, bits) != own })
	}
	return -1, -1
}

// network is the network of an address that is that large.
func network(addr netip.Addr, bits [2]int) netip.Prefix {
	size := bits[1]
	if addr = addr.Unmap(); addr.Is4() {
		size = bits[0]
	}
	p, _ := addr.Prefix(size) // the zero one for no address
	return p
}

// leave gives a slot back.
func (q *queue) leave(in lane) {
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

// release gives a slot of a lane to those who wait, those who are known first. The
// lock is held.
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
