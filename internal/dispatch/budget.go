package dispatch

import (
	"slices"
	"sync"
)

// budget limits a resource over all lanes. When half of it is used, a lane gets only its fair part,
// so that many hanging partners leave enough for the others. Lanes that have nothing are served in
// the order of their requests.
type budget struct {
	limit int
	fair  int

	mu      sync.Mutex
	used    int
	waiting []*lane // lanes that got nothing, in order
}

// take gives a lane up to wants units. A lane that has nothing and gets nothing is woken at its
// turn, and must then call take or leave.
func (b *budget) take(l *lane, has, wants int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(wants, b.limit-b.used)
	if 2*b.used >= b.limit {
		n = min(n, b.fair-has)
	}
	place := slices.Index(b.waiting, l)
	if n <= 0 || place > 0 || place < 0 && len(b.waiting) > 0 {
		if has == 0 && place < 0 {
			b.waiting = append(b.waiting, l)
		}
		return 0
	}
	b.used += n
	b.waiting = b.waiting[place+1:] // l was first in the queue, or the queue was empty
	b.wake()
	return n
}

// give returns n units.
func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.wake()
}

// leave removes a lane from the queue.
func (b *budget) leave(l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if place := slices.Index(b.waiting, l); place >= 0 {
		b.waiting = slices.Delete(b.waiting, place, place+1)
		b.wake()
	}
}

// wake wakes the next lane if units are left.
func (b *budget) wake() {
	if len(b.waiting) > 0 && b.used < b.limit {
		b.waiting[0].box.post(func(*mail) {})
	}
}

// half reports whether less than half is used.
func (b *budget) half() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return 2*b.used < b.limit
}
