package wire

import "sync"

// Running counts the long answers in progress by owner, such as streams or files, and ends all of them.
// The zero value is ready.
type Running[K comparable] struct {
	mu    sync.Mutex
	open  map[K]int
	ended chan struct{} // closed by Close
}

// Enter counts an answer of an owner, unless most of them are running. Close closes the channel. The
// caller calls Leave when the answer has ended.
func (r *Running[K]) Enter(owner K, most int) (ended <-chan struct{}, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.init()
	if r.open[owner] >= most {
		return nil, false
	}
	r.open[owner]++
	return r.ended, true
}

// Leave ends the count of an answer.
func (r *Running[K]) Leave(owner K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[owner]--; r.open[owner] == 0 {
		delete(r.open, owner)
	}
}

// Close ends all answers, now and later.
func (r *Running[K]) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.init()
	select {
	case <-r.ended:
	default:
		close(r.ended)
	}
}

func (r *Running[K]) init() {
	if r.open == nil {
		r.open = make(map[K]int)
		r.ended = make(chan struct{})
	}
}
