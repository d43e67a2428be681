package statement

import (
	"context"
	"time"

	"claviger/internal/job"
)

// Every is the interval of runs.
const Every = 10 * time.Second

// Job writes the statements of months that have ended.
type Job struct {
	Store *Store
	Ran   job.Ran
}

// Run works until ctx ends.
func (j *Job) Run(ctx context.Context) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		began := time.Now()
		err := j.Store.CloseMonths(ctx)
		j.Ran.Run(ctx, began, err)
		if err != nil && ctx.Err() == nil {
			j.Store.Log.Error("statements were not written; the next run tries again", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
