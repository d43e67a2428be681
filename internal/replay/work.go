package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/job"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// batchSize is how many events one transaction makes due. The partner's sales wait for it
// meanwhile.
const batchSize = 250

// work does the next batch of a job, under the partner's lock.
func (s *Jobs) work(ctx context.Context, tx *sqldb.Tx, now time.Time, j *Job) error {
	reason, err := s.mayGoOn(ctx, tx, *j)
	if err != nil {
		return err
	}
	if reason != "" {
		j.Stop(reason, now)
		tx.Queue(`UPDATE replay_jobs SET stopped = $2, updated_at = $3, finished_at = $3 WHERE id = $1`, j.ID, reason, now)
		return nil
	}
	most := batchSize
	if j.Rate > 0 {
		most = min(batchSize, j.Rate)
	}
	c, err := j.Filter.Candidates(ctx, tx, j.PartnerID, history.JobAt{JobID: j.ID, Begun: j.CreatedAt, After: j.at}, most)
	if err != nil {
		return err
	}
	sent, skipped, err := s.Outbox.Reopen(ctx, tx, webhook.Sender{By: j.By, JobID: j.ID}, j.PartnerID, c.EventIDs, j.Filter.OnlyFailures())
	if err != nil {
		return err
	}
	j.at, j.UpdatedAt, j.nextAt = c.At, now, now
	j.Looked += c.Looked
	j.Count += sent
	j.Skipped += c.Skipped + skipped
	if j.Rate > 0 {
		j.nextAt = now.Add(estimate(int64(len(c.EventIDs)), j.Rate))
	}
	if c.Ended {
		j.FinishedAt = now
	}
	tx.Queue(`UPDATE replay_jobs SET at = $2, event_id = $3, looked = $4, count = $5, skipped = $6, updated_at = $7, next_at = $8, finished_at = $9 WHERE id = $1`,
		j.ID, j.at.At, j.at.EventID, j.Looked, j.Count, j.Skipped, now, j.nextAt, j.FinishedAt)
	return nil
}

// mayGoOn says why a job must end: the person who began it may not send events of the
// partner any more.
func (s *Jobs) mayGoOn(ctx context.Context, tx *sqldb.Tx, j Job) (reason string, err error) {
	if j.By.Kind != audit.ByUser {
		return "", nil
	}
	if s.Operator != nil {
		if may, err := s.Operator(ctx, tx, j.By.ID); may || err != nil {
			return "", err
		}
	}
	role, err := partner.RoleOf(ctx, tx, j.PartnerID, j.By.ID)
	switch {
	case err != nil:
		return "", err
	case role == "":
		return "The person who began it is not a member any more.", nil
	case !role.Covers(partner.Developer):
		return "The person who began it may not send events again any more: their role is " + string(role) + ".", nil
	}
	return "", nil
}

// Pause has a job wait, Resume has it go on, and Cancel ends it; what it has made due is
// sent all the same. An act that is done already changes nothing.
func (s *Jobs) Pause(ctx context.Context, by audit.Actor, partnerID, id int64) (Job, error) {
	return s.act(ctx, by, partnerID, id, "partner.redeliver_pause", func(j *Job, now time.Time) bool { return j.Pause(now) })
}

// Resume has a paused job go on.
func (s *Jobs) Resume(ctx context.Context, by audit.Actor, partnerID, id int64) (Job, error) {
	return s.act(ctx, by, partnerID, id, "partner.redeliver_resume", func(j *Job, _ time.Time) bool { return j.Resume() })
}

// Cancel ends a job.
func (s *Jobs) Cancel(ctx context.Context, by audit.Actor, partnerID, id int64) (Job, error) {
	return s.act(ctx, by, partnerID, id, "partner.redeliver_cancel", func(j *Job, now time.Time) bool {
		j.Stop(batch.Cancelled, now)
		return true
	})
}

// act changes an open job under the partner's lock, so that no batch runs meanwhile.
func (s *Jobs) act(ctx context.Context, by audit.Actor, partnerID, id int64, action string, change func(*Job, time.Time) bool) (Job, error) {
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
			return fault.New(fault.Conflict, codeRedeliveryDone, "Redelivery %d is %s; nothing of it is left to pause or cancel.", id, j.Status())
		}
		if !change(&j, now) {
			return nil
		}
		j.UpdatedAt = now
		tx.Queue(`UPDATE replay_jobs SET paused_at = $2, stopped = $3, finished_at = $4, updated_at = $5 WHERE id = $1`,
			j.ID, j.PausedAt, j.Stopped, j.FinishedAt, now)
		audit.Record(tx, now, by, action, subject(partnerID), nil, audit.Facts{"redelivery_id": id})
		return nil
	})
	return j, err
}

// Pruner removes jobs that were finished long ago.
type Pruner struct {
	DB   *sqldb.DB
	Now  func() time.Time
	Keep time.Duration
}

// Prune removes jobs that were finished before Keep, and returns how many.
func (k *Pruner) Prune(ctx context.Context) (int64, error) {
	n, err := k.DB.DeleteInBatches(ctx, k.Now().Add(-k.Keep), `DELETE FROM replay_jobs WHERE finished_at < $1 AND finished_at <> 0 AND id IN (
		SELECT id FROM replay_jobs WHERE finished_at <> 0 ORDER BY id LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("prune redeliveries: %w", err)
	}
	return n, nil
}

// Replayer works off jobs. It runs on every node; one node at a time has a job in hand.
type Replayer struct {
	Jobs  *Jobs
	Every time.Duration // how often to look for work; 0: five times a second
	Ran   job.Ran       // called after each batch; nil: not called
	Log   *slog.Logger
}

// Run works until ctx ends.
func (p *Replayer) Run(ctx context.Context) {
	(&batch.Worker{Once: p.Once, What: "a redelivery", Every: p.Every, Log: p.Log, Ran: p.Ran}).Run(ctx)
}

// Once does the next batch of the job that waited longest, and reports whether there
// was one.
func (p *Replayer) Once(ctx context.Context) (bool, error) {
	s := p.Jobs
	next, err := sqldb.One(ctx, s.DB, scan, `SELECT `+columns+` FROM replay_jobs
		WHERE finished_at = 0 AND paused_at = 0 AND next_at <= $1 ORDER BY updated_at, id LIMIT 1`, s.Now())
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for redeliveries: %w", err)
	}
	worked := false
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		worked = false
		if ours, err := tx.TryLock(ctx, "replay:"+strconv.FormatInt(next.PartnerID, 10)); err != nil || !ours {
			return err
		}
		partner.Lock(tx, next.PartnerID)
		// It may have gone on since it was found.
		j, err := find(ctx, tx, next.PartnerID, next.ID)
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
		return false, fmt.Errorf("go on with redelivery %d: %w", next.ID, err)
	}
	return worked, nil
}
