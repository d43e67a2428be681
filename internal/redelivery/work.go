package redelivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/job"
	"claviger/internal/partner"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// batchSize is the number of events that one transaction makes due. The partner's sales wait for it
// meanwhile.
const batchSize = 250

// work runs the next batch of a job. The caller must hold the partner's lock.
func (s *Store) work(ctx context.Context, tx *sqldb.Tx, now time.Time, j *Job) error {
	reason, err := s.mayGoOn(ctx, tx, *j)
	if err != nil {
		return err
	}
	if reason != "" {
		j.Stop(reason, now)
		tx.Queue(
			`UPDATE redelivery_jobs SET stopped = $2, updated_at = $3, finished_at = $3 WHERE id = $1`, j.ID,
			reason, now,
		)
		return nil
	}
	most := batchSize
	if j.Rate > 0 {
		most = min(batchSize, j.Rate)
	}
	c, err := j.Filter.Candidates(
		ctx, tx, j.PartnerID, history.JobAt{JobID: j.ID, Begun: j.CreatedAt, After: j.at}, most,
	)
	if err != nil {
		return err
	}
	sent, skipped, err := s.Outbox.RedeliverMany(
		ctx, tx, webhook.Sender{By: j.By, JobID: j.ID}, j.PartnerID, c.EventIDs, j.Filter.OnlyFailures(),
	)
	if err != nil {
		return err
	}
	j.at = c.At
	j.UpdatedAt = now
	j.nextAt = now
	j.Looked += c.Looked
	j.Count += sent
	j.Skipped += c.Skipped + skipped
	if j.Rate > 0 {
		j.nextAt = now.Add(estimate(int64(len(c.EventIDs)), j.Rate))
	}
	if c.Ended {
		j.FinishedAt = now
	}
	tx.Queue(`UPDATE redelivery_jobs SET at = $2, event_id = $3, looked = $4, count = $5, skipped = $6, updated_at = $7,
		next_at = $8, finished_at = $9 WHERE id = $1`,
		j.ID, j.at.At, j.at.EventID, j.Looked, j.Count, j.Skipped, now, j.nextAt, j.FinishedAt)
	return nil
}

// mayGoOn returns the reason why a job must end: the person who started it may no longer send
// events of the partner.
func (s *Store) mayGoOn(ctx context.Context, tx *sqldb.Tx, j Job) (reason string, err error) {
	if j.By.Kind != audit.ByUser {
		return "", nil
	}
	roleOf := s.roleOf
	if roleOf == nil {
		roleOf = account.RoleOf
	}
	operator, err := roleOf(ctx, tx, j.By.ID)
	if err != nil || operator.May(account.Support) {
		return "", err
	}
	role, err := partner.RoleOf(ctx, tx, j.PartnerID, j.By.ID)
	switch {
	case err != nil:
		return "", err
	case role == "":
		return "The person who began it is no longer a member.", nil
	case !role.Covers(partner.Developer):
		return "The person who began it may no longer redeliver events: their role is " + string(role) + ".", nil
	}
	return "", nil
}

// Pause pauses a job, Resume continues it, and Cancel ends it; events that it has made due are
// still sent. Repeating one of them changes nothing.
func (s *Store) Pause(ctx context.Context, by audit.Actor, partnerID, id int64) (Job, error) {
	return s.act(
		ctx, by, partnerID, id, "partner.redeliver_pause",
		func(j *Job, now time.Time) bool { return j.Pause(now) },
	)
}

// Resume continues a paused job.
func (s *Store) Resume(ctx context.Context, by audit.Actor, partnerID, id int64) (Job, error) {
	return s.act(
		ctx, by, partnerID, id, "partner.redeliver_resume",
		func(j *Job, _ time.Time) bool { return j.Resume() },
	)
}

// Cancel ends a job.
func (s *Store) Cancel(ctx context.Context, by audit.Actor, partnerID, id int64) (Job, error) {
	return s.act(ctx, by, partnerID, id, "partner.redeliver_cancel", func(j *Job, now time.Time) bool {
		j.Stop(batch.Cancelled, now)
		return true
	})
}

// act changes an open job under the partner's lock, so that no batch runs meanwhile.
func (s *Store) act(
	ctx context.Context, by audit.Actor, partnerID, id int64, action string,
	change func(*Job, time.Time) bool,
) (Job, error) {
	var j Job
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := s.Now()
		if _, err := find(ctx, tx, partnerID, id); err != nil {
			return err
		}
		partner.Lock(tx, partnerID)
		var err error
		if j, err = find(ctx, tx, partnerID, id); err != nil {
			return err
		}
		if !j.Open() {
			return fault.New(
				fault.Conflict, codeRedeliveryDone,
				"Redelivery %d is %s; nothing of it is left to pause or cancel.", id, j.Status(),
			)
		}
		if !change(&j, now) {
			return nil
		}
		j.UpdatedAt = now
		tx.Queue(`UPDATE redelivery_jobs SET paused_at = $2, stopped = $3, finished_at = $4, updated_at = $5
			WHERE id = $1`,
			j.ID, j.PausedAt, j.Stopped, j.FinishedAt, now)
		audit.Record(tx, now, by, action, subject(partnerID), nil, audit.Facts{"redelivery_id": id})
		return nil
	})
	return j, err
}

// Expiring lists the jobs that expire: those that finished longer than keep ago.
func Expiring(keep time.Duration) []prune.Rule {
	return []prune.Rule{{Table: "redelivery_jobs", At: "finished_at", Keep: keep, If: `finished_at <> 0`, ByID: true}}
}

// Worker runs jobs. It runs on every node; only one node at a time works on a job.
type Worker struct {
	Store *Store
	Every time.Duration // interval of checks for work; 0: five times a second
	Ran   job.Ran       // called after each batch; nil: not called
	Log   *slog.Logger
}

// Run works until ctx ends.
func (p *Worker) Run(ctx context.Context) {
	(&batch.Worker{Once: p.Once, What: "a redelivery", Every: p.Every, Log: p.Log, Ran: p.Ran}).Run(ctx)
}

// Once runs the next batch of the job that waited longest, and reports whether there was one. A job
// with a failed batch is delayed, and does not block others.
func (p *Worker) Once(ctx context.Context) (bool, error) {
	s := p.Store
	next, err := sqldb.One(ctx, s.DB, scan, `SELECT `+columns+` FROM redelivery_jobs
		WHERE finished_at = 0 AND paused_at = 0 AND next_at <= $1 ORDER BY updated_at, id LIMIT 1`, s.Now())
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for redeliveries: %w", err)
	}
	turn := &batch.Turn{
		What: "redelivery", Job: next.ID, Tries: next.tries, Now: s.Now, Log: p.Log,
		Do: func(ctx context.Context) (bool, error) { return s.next(ctx, next) },
		PutOff: func(ctx context.Context, tries int, until time.Time) error {
			return s.putOff(ctx, next, tries, until)
		},
		Stop: func(ctx context.Context, reason string) error { return s.giveUp(ctx, next, reason) },
	}
	return turn.Take(ctx)
}

// next runs the next batch of a job, unless it has changed since it was found.
func (s *Store) next(ctx context.Context, found Job) (worked bool, err error) {
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		worked = false
		if ours, err := tx.TryLock(ctx, "redelivery:"+strconv.FormatInt(found.PartnerID, 10)); err != nil || !ours {
			return err
		}
		partner.Lock(tx, found.PartnerID)
		j, err := find(ctx, tx, found.PartnerID, found.ID)
		now := s.Now()
		switch {
		case fault.Is(err, codeUnknownRedelivery):
			return nil
		case err != nil:
			return err
		case !j.Open() || !j.PausedAt.IsZero() || j.nextAt.After(now):
			return nil
		}
		worked = true
		return s.work(ctx, tx, now, &j)
	})
	if err != nil {
		return false, fmt.Errorf("continue redelivery %d: %w", found.ID, err)
	}
	return worked, nil
}

// putOff delays a job until a time. 0 tries mean that its batch succeeded: the batch has stored the
// next time itself.
func (s *Store) putOff(ctx context.Context, j Job, tries int, until time.Time) error {
	now := s.Now()
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if tries == 0 {
			tx.Queue(`UPDATE redelivery_jobs SET tries = 0 WHERE id = $1`, j.ID)
			return nil
		}
		tx.Queue(
			`UPDATE redelivery_jobs SET tries = $2, next_at = $3, updated_at = $4 WHERE id = $1 AND finished_at = 0`,
			j.ID, tries, until, now,
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("put redelivery %d off: %w", j.ID, err)
	}
	return nil
}

// giveUp stops a job that fails repeatedly.
func (s *Store) giveUp(ctx context.Context, j Job, reason string) error {
	_, err := s.act(ctx, audit.System("redeliveries"), j.PartnerID, j.ID, "partner.redeliver_stop",
		func(j *Job, now time.Time) bool {
			j.Stop(reason, now)
			return true
		})
	if fault.Is(err, codeRedeliveryDone) {
		return nil // it has ended meanwhile
	}
	return err
}
