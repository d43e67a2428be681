// Package bulk does one act on many licenses, purchases, deliveries or partners. It owns
// the tables bulk_jobs and bulk_rows; the acts themselves are those of license, webhook
// and partner.
//
// A job is prepared first: what a filter means at that moment is written down, row by row.
// Then the rows are checked: each is told what the act would do to it, by the code that
// does it, and those that it cannot be done to are skipped. A person may leave out more.
// So what they confirm is what they were shown.
//
// After the confirmation the rows are done one by one, oldest first, each in one
// transaction with its result and its audit entry: whenever a process ends, no row is done
// twice and none is left out. A row that has changed since it was checked is refused and
// says so, and the others go on. Before each batch it is checked again that the person who
// confirmed may still do the act.
package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// MaxRows is how many rows a job has at most: what a person can still look through.
const MaxRows = 10_000

// Job is an act on many rows.
type Job struct {
	ID       int64
	Act      Act
	Kind     Kind
	Reason   string // why a license is held or a partner paused; the note of a refund
	Selected string // what was selected, in words
	By       audit.Actor
	Progress
	batch.State

	CreatedAt time.Time
	StartedAt time.Time // zero: it is prepared, and nobody has confirmed it
	UpdatedAt time.Time
}

// Progress is how far a job is.
type Progress struct {
	Total     int64
	Checked   int64 // rows whose result is known beforehand
	Skipped   int64 // rows that the act cannot be done to, or that were left out
	Succeeded int64
	Refused   int64 // rows that had changed by then
}

// Left is how many rows are not done, and will be.
func (p Progress) Left() int64 { return p.Total - p.Skipped - p.Succeeded - p.Refused }

// The statuses of a job that nobody has confirmed.
const (
	Checking batch.Status = "checking" // its rows are being checked
	Prepared batch.Status = "prepared" // it can be confirmed
)

// Status is how the job stands.
func (j Job) Status() batch.Status {
	switch {
	case !j.StartedAt.IsZero() || !j.Open():
		return j.State.Status()
	case j.Checked < j.Total:
		return Checking
	}
	return Prepared
}

// Target is something that a job acts on.
type Target struct {
	ID        int64  // of the license, the purchase, the refund, the event or the partner
	Subject   string // its name for people: the license key, the partner's name, or the id
	PartnerID int64
	Was       string // its state when it was selected
}

// Selection finds what a job acts on, oldest first: at most so many.
type Selection func(ctx context.Context, most int) ([]Target, error)

// Jobs prepares, starts and reads jobs.
type Jobs struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Licenses *license.Registry
	Partners *partner.Registry
	Outbox   *webhook.Outbox

	// PaidHere reports whether something of a refund was paid by the payment provider, so that
	// the money must go back from here. Nil: nothing is.
	PaidHere func(ctx context.Context, o license.RefundOrder) (bool, error)

	// May reports whether an actor may still do what needs a scope.
	May func(ctx context.Context, by audit.Actor, s account.Scope) (bool, error)
}

const columns = `id, act, kind, reason, selected, actor_kind, actor_id, actor_name, session, client, total, checked, skipped, succeeded, refused,
	created_at, started_at, updated_at, paused_at, stopped, finished_at`

func scan(r *sqldb.Row, j *Job) error {
	return r.Scan(&j.ID, (*string)(&j.Act), (*string)(&j.Kind), &j.Reason, &j.Selected, &j.By.Kind, &j.By.ID, &j.By.Name, &j.By.Session, &j.By.Client,
		&j.Total, &j.Checked, &j.Skipped, &j.Succeeded, &j.Refused, &j.CreatedAt, &j.StartedAt, &j.UpdatedAt, &j.PausedAt, &j.Stopped, &j.FinishedAt)
}

// Order says what is to be done.
type Order struct {
	Act      Act
	Kind     Kind // what is selected; "": what the act is done to usually
	Reason   string
	Selected string // the selection in words
	Select   Selection
}

// Check refuses what no row could be done with, and sets the kind if there is none.
func (o *Order) Check() error {
	kinds := o.Act.Kinds()
	switch {
	case len(kinds) == 0:
		return fault.Field("act", "must be one of %s.", actNames())
	case o.Kind == "":
		o.Kind = kinds[0]
	case !slices.Contains(kinds, o.Kind):
		return fault.Field("kind", "must be %s for the act %s.", kindNames(kinds), o.Act)
	}
	switch o.Act {
	case Hold:
		_, err := license.ParseHold(o.Reason)
		return err
	case Pause:
		return partner.CheckReason(o.Reason)
	case Refund, Reverse, Reinstate, Redeliver, Resume:
	}
	return nil
}

// Prepare writes down what an act is to be done to, and checks the first rows. Nothing is
// done to any yet.
func (s *Jobs) Prepare(ctx context.Context, by audit.Actor, o Order) (Job, error) {
	if err := o.Check(); err != nil {
		return Job{}, err
	}
	targets, err := o.Select(ctx, MaxRows+1)
	switch {
	case err != nil:
		return Job{}, err
	case len(targets) == 0:
		return Job{}, fault.New(fault.Conflict, codeNothingSelected, "Nothing matches these filters, so there is nothing to do.")
	case len(targets) > MaxRows:
		return Job{}, fault.New(fault.Conflict, codeTooManySelected,
			"More than %d rows match. A bulk act takes %d at most: narrow the filters, and do the rest afterwards.", MaxRows, MaxRows)
	}
	var j Job
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := s.Now()
		var err error
		j, err = sqldb.One(ctx, tx, scan, `INSERT INTO bulk_jobs (act, kind, reason, selected, actor_kind, actor_id, actor_name, session, client,
				total, checked, skipped, succeeded, refused, created_at, started_at, updated_at, paused_at, stopped, finished_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, 0, $11, 0, $11, 0, '', 0) RETURNING `+columns,
			string(o.Act), string(o.Kind.rows(o.Act)), o.Reason, o.Selected, by.Kind, by.ID, by.Name, by.Session, by.Client, len(targets), now)
		if err != nil {
			return err
		}
		rows := make([][]any, len(targets))
		for i, t := range targets {
			rows[i] = []any{j.ID, int64(i + 1), t.ID, t.Subject, t.PartnerID, t.Was, "", "", int64(0), "", "", int64(0)}
		}
		tx.Copy("bulk_rows", []string{"job_id", "position", "subject_id", "subject", "partner_id", "was", "will", "seen", "result", "code", "message", "done_at"}, rows)
		return nil
	})
	if err != nil {
		return Job{}, fmt.Errorf("prepare a bulk act: %w", err)
	}
	for range checkedAtOnce / batchSize {
		more, err := s.checkRows(ctx, j)
		if err != nil {
			return j, err
		}
		if j, err = s.Get(ctx, j.ID); err != nil || !more {
			return j, err
		}
	}
	return j, nil
}

// List returns jobs, newest first, before an id; 0 stands for the newest.
func (s *Jobs) List(ctx context.Context, before int64, limit int) ([]Job, error) {
	list, err := sqldb.All(ctx, s.DB, scan, `SELECT `+columns+` FROM bulk_jobs WHERE id < $1 ORDER BY id DESC LIMIT $2`, newest(before), limit)
	if err != nil {
		return nil, fmt.Errorf("list bulk acts: %w", err)
	}
	return list, nil
}

// Get returns a job.
func (s *Jobs) Get(ctx context.Context, id int64) (Job, error) { return find(ctx, s.DB, id) }

func find(ctx context.Context, q sqldb.Reader, id int64) (Job, error) {
	j, err := sqldb.One(ctx, q, scan, `SELECT `+columns+` FROM bulk_jobs WHERE id = $1`, id)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return j, fault.New(fault.Missing, codeUnknownBulk, "There is no bulk act %d; the list of bulk acts has their ids.", id)
	case err != nil:
		return j, fmt.Errorf("read bulk act %d: %w", id, err)
	}
	return j, nil
}

// Result is what became of a row.
type Result int

// The results.
const (
	Open      Result = iota
	Succeeded        // the act was done
	Refused          // it had changed since it was checked, or could not be done any more
	Skipped          // it could not be done when it was checked, or was left out
)

// Results are all of them.
var Results = []Result{Open, Succeeded, Refused, Skipped}

// String is the result in a word.
func (r Result) String() string { return [...]string{"open", "succeeded", "refused", "skipped"}[r] }

// LeftOut reports whether a person left the row out.
func (w Row) LeftOut() bool { return w.Result == Skipped && w.Code == codeLeftOut }

// ParseResult reads a result of a query; "" is any, for which ok is false.
func ParseResult(s string) (r Result, ok bool, err error) {
	for _, r := range Results {
		if r.String() == s {
			return r, true, nil
		}
	}
	if s != "" {
		err = fault.Parameter("result", "must be open, succeeded, refused or skipped.")
	}
	return 0, false, err
}

// Row is one row of a job.
type Row struct {
	Target
	Position int64
	Will     string // what the act does to it, in words; "": it is not checked yet, or cannot be done
	Result   Result
	Code     string // of why it was refused or skipped
	Message  string // why it was refused or skipped
	DoneAt   time.Time

	seen string // the version that was checked
}

const rowColumns = `position, subject_id, subject, partner_id, was, will, seen, result, code, message, done_at`

func scanRow(r *sqldb.Row, w *Row) error {
	return r.Scan(&w.Position, &w.ID, &w.Subject, &w.PartnerID, &w.Was, &w.Will, &w.seen, (*int)(&w.Result), &w.Code, &w.Message, &w.DoneAt)
}

// Rows returns rows of a job after a position, in their order: all, or those with a
// result. A job has at most MaxRows.
func (s *Jobs) Rows(ctx context.Context, id, after int64, only Result, narrow bool, limit int) ([]Row, error) {
	sql, args := `SELECT `+rowColumns+` FROM bulk_rows WHERE job_id = $1 AND position > $2`, []any{id, after, limit}
	if narrow {
		sql, args = sql+` AND result = $4`, append(args, int(only))
	}
	list, err := sqldb.All(ctx, s.DB, scanRow, sql+` ORDER BY position LIMIT $3`, args...)
	if err != nil {
		return nil, fmt.Errorf("list the rows of bulk act %d: %w", id, err)
	}
	return list, nil
}

// Effect is how many rows of a job something is the same for.
type Effect struct {
	Will string // what happens to them
	Code string // of why they are skipped, with Why of one of them
	Why  string
	Rows int64
}

// Effects returns what a job does to how many of its rows, as it was checked and confirmed; the
// most frequent first, ten at most. A row that was refused at its turn counts as what was to
// happen to it: what was confirmed stays the same afterwards. A job has at most MaxRows.
func (s *Jobs) Effects(ctx context.Context, id int64) ([]Effect, error) {
	list, err := sqldb.All(ctx, s.DB, func(r *sqldb.Row, e *Effect) error { return r.Scan(&e.Will, &e.Code, &e.Why, &e.Rows) },
		`SELECT what, code, min(message), count(*) AS n
		FROM (SELECT CASE WHEN code = '' OR result = $2 THEN will ELSE '' END AS what, CASE result WHEN $2 THEN '' ELSE code END AS code,
				CASE result WHEN $2 THEN '' ELSE message END AS message
			FROM bulk_rows WHERE job_id = $1 AND (will <> '' OR code <> '')) AS r
		GROUP BY what, code ORDER BY n DESC, what, code LIMIT 10`, id, int(Refused))
	if err != nil {
		return nil, fmt.Errorf("read what bulk act %d does: %w", id, err)
	}
	return list, nil
}

// Versions returns a text for each of the jobs that changes whenever the job does.
func (s *Jobs) Versions(ctx context.Context, ids []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(ctx, s.DB, ids, 6, `SELECT id, updated_at, checked, succeeded, refused, paused_at, finished_at FROM bulk_jobs WHERE id = ANY($1)`)
	if err != nil {
		return nil, fmt.Errorf("read the versions of bulk acts: %w", err)
	}
	return found, nil
}
