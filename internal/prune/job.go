package prune

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/job"
	"claviger/internal/sqldb"
)

// Job prunes at intervals. Running on two nodes simultaneously is harmless.
type Job struct {
	DB    *sqldb.DB
	Now   func() time.Time
	Rules []Rule
	Every time.Duration
	Quiet bool          // do not log results
	Node  *cluster.Node // nothing is pruned while its clock is wrong; nil: no check
	Ran   job.Ran       // called after each run; nil: not called
	Log   *slog.Logger
}

// Run prunes until ctx ends. A failure is logged, and the next run happens as usual.
func (j *Job) Run(ctx context.Context) {
	ticker := time.NewTicker(j.Every)
	defer ticker.Stop()
	for {
		began := time.Now()
		n, err := j.once(ctx)
		j.Ran.Run(ctx, began, err)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			j.Log.Error("pruning failed; it is tried again later", "err", err)
		case n > 0 && !j.Quiet:
			j.Log.Info("pruned expired rows", "count", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// once prunes once and returns the number of deleted rows. The clock is checked before each rule:
// rows deleted too early are lost; too late is harmless.
func (j *Job) once(ctx context.Context) (int64, error) {
	var sum int64
	var errs []error
	for i := range j.Rules {
		if j.Node != nil {
			if err := j.Node.CheckClock(); err != nil {
				return sum, errors.Join(append(errs, fmt.Errorf("nothing is pruned: %w", err))...)
			}
		}
		n, err := Rows(ctx, j.DB, j.Now(), j.Rules[i:i+1])
		sum += n
		errs = append(errs, err)
	}
	return sum, errors.Join(errs...)
}
