package bulk

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// batchSize is the number of rows done between two checks of the person's role.
const batchSize = 25

// newest returns before, or the highest position if it is 0.
func newest(before int64) int64 { return cmp.Or(before, math.MaxInt64) }

// Start confirms a prepared job. The confirming actor becomes the actor of the job.
func (s *Store) Start(ctx context.Context, by audit.Actor, id int64) (Job, error) {
	return s.start(ctx, by, id, nil)
}

// StartAs confirms a prepared job if it is unchanged since seen: no rows were left out or put back.
func (s *Store) StartAs(ctx context.Context, by audit.Actor, seen Job) (Job, error) {
	return s.start(ctx, by, seen.ID, &seen)
}

func (s *Store) start(ctx context.Context, by audit.Actor, id int64, seen *Job) (Job, error) {
	return s.change(ctx, id, func(tx *sqldb.Tx, j *Job, now time.Time) error {
		if err := j.notPrepared(); err != nil {
			return err
		}
		switch {
		case seen != nil && (seen.Left() != j.Left() || !seen.UpdatedAt.Equal(j.UpdatedAt)):
			return fault.New(
				fault.Conflict,
				codeChangedSince,
				"The rows of bulk act %d have changed since they were shown: %d are to be done. Look at them, then "+
					"confirm it.",
				id,
				j.Left(),
			)
		case j.Left() == 0:
			return fault.New(
				fault.Conflict,
				codeNothingSelected,
				"It can be done to none of the rows of bulk act %d; each says why.",
				id,
			)
		}
		j.By = by
		j.StartedAt = now
		tx.Queue(
			`UPDATE bulk_jobs SET actor_kind = $2, actor_id = $3, actor_name = $4, session = $5, client = $6,
				started_at = $7 WHERE id = $1`,
			id,
			by.Kind,
			by.ID,
			by.Name,
			by.Session,
			by.Client,
			now,
		)
		audit.Record(tx, now, by, "bulk.start", subject(id), nil, audit.Facts{"act": string(j.Act), "rows": j.Left()})
		return nil
	})
}

func subject(id int64) string { return fmt.Sprintf("bulk:%d", id) }

// Pause makes a job wait before its next row, Resume continues it, Cancel ends it; finished rows
// stay done. Repeating one of them changes nothing.
func (s *Store) Pause(ctx context.Context, by audit.Actor, id int64) (Job, error) {
	return s.act(ctx, by, id, "bulk.pause", func(j *Job, now time.Time) bool { return j.Pause(now) })
}

// Resume continues a paused job.
func (s *Store) Resume(ctx context.Context, by audit.Actor, id int64) (Job, error) {
	return s.act(ctx, by, id, "bulk.resume", func(j *Job, _ time.Time) bool { return j.Resume() })
}

// Cancel ends a job, prepared or started.
func (s *Store) Cancel(ctx context.Context, by audit.Actor, id int64) (Job, error) {
	return s.act(ctx, by, id, "bulk.cancel", func(j *Job, now time.Time) bool {
		j.Stop(batch.Cancelled, now)
		return true
	})
}

func (s *Store) act(
	ctx context.Context,
	by audit.Actor,
	id int64,
	action string,
	do func(*Job, time.Time) bool,
) (Job, error) {
	return s.change(ctx, id, func(tx *sqldb.Tx, j *Job, now time.Time) error {
		switch {
		case !j.Open():
			return fault.New(
				fault.Conflict,
				codeBulkDone,
				"Bulk act %d is %s; nothing of it is left to pause or cancel.",
				id,
				j.Status(),
			)
		case j.StartedAt.IsZero() && action != "bulk.cancel" && action != "bulk.stop":
			return fault.New(
				fault.Conflict,
				codeBulkNotStarted,
				"Bulk act %d is prepared and not confirmed; there is nothing to pause.",
				id,
			)
		}
		if do(j, now) {
			audit.Record(
				tx,
				now,
				by,
				action,
				subject(id),
				nil,
				audit.Facts{
					"act":       string(j.Act),
					"succeeded": j.Succeeded,
					"refused":   j.Refused,
					"failed":    j.Failed,
					"left":      j.Left(),
				},
			)
		}
		return nil
	})
}

// change changes the status of a job, under its lock: no row is being done meanwhile.
func (s *Store) change(ctx context.Context, id int64, do func(*sqldb.Tx, *Job, time.Time) error) (Job, error) {
	var j Job
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := s.Now()
		if _, err := tx.Exec(ctx, `UPDATE bulk_jobs SET updated_at = updated_at WHERE id = $1`, id); err != nil {
			return err
		}
		var err error
		if j, err = find(ctx, tx, id); err != nil {
			return err
		}
		if err := do(tx, &j, now); err != nil {
			return err
		}
		j.UpdatedAt = now
		tx.Queue(
			`UPDATE bulk_jobs SET paused_at = $2, stopped = $3, finished_at = $4, updated_at = $5 WHERE id = $1`,
			id,
			j.PausedAt,
			j.Stopped,
			j.FinishedAt,
			now,
		)
		return nil
	})
	return j, err
}

// preparedFor is how long a prepared job waits for confirmation.
const preparedFor = 24 * time.Hour

// Expiring lists the jobs that expire: finished ones, and those that were not confirmed. A job has up
// to MaxRows rows, which are deleted with it.
func Expiring(keep time.Duration) []prune.Rule {
	return []prune.Rule{
		{Table: "bulk_jobs", At: "finished_at", Keep: keep, If: `finished_at <> 0`, ByID: true, Batch: 10},
		{Table: "bulk_jobs", At: "created_at", Keep: preparedFor, If: `started_at = 0`, ByID: true, Batch: 10},
	}
}
