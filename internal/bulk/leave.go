package bulk

import (
	"context"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// MaxLeftOut is the maximum number of rows left out or put back at a time.
const MaxLeftOut = 1000

// leftOut is the message of a row that a person left out.
const leftOut = "A person left it out before the act began."

// LeaveOut skips rows of an unconfirmed job by their positions. A row that is already skipped does
// not change.
func (s *Store) LeaveOut(ctx context.Context, by audit.Actor, id int64, positions []int64) (Job, error) {
	return s.choose(ctx, by, id, positions, "bulk.leave_out", func(tx *sqldb.Tx, now time.Time) (int64, error) {
		return tx.Exec(
			ctx,
			`UPDATE bulk_rows SET result = $3, code = $4, message = $5, done_at = $6 WHERE job_id = $1
				AND position = ANY($2) AND result = 0`,
			id,
			positions,
			int(Skipped),
			codeLeftOut,
			leftOut,
			now,
		)
	})
}

// PutBack includes rows again that were left out.
func (s *Store) PutBack(ctx context.Context, by audit.Actor, id int64, positions []int64) (Job, error) {
	return s.choose(ctx, by, id, positions, "bulk.put_back", func(tx *sqldb.Tx, _ time.Time) (int64, error) {
		n, err := tx.Exec(
			ctx,
			`UPDATE bulk_rows SET result = 0, code = '', message = '', done_at = 0 WHERE job_id = $1
				AND position = ANY($2) AND code = $3`,
			id,
			positions,
			codeLeftOut,
		)
		return -n, err
	})
}

// choose changes which rows of a prepared job are skipped; set returns the change of their number.
func (s *Store) choose(
	ctx context.Context,
	by audit.Actor,
	id int64,
	positions []int64,
	action string,
	set func(*sqldb.Tx, time.Time) (int64, error),
) (Job, error) {
	if len(positions) == 0 || len(positions) > MaxLeftOut {
		return Job{}, fault.Field("positions", "must have 1 to %d positions of rows.", MaxLeftOut)
	}
	return s.change(ctx, id, func(tx *sqldb.Tx, j *Job, now time.Time) error {
		if err := j.notPrepared(); err != nil {
			return err
		}
		n, err := set(tx, now)
		if err != nil || n == 0 {
			return err
		}
		j.Skipped += n
		tx.Queue(`UPDATE bulk_jobs SET skipped = $2 WHERE id = $1`, id, j.Skipped)
		audit.Record(
			tx,
			now,
			by,
			action,
			subject(id),
			nil,
			audit.Facts{"act": string(j.Act), "rows": max(n, -n), "left": j.Left()},
		)
		return nil
	})
}

// notPrepared returns a fault if a job is not checked yet, or already confirmed.
func (j Job) notPrepared() error {
	switch {
	case !j.StartedAt.IsZero() || !j.Open():
		return fault.New(
			fault.Conflict,
			codeBulkStarted,
			"Bulk act %d is %s; it is confirmed once, and its rows are chosen before.",
			j.ID,
			j.Status(),
		)
	case j.Checked < j.Total:
		return fault.New(
			fault.Conflict,
			codeBulkNotChecked,
			"Bulk act %d is being checked: %d of %d rows so far. Look at what it will do first.",
			j.ID,
			j.Checked,
			j.Total,
		)
	}
	return nil
}
