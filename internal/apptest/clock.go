package apptest

import (
	"sync"
	"time"

	"claviger/internal/app"
)

// Clock is a clock that the test controls. The zero value is the system clock.
type Clock struct {
	mu   sync.Mutex
	at   time.Time
	step time.Duration
}

// StoppedClock returns a clock that stays at a time until it is advanced.
func StoppedClock(at time.Time) *Clock { return &Clock{at: at} }

// TickingClock returns a clock that advances by a second on each read, so that no two commands have
// the same time.
func TickingClock(at time.Time) *Clock { return &Clock{at: at, step: time.Second} }

// Set is an option of New that sets this clock.
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

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// UseMachine switches to the system clock.
func (c *Clock) UseMachine() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}
