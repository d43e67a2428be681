package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// batchSize is how many rows are done between two checks of the person's role.
const batchSize = 25

// newest is the position before which the newest is.
func newest(before int64) int64 { return cmp.Or(before, math.MaxInt64) }

// Start confirms a prepared job: whoever does is the one who acts.
func (s *Jobs) Start(ctx context.Context, by audit.Actor, id int64) (Job, error) {
	return s.start(ctx, by, id, nil)
}

// StartAs confirms a prepared job that is as it was seen: nobody has left out rows or put
// them back since.
func (s *Jobs) StartAs(ctx context.Context, by audit.Actor, seen Job) (Job, error) {
	return s.start(ctx, by, seen.ID, &seen)
}

func (s *Jobs) start(ctx context.Context, by audit.Actor, id int64, seen *Job) (Job, error) {
	return s.change(ctx, id, func(tx *sqldb.Tx, j *Job, now time.Time) error {
		if err := j.notPrepared(); err != nil {
			return err
		}
		switch {
		case seen != nil && (seen.Left() != j.Left() || !seen.UpdatedAt.Equal(j.UpdatedAt)):
			return fault.New(fault.Conflict, codeChangedSince, "The rows of bulk act %d have changed since they were shown: %d are to be done. Look at them, then confirm it.", id, j.Left())
		case j.Left() == 0:
			return fault.New(fault.Conflict, codeNothingSelected, "It can be done to none of the rows of bulk act %d; each says why.", id)
		}
		j.By, j.StartedAt = by, now
		tx.Queue(`UPDATE bulk_jobs SET actor_kind = $2, actor_id = $3, actor_name = $4, session = $5, client = $6, started_at = $7 WHERE id = $1`,
			id, by.Kind, by.ID, by.Name, by.Session, by.Client, now)
		audit.Record(tx, now, by, "bulk.start", subject(id), nil, audit.Facts{"act": string(j.Act), "rows": j.Left()})
		return nil
	})
}

func subject(id int64) string { return fmt.Sprintf("bulk:%d", id) }

// Pause has a job wait before its next row, Resume has it go on, Cancel ends it: what is
// done stays done. An act that is done already changes nothing.
func (s *Jobs) Pause(ctx context.Context, by audit.Actor, id int64) (Job, error) {
	return s.act(ctx, by, id, "bulk.pause", func(j *Job, now time.Time) bool { return j.Pause(now) })
}

// Resume has a paused job go on.
func (s *Jobs) Resume(ctx context.Context, by audit.Actor, id int64) (Job, error) {
	return s.act(ctx, by, id, "bulk.resume", func(j *Job, _ time.Time) bool { return j.Resume() })
}

// Cancel ends a job, prepared or started.
func (s *Jobs) Cancel(ctx context.Context, by audit.Actor, id int64) (Job, error) {
	return s.act(ctx, by, id, "bulk.cancel", func(j *Job, now time.Time) bool {
		j.Stop(batch.Cancelled, now)
		return true
	})
}

func (s *Jobs) act(ctx context.Context, by audit.Actor, id int64, action string, do func(*Job, time.Time) bool) (Job, error) {
	return s.change(ctx, id, func(tx *sqldb.Tx, j *Job, now time.Time) error {
		switch {
		case !j.Open():
			return fault.New(fault.Conflict, codeBulkDone, "Bulk act %d is %s; nothing of it is left to pause or cancel.", id, j.Status())
		case j.StartedAt.IsZero() && action != "bulk.cancel" && action != "bulk.stop":
			return fault.New(fault.Conflict, codeBulkNotStarted, "Bulk act %d is prepared and not confirmed; there is nothing to pause.", id)
		}
		if do(j, now) {
			audit.Record(tx, now, by, action, subject(id), nil, audit.Facts{"act": string(j.Act), "succeeded": j.Succeeded, "refused": j.Refused, "left": j.Left()})
		}
		return nil
	})
}

// change changes how a job stands, under its lock: no row is being done meanwhile.
func (s *Jobs) change(ctx context.Context, id int64, do func(*sqldb.Tx, *Job, time.Time) error) (Job, error) {
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
		tx.Queue(`UPDATE bulk_jobs SET paused_at = $2, stopped = $3, finished_at = $4, updated_at = $5 WHERE id = $1`, id, j.PausedAt, j.Stopped, j.FinishedAt, now)
		return nil
	})
	return j, err
}

// Once does the next rows of the job that waited longest, or checks them, and reports
// whether there was one.
func (s *Jobs) Once(ctx context.Context) (bool, error) {
	j, err := sqldb.One(ctx, s.DB, scan, `SELECT `+columns+` FROM bulk_jobs
		WHERE finished_at = 0 AND paused_at = 0 AND (started_at <> 0 OR checked < total) ORDER BY updated_at, id LIMIT 1`)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for bulk acts: %w", err)
	}
	may, err := s.May(ctx, j.By, j.Act.Scope())
	if err != nil {
		return false, err
	}
	if !may {
		_, err := s.act(ctx, audit.System("bulk acts"), j.ID, "bulk.stop", func(j *Job, now time.Time) bool {
			j.Stop("Whoever confirmed it may not do this any more.", now)
			return true
		})
		return true, unlessDone(err)
	}
	if j.StartedAt.IsZero() {
		_, err := s.checkRows(ctx, j)
		return true, err
	}
	rows, err := s.Rows(ctx, j.ID, 0, Open, true, batchSize)
	if err != nil {
		return false, err
	}
	if len(rows) == 0 {
		_, err := s.change(ctx, j.ID, func(_ *sqldb.Tx, j *Job, now time.Time) error {
			if j.Open() && j.Left() == 0 {
				j.FinishedAt = now
			}
			return nil
		})
		return true, err
	}
	for _, row := range rows {
		if err := s.do(ctx, j, row); err != nil {
			if errors.Is(err, errMoved) {
				return true, nil
			}
			return false, fmt.Errorf("go on with bulk act %d: %w", j.ID, err)
		}
	}
	return true, nil
}

// unlessDone is the error, unless it says that the job has ended meanwhile.
func unlessDone(err error) error {
	if fault.Is(err, codeBulkDone) {
		return nil
	}
	return err
}

// errMoved says that the job was paused or ended, or that another node has done the row:
// the transaction changes nothing.
var errMoved = errors.New("the job or the row has moved on")

// do does a row. What refuses it is its result; any other error leaves it to be tried
// again.
func (s *Jobs) do(ctx context.Context, j Job, row Row) error {
	finish := func(tx *sqldb.Tx) error { return s.finish(ctx, tx, j.ID, row.Position, Succeeded, nil) }
	var err error
	if j.Kind.ofLicenses() {
		var r *license.Registry
		if r, err = s.unchanged(row); err == nil {
			err = s.onLicenses(ctx, r, j, row, finish)
		}
	} else {
		err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			on := s.onPartner
			if j.Kind == Events {
				on = s.onEvent
			}
			if err := on(ctx, tx, j, row); err != nil {
				return err
			}
			return finish(tx)
		})
	}
	f := fault.Of(err)
	if f == nil || again(f) {
		return err
	}
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error { return s.finish(ctx, tx, j.ID, row.Position, Refused, f) })
}

// finish writes the result of a row, in the transaction that did it: if the job was
// paused or ended, or the row is done, nothing of the transaction counts.
func (s *Jobs) finish(ctx context.Context, tx *sqldb.Tx, jobID, position int64, r Result, f *fault.Error) error {
	now, succeeded, refused, code, message := s.Now(), 1, 0, "", ""
	if f != nil {
		succeeded, refused, code, message = 0, 1, f.Code, f.Text
	}
	n, err := tx.Exec(ctx, `UPDATE bulk_jobs SET succeeded = succeeded + $2, refused = refused + $3, updated_at = $4
		WHERE id = $1 AND finished_at = 0 AND paused_at = 0`, jobID, succeeded, refused, now)
	if err != nil || n == 0 {
		return cmp.Or(err, errMoved)
	}
	n, err = tx.Exec(ctx, `UPDATE bulk_rows SET result = $3, code = $4, message = $5, done_at = $6 WHERE job_id = $1 AND position = $2 AND result = 0`,
		jobID, position, int(r), code, message, now)
	if err != nil || n == 0 {
		return cmp.Or(err, errMoved)
	}
	return nil
}

// preparedFor is how long a prepared job waits to be confirmed.
const preparedFor = 24 * time.Hour

// Pruner removes jobs that were finished long ago, and those that nobody confirmed.
type Pruner struct {
	DB   *sqldb.DB
	Now  func() time.Time
	Keep time.Duration
}

// Prune removes such jobs with their rows, and returns how many.
func (p *Pruner) Prune(ctx context.Context) (int64, error) {
	var sum int64
	for before, sql := range map[time.Time]string{
		p.Now().Add(-p.Keep):      `DELETE FROM bulk_jobs WHERE id IN (SELECT id FROM bulk_jobs WHERE finished_at <> 0 AND finished_at < $1 ORDER BY id LIMIT $2)`,
		p.Now().Add(-preparedFor): `DELETE FROM bulk_jobs WHERE id IN (SELECT id FROM bulk_jobs WHERE started_at = 0 AND created_at < $1 ORDER BY id LIMIT $2)`,
	} {
		n, err := p.DB.DeleteInBatches(ctx, before, sql)
		if sum += n; err != nil {
			return sum, fmt.Errorf("prune bulk acts: %w", err)
		}
	}
	return sum, nil
}
