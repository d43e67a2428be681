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

// turns lets open pages be made again one at a time.
type turns struct {
	once sync.Once
	free chan struct{}
}

// take waits for a turn, which lasts until done.
func (t *turns) take(ctx context.Context) (done func(), err error) {
	t.once.Do(func() {
		t.free = make(chan struct{}, 1)
		t.free <- struct{}{}
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-t.free:
	}
	begun := time.Now()
	return func() {
		time.AfterFunc(min(restTimes*time.Since(begun), mostRest), func() { t.free <- struct{}{} })
	}, nil
}
