package area

import (
	"context"
	"sync"
	"time"
)

// After a page was made again, none is for restTimes as long, but for mostRest at most:
// however many are open, they take a tenth of one core from what they tell of.
const (
	restTimes = 10
	mostRest  = time.Second
)

// turns lets open pages be made again one at a time. Pages of one person wait for one
// another before they wait for others: who has many open delays nobody else by more than
// one.
type turns struct {
	once sync.Once
	all  chan struct{}
	own  [64]chan struct{} // by person
}

// take waits for a turn, which lasts until done.
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

// newTurn is a turn that nobody has.
func newTurn() chan struct{} {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	return c
}
