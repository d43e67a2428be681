package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/job"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// Once performs or checks the next rows of the job that waited longest, and reports whether there
// was one. A failing job is delayed, and does not block others.
func (s *Store) Once(ctx context.Context) (bool, error) {
	j, err := sqldb.One(ctx, s.DB, scan, `SELECT `+columns+` FROM bulk_jobs
		WHERE finished_at = 0 AND paused_at = 0 AND (started_at <> 0 OR checked < total) AND next_at <= $1
		ORDER BY updated_at, id LIMIT 1`, s.Now())
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for bulk acts: %w", err)
	}
	turn := &batch.Turn{
		What: "bulk act", Job: j.ID, Tries: j.tries, Now: s.Now, Log: s.Log,
		Do: func(ctx context.Context) (bool, error) { return true, s.next(ctx, j) },
		PutOff: func(ctx context.Context, tries int, until time.Time) error {
			return s.putOff(ctx, j.ID, tries, until)
		},
		Stop: func(ctx context.Context, reason string) error { return s.stop(ctx, j.ID, reason) },
	}
	return turn.Take(ctx)
}

// next performs or checks the next rows of a job.
func (s *Store) next(ctx context.Context, j Job) error {
	mayStill := s.may
	if mayStill == nil {
		mayStill = s.Accounts.MayStill
	}
	may, err := mayStill(ctx, j.By, j.Act.Scope())
	if err != nil {
		return err
	}
	if !may {
		return s.stop(ctx, j.ID, "The person who confirmed it has lost the right to do this.")
	}
	if j.StartedAt.IsZero() {
		_, err := s.checkRows(ctx, j)
		return err
	}
	rows, err := sqldb.All(
		ctx,
		s.DB,
		scanRow,
		`SELECT `+rowColumns+` FROM bulk_rows WHERE job_id = $1 AND result = 0 AND next_at <= $2
		ORDER BY position LIMIT $3`,
		j.ID,
		s.Now(),
		batchSize,
	)
	if err != nil {
		return fmt.Errorf("read the next rows of bulk act %d: %w", j.ID, err)
	}
	if len(rows) == 0 {
		return s.restOrEnd(ctx, j.ID)
	}
	for _, row := range rows {
		if err := s.do(ctx, j, row); err != nil {
			if errors.Is(err, errMoved) {
				return nil
			}
			return fmt.Errorf("continue bulk act %d: %w", j.ID, err)
		}
	}
	return nil
}

// restOrEnd ends a job without open rows. If the open rows have failed and rest, the job rests
// until the first of them is retried.
func (s *Store) restOrEnd(ctx context.Context, id int64) error {
	_, err := s.change(ctx, id, func(tx *sqldb.Tx, j *Job, now time.Time) error {
		if !j.Open() {
			return nil
		}
		next, err := sqldb.One(
			ctx,
			tx,
			sqldb.Value[time.Time],
			`SELECT next_at FROM bulk_rows WHERE job_id = $1 AND result = 0 ORDER BY next_at LIMIT 1`,
			id,
		)
		switch {
		case errors.Is(err, sqldb.ErrNone):
			j.FinishedAt = now
		case err != nil:
			return err
		default:
			tx.Queue(`UPDATE bulk_jobs SET next_at = $2 WHERE id = $1`, id, next)
		}
		return nil
	})
	return err
}

// stop ends a job early, unless it has ended meanwhile.
func (s *Store) stop(ctx context.Context, id int64, reason string) error {
	_, err := s.act(ctx, audit.System("bulk acts"), id, "bulk.stop", func(j *Job, now time.Time) bool {
		j.Stop(reason, now)
		return true
	})
	if fault.Is(err, codeBulkDone) {
		return nil
	}
	return err
}

// putOff delays a job until a time; 0 tries mean that it succeeded again.
func (s *Store) putOff(ctx context.Context, id int64, tries int, until time.Time) error {
	now := s.Now()
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if tries == 0 {
			tx.Queue(`UPDATE bulk_jobs SET tries = 0 WHERE id = $1`, id)
			return nil
		}
		tx.Queue(
			`UPDATE bulk_jobs SET tries = $2, next_at = $3, updated_at = $4 WHERE id = $1 AND finished_at = 0`,
			id,
			tries,
			until,
			now,
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("put bulk act %d off: %w", id, err)
	}
	return nil
}

// errMoved means that the job was paused or ended, or that another node has done the row: the
// transaction changes nothing.
var errMoved = errors.New("the job or the row has moved on")

// do performs a row and stores its result: done, refused, or failed and to be retried. It returns
// an error only if that could not be stored, or the database is unavailable.
func (s *Store) do(ctx context.Context, j Job, row Row) error {
	err := s.try(ctx, j, row)
	f := fault.Of(err)
	switch {
	case err == nil || errors.Is(err, errMoved) || batch.Away(ctx, err):
		return err
	case f == nil || again(f):
		return s.failed(ctx, j, row, err)
	}
	return s.settle(ctx, j.ID, row.Position, Refused, f)
}

// try performs a row, in one transaction with its result.
func (s *Store) try(ctx context.Context, j Job, row Row) error {
	finish := func(tx *sqldb.Tx) error { return s.finish(ctx, tx, j.ID, row.Position, Succeeded, nil) }
	if j.Kind.ofLicenses() {
		var r *license.Store
		r, err := s.unchanged(row)
		if err != nil {
			return err
		}
		return s.onLicenses(ctx, r, j, row, finish)
	}
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
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

// failed schedules a retry of a row, or gives it up. The rows after it, and other jobs, get their
// turns meanwhile.
func (s *Store) failed(ctx context.Context, j Job, row Row, err error) error {
	tries := row.tries + 1
	id := batch.NewFailureID()
	cmp.Or(s.Log, slog.Default()).
		Error("a row of a bulk act failed", "job", j.ID, "row", row.Position, "tries", tries, "failure", id, "err", err)
	if tries >= batch.RowTries {
		if f := fault.Of(err); f != nil {
			return s.settle(ctx, j.ID, row.Position, Refused, f) // the fault itself has the reason
		}
		return s.settle(ctx, j.ID, row.Position, Failed, givenUp(tries, id))
	}
	now := s.Now()
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE bulk_jobs SET updated_at = $2 WHERE id = $1`, j.ID, now)
		tx.Queue(`UPDATE bulk_rows SET tries = $3, next_at = $4 WHERE job_id = $1 AND position = $2 AND result = 0`,
			j.ID, row.Position, tries, batch.NextTry(now, tries))
		return nil
	})
	if err != nil {
		return fmt.Errorf("put row %d off: %w", row.Position, err)
	}
	return nil
}

// givenUp returns the reason why a row is not retried.
func givenUp(tries int, id string) *fault.Error {
	return fault.New(fault.Conflict, codeRowFailed, "%s", batch.GivenUp(tries, id))
}

// settle writes the result of a row that was not done.
func (s *Store) settle(ctx context.Context, jobID, position int64, r Result, why *fault.Error) error {
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error { return s.finish(ctx, tx, jobID, position, r, why) })
}

// finish writes the result of a row, in the transaction that did it. If the job was paused or
// ended, or the row is done, it rolls the transaction back.
func (s *Store) finish(ctx context.Context, tx *sqldb.Tx, jobID, position int64, r Result, why *fault.Error) error {
	now := s.Now()
	var succeeded, refused, failed int
	var code, message string
	switch r {
	case Failed:
		failed = 1
		r = Refused
		fallthrough
	case Refused:
		refused = 1
		code = why.Code
		message = why.Text
	default:
		succeeded = 1
	}
	n, err := tx.Exec(
		ctx,
		`UPDATE bulk_jobs SET succeeded = succeeded + $2, refused = refused + $3, failed = failed + $4, updated_at = $5
		WHERE id = $1 AND finished_at = 0 AND paused_at = 0`,
		jobID,
		succeeded,
		refused,
		failed,
		now,
	)
	if err != nil || n == 0 {
		return cmp.Or(err, errMoved)
	}
	n, err = tx.Exec(
		ctx,
		`UPDATE bulk_rows SET result = $3, code = $4, message = $5, done_at = $6 WHERE job_id = $1 AND position = $2
			AND result = 0`,
		jobID,
		position,
		int(r),
		code,
		message,
		now,
	)
	if err != nil || n == 0 {
		return cmp.Or(err, errMoved)
	}
	return nil
}

// Worker runs jobs. It runs on every node; only one node at a time works on a job.
type Worker struct {
	Store *Store
	Ran   job.Ran // called after each batch; nil: not called
	Log   *slog.Logger
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	(&batch.Worker{Once: w.Store.Once, What: "a bulk act", Log: w.Log, Ran: w.Ran}).Run(ctx)
}
