// Package redelivery resends many events of a partner: all that match a filter, or all since a time. It
// owns the table redelivery_jobs. Package webhook matches deliveries with filters and puts them into
// the outbox again.
//
// A job runs in batches, oldest event first. Each batch is one transaction that also moves the
// job's cursor, so the job continues after a process ends. The outbox preserves the order of a
// license's events: it sends only the first pending one. Failed events that were delivered since
// the job began are skipped and counted. A job has a rate, can be paused and cancelled, and ends
// when the person who started it loses the right to do so.
package redelivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// The limits of a rate, in events a second. Rate 0 means no limit.
const (
	DefaultRate = 50
	MaxRate     = 1000
)

// MaxCounted is the limit up to which the events of a job are counted before it begins.
const MaxCounted = 10_000

// Job is a redelivery of many events.
type Job struct {
	ID         int64
	PartnerID  int64
	Filter     history.Filter
	LicenseKey string // of Filter.LicenseID
	Rate       int    // events a second; 0: no limit
	By         audit.Actor
	Progress
	batch.State

	CreatedAt time.Time
	UpdatedAt time.Time

	at     history.Key // events up to this one are done
	nextAt time.Time   // of the next batch
	tries  int         // failures of the last batch
}

// Progress is the progress of a job.
type Progress struct {
	Expected int64 // events, as counted at the start, up to MaxCounted
	Looked   int64 // deliveries examined so far
	Count    int64 // made due so far, including the newest events of their licenses
	Skipped  int64 // failed at the start, and delivered since by something else
}

// Status is the status of a job.
type Status = batch.Status

// The statuses.
const (
	Running = batch.Running
	Paused  = batch.Paused
	Stopped = batch.Stopped
	Done    = batch.Done
)

// Estimate returns the remaining time of a job at its rate; 0 if nothing is left or it has no rate.
func (j Job) Estimate() time.Duration { return estimate(j.Expected-j.Count-j.Skipped, j.Rate) }

func estimate(events int64, rate int) time.Duration {
	if rate <= 0 || events <= 0 {
		return 0
	}
	return time.Duration(events) * time.Second / time.Duration(rate)
}

const columns = `id, partner_id, outcome, kind, codes, license_id, license_key, from_at, to_at, rate, actor_kind,
	actor_id, expected, looked, count, skipped, created_at, updated_at, paused_at, stopped, finished_at, at,
	event_id, next_at, tries`

func scan(r *sqldb.Row, j *Job) error {
	var codes string
	f := &j.Filter
	err := r.Scan(
		&j.ID,
		&j.PartnerID,
		(*string)(&f.State),
		&f.Kind,
		&codes,
		&f.LicenseID,
		&j.LicenseKey,
		&f.From,
		&f.To,
		&j.Rate,
		&j.By.Kind,
		&j.By.ID,
		&j.Expected,
		&j.Looked,
		&j.Count,
		&j.Skipped,
		&j.CreatedAt,
		&j.UpdatedAt,
		&j.PausedAt,
		&j.Stopped,
		&j.FinishedAt,
		&j.at.At,
		&j.at.EventID,
		&j.nextAt,
		&j.tries,
	)
	f.Codes, _ = history.ParseCodes(codes)
	return err
}

// Store starts, lists and stops jobs.
type Store struct {
	DB     *sqldb.DB
	Outbox *webhook.Outbox
	Now    func() time.Time

	roleOf func(context.Context, sqldb.Reader, int64) (account.Role, error) // for tests; nil: account.RoleOf
}

// Plan describes a job before it starts.
type Plan struct {
	Count    int           // events, up to MaxCounted
	More     bool          // there are more
	Rate     int           // events a second
	Estimate time.Duration // for Count at that rate
}

// Request describes a job to start.
type Request struct {
	PartnerID  int64
	Filter     history.Filter
	LicenseKey string // of Filter.LicenseID
	Rate       int
}

// check rejects invalid requests.
func (q *Request) check(now time.Time) error {
	f := &q.Filter
	if f.To.IsZero() || f.To.After(now) {
		f.To = now
	}
	switch {
	case q.Rate < 0 || q.Rate > MaxRate:
		return fault.Field(
			"rate",
			"must be a whole number of events a second, from 1 to %d, or 0 for no limit.",
			MaxRate,
		)
	case !f.From.IsZero() && !f.From.Before(f.To):
		return fault.Field("to", "must be after from, and from in the past.")
	}
	return nil
}

// Plan counts the events of a job and estimates its duration.
func (s *Store) Plan(ctx context.Context, q Request) (Plan, error) {
	if err := q.check(s.Now()); err != nil {
		return Plan{}, err
	}
	n, more, err := history.Reader{DB: s.DB}.Count(ctx, q.PartnerID, q.Filter, MaxCounted)
	if err != nil {
		return Plan{}, err
	}
	return Plan{Count: n, More: more, Rate: q.Rate, Estimate: estimate(int64(n), q.Rate)}, nil
}

// Begin starts a job. It sends the first batch immediately; Worker sends the others. A partner
// has one job at a time.
func (s *Store) Begin(ctx context.Context, by audit.Actor, q Request) (Job, error) {
	plan, err := s.Plan(ctx, q)
	if err != nil {
		return Job{}, err
	}
	if q.Filter.EventID != 0 {
		return Job{}, fault.Field("event_id", "names one event; redeliver that event by itself.")
	}
	var j Job
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := s.Now()
		if err := q.check(now); err != nil {
			return err
		}
		partner.Lock(tx, q.PartnerID)
		running, err := sqldb.One(
			ctx,
			tx,
			scan,
			`SELECT `+columns+` FROM redelivery_jobs WHERE partner_id = $1 AND finished_at = 0`,
			q.PartnerID,
		)
		switch {
		case err == nil:
			return errRunning(running)
		case !errors.Is(err, sqldb.ErrNone):
			return fmt.Errorf("look for a running redelivery: %w", err)
		}
		f := q.Filter
		j, err = sqldb.One(
			ctx,
			tx,
			scan,
			`INSERT INTO redelivery_jobs (partner_id, outcome, kind, codes, license_id, license_key, from_at, to_at,
				rate, actor_kind, actor_id, expected, looked, count, skipped, created_at, updated_at, paused_at,
				stopped, finished_at, at, event_id, next_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, 0, 0, $13, $13, 0, '', 0, 0, 0, 0)
			RETURNING `+columns,
			q.PartnerID,
			string(f.State),
			f.Kind,
			f.Codes.String(),
			f.LicenseID,
			q.LicenseKey,
			f.From,
			f.To,
			q.Rate,
			by.Kind,
			by.ID,
			plan.Count,
			now,
		)
		if err != nil {
			return fmt.Errorf("write the redelivery: %w", err)
		}
		audit.Record(tx, now, by, "partner.redeliver", subject(q.PartnerID), nil, j.facts())
		return s.work(ctx, tx, now, &j)
	})
	return j, err
}

func subject(partnerID int64) string { return fmt.Sprintf("partner:%d", partnerID) }

// facts returns the audit facts of a job.
func (j Job) facts() map[string]any {
	f := j.Filter
	facts := map[string]any{"redelivery_id": j.ID, "to": f.To, "only_failed": f.OnlyFailures()}
	for name, v := range map[string]string{
		"state": string(f.State), "status_code": f.Codes.String(), "license_key": j.LicenseKey,
	} {
		if v != "" {
			facts[name] = v
		}
	}
	if !f.From.IsZero() {
		facts["from"] = f.From
	}
	if j.Rate > 0 {
		facts["rate"] = j.Rate
	}
	return facts
}

func errRunning(j Job) error {
	return fault.New(
		fault.Conflict,
		codeRedeliveryRunning,
		"Redelivery %d of this partner's events is %s; %d events are queued so far. Wait until it is done, or "+
			"cancel it.",
		j.ID,
		j.Status(),
		j.Count,
	)
}

// Last returns the newest job of a partner.
func (s *Store) Last(ctx context.Context, partnerID int64) (Job, error) {
	list, err := s.List(ctx, partnerID, 0, 1)
	if err == nil && len(list) == 0 {
		return Job{}, fault.New(
			fault.Missing,
			codeUnknownRedelivery,
			"No span of this partner's events was redelivered yet.",
		)
	}
	if err != nil {
		return Job{}, err
	}
	return list[0], nil
}

// List returns the newest jobs of a partner before an id; 0 means all.
func (s *Store) List(ctx context.Context, partnerID, before int64, limit int) ([]Job, error) {
	list, err := sqldb.All(
		ctx,
		s.DB,
		scan,
		`SELECT `+columns+` FROM redelivery_jobs WHERE partner_id = $1 AND (id < $2 OR $2 = 0)
			ORDER BY id DESC LIMIT $3`,
		partnerID,
		before,
		limit,
	)
	if err != nil {
		return nil, fmt.Errorf("list redeliveries: %w", err)
	}
	return list, nil
}

// Get returns a job of a partner. Another partner's job is unknown.
func (s *Store) Get(ctx context.Context, partnerID, id int64) (Job, error) {
	return find(ctx, s.DB, partnerID, id)
}

func find(ctx context.Context, q sqldb.Reader, partnerID, id int64) (Job, error) {
	j, err := sqldb.One(
		ctx,
		q,
		scan,
		`SELECT `+columns+` FROM redelivery_jobs WHERE id = $1 AND partner_id = $2`,
		id,
		partnerID,
	)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return j, fault.New(
			fault.Missing,
			codeUnknownRedelivery,
			"There is no redelivery %d; the list of redeliveries has their ids.",
			id,
		)
	case err != nil:
		return j, fmt.Errorf("read redelivery %d: %w", id, err)
	}
	return j, nil
}

// Outcome returns the results of a job's sends; known is false if they are incomplete, because
// there were too many or they are too old.
func (s *Store) Outcome(ctx context.Context, j Job) (o history.Outcome, known bool, err error) {
	if j.Count == 0 {
		return o, true, nil
	}
	// The time of a batch may be slightly later than that of the job.
	o, known, err = history.Reader{DB: s.DB}.Outcome(ctx, j.ID, j.CreatedAt, j.UpdatedAt.Add(time.Minute))
	return o, known && o.Taken+o.Failed+o.Waiting == j.Count, err
}

// Versions returns a string per job that changes whenever the job does.
func (s *Store) Versions(ctx context.Context, ids []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(
		ctx,
		s.DB,
		ids,
		5,
		`SELECT id, updated_at, looked, count, paused_at, finished_at FROM redelivery_jobs WHERE id = ANY($1)`,
	)
	if err != nil {
		return nil, fmt.Errorf("read the versions of redeliveries: %w", err)
	}
	return found, nil
}
