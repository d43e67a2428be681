package apptest

import (
	"sync"
	"time"

	"claviger/internal/app"
)

// Clock is a clock that the test controls. The zero value is that of the machine.
type Clock struct {
	mu   sync.Mutex
	at   time.Time
	step time.Duration
}

// StoppedClock returns a clock that stands at a time until it is advanced.
func StoppedClock(at time.Time) *Clock { return &Clock{at: at} }

// TickingClock returns a clock that goes on by a second whenever it is read, so that
// no two commands have the same time.
func TickingClock(at time.Time) *Clock { return &Clock{at: at, step: time.Second} }

// Set is an option of New: the application has this clock.
func (c *Clock) Set(cfg *app.Config) { cfg.Now = c.Now }

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return app.Now()
	}
	c.at = c.at.Add(c.step)
	return c.at
}

// Advance sets the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// UseMachine makes it the machine's clock from now on.
func (c *Clock) UseMachine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}
