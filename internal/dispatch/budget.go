package dispatch

import (
	"slices"
	"sync"
)

// budget bounds something over all lanes. When half of it is used, a lane gets no more
// than a fair part, so that many partners that hang leave enough for those that do not.
// Lanes that have nothing get something in the order in which they asked.
type budget struct {
	limit int
	fair  int

	mu      sync.Mutex
	used    int
	waiting []*lane // for whom nothing was left, the next first
}

// take gives a lane that has some up to as many as it wants. A lane that has nothing and
// gets nothing is woken when it is its turn, and then takes or leaves.
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
	b.waiting = b.waiting[place+1:] // it stood first, or nobody waits
	b.wake()
	return n
}

// give returns some.
func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.wake()
}

// leave is called by a lane that wants nothing any more.
func (b *budget) leave(l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if place := slices.Index(b.waiting, l); place >= 0 {
		b.waiting = slices.Delete(b.waiting, place, place+1)
		b.wake()
	}
}

// wake wakes whose turn it is, if something is left.
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
