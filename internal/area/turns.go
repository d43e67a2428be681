package area

import (
	"context"
	"sync"
	"time"
)

// After a page was rendered, the next waits restTimes as long, but at most mostRest. Together, open
// pages take at most a tenth of one core, unless a page takes more than 100 ms.
const (
	restTimes = 10
	mostRest  = time.Second
)

// turns makes open pages render one at a time. Pages of one person queue among themselves first, so
// a person with many open pages delays others by at most one.
type turns struct {
	once sync.Once
	all  chan struct{}
	own  [64]chan struct{} // by person
}

// take waits for a turn, which lasts until done is called.
func (t *turns) take(ctx context.Context, person int64) (done func(), err error) {
	t.once.Do(func() {
		t.all = newTurn()
		for i := range t.own {
			t.own[i] = newTurn()
		}
	})
	own := t.own[uint64(person)%uint64(len(t.own))] //nolint:gosec // any number will do
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-own:
	}
	select {
	case <-ctx.Done():
		own <- struct{}{}
		return nil, ctx.Err()
	case <-t.all:
	}
	begun := time.Now()
	return func() {
		own <- struct{}{}
		time.AfterFunc(min(restTimes*time.Since(begun), mostRest), func() { t.all <- struct{}{} })
	}, nil
}

// newTurn returns a free turn.
func newTurn() chan struct{} {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	return c
}
