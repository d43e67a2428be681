// Package bulk performs one act on many licenses, purchases, deliveries or partners. It owns the
// tables bulk_jobs and bulk_rows; packages license, webhook and partner perform the acts.
//
// A job is prepared first: the current matches of a filter are stored, row by row. Then the rows
// are checked: the code of the act predicts its effect on each, and impossible rows are skipped. A
// person may leave out more. So the confirmed rows are those that were shown.
//
// After the confirmation the rows are done one by one, oldest first, each in one transaction with
// its result and its audit entry: if a process ends, no row is done twice and none is left out. A
// row that has changed since its check is refused with a reason, and the others continue. A row
// that fails for an internal reason is retried after a while, and finally given up; other rows and
// jobs do not wait for it. Each batch checks again that the confirming person may still perform the
// act.
package bulk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
)

// MaxRows is the maximum number of rows in a job: as many as a person can still look through.
const MaxRows = 10_000

// Job is an act on many rows.
type Job struct {
	ID       int64
	Act      Act
	Kind     Kind
	Reason   string // reason for a hold or a pause; note of a refund
	Selected string // description of the selection
	By       audit.Actor
	Progress
	batch.State

	CreatedAt time.Time
	StartedAt time.Time // zero: prepared, not confirmed
	UpdatedAt time.Time

	tries int // failures of the last batch
}

// Progress is the progress of a job.
type Progress struct {
	Total     int64
	Checked   int64 // rows with a predicted result
	Skipped   int64 // impossible or left-out rows
	Succeeded int64
	Refused   int64 // rows that had changed since their check
	Failed    int64 // rows that failed repeatedly for an internal reason
}

// Left returns the number of rows still to be done.
func (p Progress) Left() int64 { return p.Total - p.Skipped - p.Succeeded - p.Refused - p.Failed }

// The statuses of a job before its confirmation.
const (
	Checking batch.Status = "checking" // its rows are being checked
	Prepared batch.Status = "prepared" // it can be confirmed
)

// Status returns the status of the job.
func (j Job) Status() batch.Status {
	switch {
	case !j.StartedAt.IsZero() || !j.Open():
		return j.State.Status()
	case j.Checked < j.Total:
		return Checking
	}
	return Prepared
}

// Target is an object of a job.
type Target struct {
	ID        int64  // of the license, purchase, refund, event or partner
	Subject   string // its name for people: the license key, the partner's name, or the id
	PartnerID int64
	Was       string // state at its selection
}

// Selection finds the targets of a job, oldest first, at most most.
type Selection func(ctx context.Context, most int) ([]Target, error)

// Store prepares, starts and reads jobs.
type Store struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Licenses *license.Store
	Partners *partner.Store
	Outbox   *webhook.Outbox
	Accounts *account.Store // has the rights of actors
	Payments *payment.Store // has the payments of refunds; nil: there are none

	Log *slog.Logger // nil: slog.Default()

	paidHere func(context.Context, license.RefundOrder) (bool, error)        // for tests; nil: by Payments
	may      func(context.Context, audit.Actor, account.Scope) (bool, error) // for tests; nil: by Accounts
}

const columns = `id, act, kind, reason, selected, actor_kind, actor_id, actor_name, session, client, total, checked,
	skipped, succeeded, refused, failed,
	created_at, started_at, updated_at, paused_at, stopped, finished_at, tries`

func scan(r *sqldb.Row, j *Job) error {
	err := r.Scan(&j.ID, (*string)(&j.Act), (*string)(&j.Kind), &j.Reason, &j.Selected, &j.By.Kind, &j.By.ID,
		&j.By.Name, &j.By.Session, &j.By.Client,
		&j.Total, &j.Checked, &j.Skipped, &j.Succeeded, &j.Refused, &j.Failed, &j.CreatedAt, &j.StartedAt, &j.UpdatedAt,
		&j.PausedAt, &j.Stopped, &j.FinishedAt, &j.tries)
	j.Refused -= j.Failed // a failed row is stored as a refused one
	return err
}

// Order describes a job to prepare.
type Order struct {
	Act      Act
	Kind     Kind // kind of the selection; "": the usual kind for the act
	Reason   string
	Selected string // description of the selection
	Select   Selection
}

// Check rejects an impossible order, and sets the default kind.
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

// Prepare stores the targets of an act, and checks the first rows. It does not perform the act.
func (s *Store) Prepare(ctx context.Context, by audit.Actor, o Order) (Job, error) {
	if err := o.Check(); err != nil {
		return Job{}, err
	}
	ctx = sqldb.InJob(ctx)
	targets, err := o.Select(ctx, MaxRows+1)
	switch {
	case err != nil:
		return Job{}, err
	case len(targets) == 0:
		return Job{}, fault.New(
			fault.Conflict, codeNothingSelected, "Nothing matches these filters, so there is nothing to do.",
		)
	case len(targets) > MaxRows:
		return Job{}, fault.New(fault.Conflict, codeTooManySelected,
			"More than %d rows match. A bulk act takes %d at most: narrow the filters, and do the rest afterwards.",
			MaxRows, MaxRows)
	}
	var j Job
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := s.Now()
		var err error
		j, err = sqldb.One(ctx, tx, scan,
			`INSERT INTO bulk_jobs (act, kind, reason, selected, actor_kind, actor_id, actor_name, session, client,
				total, checked, skipped, succeeded, refused, created_at, started_at, updated_at, paused_at, stopped,
				finished_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, 0, $11, 0, $11, 0, '', 0) RETURNING `+columns,
			string(o.Act), string(o.Kind.rows(o.Act)), o.Reason, o.Selected, by.Kind, by.ID, by.Name, by.Session,
			by.Client, len(targets), now)
		if err != nil {
			return err
		}
		rows := make([][]any, len(targets))
		for i, t := range targets {
			rows[i] = []any{j.ID, int64(i + 1), t.ID, t.Subject, t.PartnerID, t.Was, "", "", int64(0), "", "", int64(0)}
		}
		tx.Copy(
			"bulk_rows",
			[]string{
				"job_id", "position", "subject_id", "subject", "partner_id", "was", "will", "seen", "result",
				"code", "message", "done_at",
			},
			rows,
		)
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

// List returns jobs, newest first, before an id; 0 means the newest.
func (s *Store) List(ctx context.Context, before int64, limit int) ([]Job, error) {
	list, err := sqldb.All(
		ctx, s.DB, scan, `SELECT `+columns+` FROM bulk_jobs WHERE id < $1 ORDER BY id DESC LIMIT $2`,
		newest(before), limit,
	)
	if err != nil {
		return nil, fmt.Errorf("list bulk acts: %w", err)
	}
	return list, nil
}

// Get returns a job.
func (s *Store) Get(ctx context.Context, id int64) (Job, error) { return find(ctx, s.DB, id) }

func find(ctx context.Context, q sqldb.Reader, id int64) (Job, error) {
	j, err := sqldb.One(ctx, q, scan, `SELECT `+columns+` FROM bulk_jobs WHERE id = $1`, id)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return j, fault.New(
			fault.Missing, codeUnknownBulk, "There is no bulk act %d; the list of bulk acts has their ids.",
			id,
		)
	case err != nil:
		return j, fmt.Errorf("read bulk act %d: %w", id, err)
	}
	return j, nil
}

// Result is the result of a row.
type Result int

// The results.
const (
	Open      Result = iota
	Succeeded        // the act was done
	Refused          // changed since its check, or no longer possible
	Skipped          // impossible at its check, or left out
	Failed           // failed repeatedly for an internal reason; stored as Refused with its code
)

// Results lists all results.
var Results = []Result{Open, Succeeded, Refused, Skipped, Failed}

// String returns the result as a word.
func (r Result) String() string {
	return [...]string{"open", "succeeded", "refused", "skipped", "failed"}[r]
}

// LeftOut reports whether a person left the row out.
func (w Row) LeftOut() bool { return w.Result == Skipped && w.Code == codeLeftOut }

// ParseResult parses a result of a query; "" means any, with ok false.
func ParseResult(s string) (r Result, ok bool, err error) {
	for _, r := range Results {
		if r.String() == s {
			return r, true, nil
		}
	}
	if s != "" {
		err = fault.Parameter("result", "must be open, succeeded, refused, skipped or failed.")
	}
	return 0, false, err
}

// Row is one row of a job.
type Row struct {
	Target
	Position int64
	Will     string // predicted effect of the act; "": not checked yet, or impossible
	Result   Result
	Code     string // code of the refusal, skip or failure
	Message  string // its reason
	DoneAt   time.Time

	seen  string // the version that was checked
	tries int    // number of failures
}

const rowColumns = `position, subject_id, subject, partner_id, was, will, seen, result, code, message, done_at, tries`

func scanRow(r *sqldb.Row, w *Row) error {
	err := r.Scan(
		&w.Position, &w.ID, &w.Subject, &w.PartnerID, &w.Was, &w.Will, &w.seen, (*int)(&w.Result), &w.Code,
		&w.Message, &w.DoneAt, &w.tries,
	)
	if w.Result == Refused && w.Code == codeRowFailed {
		w.Result = Failed
	}
	return err
}

// Rows returns rows of a job after a position, in order: all, or those with a result. A job has at
// most MaxRows.
func (s *Store) Rows(ctx context.Context, id, after int64, only Result, narrow bool, limit int) ([]Row, error) {
	sql := `SELECT ` + rowColumns + ` FROM bulk_rows WHERE job_id = $1 AND position > $2`
	args := []any{id, after, limit}
	switch {
	case !narrow:
	case only == Refused:
		sql += ` AND result = $4 AND code <> $5`
		args = append(args, int(Refused), codeRowFailed)
	case only == Failed:
		sql += ` AND result = $4 AND code = $5`
		args = append(args, int(Refused), codeRowFailed)
	default:
		sql += ` AND result = $4`
		args = append(args, int(only))
	}
	list, err := sqldb.All(ctx, s.DB, scanRow, sql+` ORDER BY position LIMIT $3`, args...)
	if err != nil {
		return nil, fmt.Errorf("list the rows of bulk act %d: %w", id, err)
	}
	return list, nil
}

// Effect counts the rows of a job with the same effect.
type Effect struct {
	Will string // the effect
	Code string // code of the skip, with Why of one of them
	Why  string
	Rows int64
}

// Effects returns the effects of a job with their numbers of rows, as checked and confirmed; the
// most frequent first, at most ten. A row that was refused or failed at its turn counts with its
// predicted effect, so that the confirmed summary does not change. A job has at most MaxRows.
func (s *Store) Effects(ctx context.Context, id int64) ([]Effect, error) {
	list, err := sqldb.All(ctx, s.DB,
		func(r *sqldb.Row, e *Effect) error { return r.Scan(&e.Will, &e.Code, &e.Why, &e.Rows) },
		`SELECT what, code, min(message), count(*) AS n
		FROM (SELECT CASE WHEN code = '' OR result = $2 THEN will ELSE '' END AS what, CASE result WHEN $2 THEN ''
		ELSE code END AS code,
				CASE result WHEN $2 THEN '' ELSE message END AS message
			FROM bulk_rows WHERE job_id = $1 AND (will <> '' OR code <> '')) AS r
		GROUP BY what, code ORDER BY n DESC, what, code LIMIT 10`, id, int(Refused))
	if err != nil {
		return nil, fmt.Errorf("read what bulk act %d does: %w", id, err)
	}
	return list, nil
}

// Versions returns a string per job that changes whenever the job does.
func (s *Store) Versions(ctx context.Context, ids []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(
		ctx, s.DB, ids, 6,
		`SELECT id, updated_at, checked, succeeded, refused, paused_at, finished_at FROM bulk_jobs WHERE id = ANY($1)`,
	)
	if err != nil {
		return nil, fmt.Errorf("read the versions of bulk acts: %w", err)
	}
	return found, nil
}
