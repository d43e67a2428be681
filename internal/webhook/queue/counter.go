package queue

import (
	"context"
	"log/slog"
	"time"

	"claviger/internal/job"
)

// CountEvery is the interval of counts, if counting is quick.
const CountEvery = 10 * time.Second

// Counter counts deliveries at intervals, on one node at a time.
type Counter struct {
	Figures *Figures
	Ran     job.Ran // called after each count; nil: not called
	Log     *slog.Logger
}

// Run counts until ctx ends. It rests twenty times as long as the count took, so that a large
// outbox uses at most a twentieth of a core.
func (c *Counter) Run(ctx context.Context) {
	failed := false
	for ctx.Err() == nil {
		began := time.Now()
		err := c.Figures.Count(ctx)
		c.Ran.Run(ctx, began, err)
		if err != nil && ctx.Err() == nil && !failed {
			c.Log.Error("counting deliveries failed; it is tried again", "err", err)
		}
		failed = err != nil
		select {
		case <-ctx.Done():
		case <-time.After(max(CountEvery, 20*time.Since(began))):
		}
	}
}
