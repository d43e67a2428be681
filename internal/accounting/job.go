package accounting

import (
	"context"
	"time"

	"claviger/internal/job"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// Every is the interval of runs.
const Every = 10 * time.Second

// between is a pause between two batches, so that sales get the lock of the partner.
const between = 20 * time.Millisecond

// Job keeps the ledger up to date.
type Job struct {
	Store *Store
	Ran   job.Ran
}

// Run works until ctx ends.
func (j *Job) Run(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		more, err := j.Once(ctx)
		j.Ran.Run(ctx, began, err)
		if err != nil && ctx.Err() == nil {
			j.Store.Log.Error("the ledger is not up to date", "err", err)
		}
		pause := Every
		if more && err == nil {
			pause = between
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Once does some of the due work and reports whether there may be more.
func (j *Job) Once(ctx context.Context) (more bool, err error) {
	s := j.Store
	posted, err := s.CatchUp(ctx)
	if err != nil {
		return false, err
	}
	moved, err := ledger.MoveOn(sqldb.InJob(ctx), s.DB, s.Now())
	if err != nil {
		return false, err
	}
	divided, err := s.Divide(ctx)
	if err != nil {
		return false, err
	}
	n, err := s.MakePayable(ctx)
	return posted || moved || divided || n == payableAtOnce, err
}
