package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/payout"
	"claviger/internal/requestlog"
	"claviger/internal/revenue"
	"claviger/internal/sqldb"
	"claviger/internal/statement"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// Exporter runs exports. All services must be set.
type Exporter struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Licenses *license.Store
	Events   *event.Log
	Audit    *audit.Log
	History  history.Reader
	Requests *requestlog.Log
	Accounts *account.Store
	Payments *payment.Store
	Payouts  *payout.Store
	Revenue  *revenue.Store

	Statements *statement.Store

	PerActor int           // maximum running exports of a person or program on this node; 0: 3
	Report   time.Duration // interval of progress updates; 0: a second

	open wire.Running[actor]
}

// actor identifies a person or program that runs exports.
type actor struct {
	kind string
	id   int64
}

// Job is one export.
type Job struct {
	Table
	Format Format
	By     audit.Actor

	// Nonce identifies the export among others of the same person on the page with its progress;
	// "": no page shows it.
	Nonce string

	// Check returns an error if the requester may no longer have the list. It is called before each
	// batch.
	Check func(ctx context.Context) error
}

// batchTimeout limits the reading of one batch.
const batchTimeout = 30 * time.Second

// Run writes the file. An error after the first byte means that the file is incomplete: the caller
// must end the answer so that the client notices.
func (x *Exporter) Run(ctx context.Context, to io.Writer, j Job) error {
	ctx = sqldb.InJob(ctx)
	owner := actor{j.By.Kind, j.By.ID}
	most := cmp.Or(x.PerActor, 3)
	ended, ok := x.open.Enter(owner, most)
	if !ok {
		return tooManyExports(most)
	}
	defer x.open.Leave(owner)
	if err := j.Check(ctx); err != nil {
		return err
	}
	p, err := x.begin(ctx, j)
	if err != nil {
		return err
	}
	err = x.write(ctx, to, j, p, ended)
	return p.end(ctx, err)
}

// write writes the batches, and the final line of a complete file.
func (x *Exporter) write(ctx context.Context, to io.Writer, j Job, p *progress, ended <-chan struct{}) error {
	enc := newEncoder(j.Format, j.Columns)
	b := enc.header(nil, j.Columns)
	for more := true; more; {
		select {
		case <-ended:
			return errStopping
		default:
		}
		if err := j.Check(ctx); err != nil {
			return err
		}
		rows, on, err := j.next(ctx)
		if err != nil {
			return err
		}
		for _, r := range rows {
			b = enc.row(b, r)
		}
		p.rows += int64(len(rows))
		if more = on; !more {
			b = enc.end(b, len(j.Columns), p.rows)
		}
		if len(b) > 0 {
			if _, err := to.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
		if err := p.report(ctx); err != nil {
			return err
		}
	}
	return nil
}

// next reads a batch. It releases the database connection before it returns.
func (j *Job) next(ctx context.Context) (rows [][]Cell, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	return j.Next(ctx)
}

// errStopping ends exports when the node stops: the file is cut off, and the client asks another
// node.
var errStopping = fault.New(fault.Busy, codeExportEnded, "The service is being stopped. Begin the export again.")

func tooManyExports(most int) error {
	f := fault.New(
		fault.Throttled,
		codeTooManyExports,
		"%d of your exports are running. Wait until one of them is done.",
		most,
	)
	f.After = 10 * time.Second
	return f
}

// Close ends all exports of this node, now and later.
func (x *Exporter) Close() { x.open.Close() }

// subject returns the audit subject of an export: a partner's people see exports made for them, not
// those of the marketplace.
func (j *Job) subject() string {
	if j.By.Kind == audit.ByPartner || j.By.ActingFor != 0 {
		return "partner:" + strconv.FormatInt(j.PartnerID, 10)
	}
	return "export:" + string(j.Kind)
}

// record queues the audit entry for the start of an export.
func (j *Job) record(tx *sqldb.Tx, now time.Time) {
	facts := audit.Facts{"kind": string(j.Kind), "format": string(j.Format)}
	if j.PartnerID != 0 {
		facts["partner_id"] = j.PartnerID
	}
	audit.Record(tx, now, j.By, "export.begin", j.subject(), nil, facts)
}

// begin records the start of an export, and its progress if a page shows it.
func (x *Exporter) begin(ctx context.Context, j Job) (*progress, error) {
	p := &progress{db: x.DB, now: x.Now, every: cmp.Or(x.Report, time.Second), job: j, last: x.Now()}
	about := Unknown
	if j.Nonce != "" {
		var err error
		if about, err = j.About(ctx); err != nil {
			return nil, err
		}
	}
	err := x.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := x.Now()
		j.record(tx, now)
		if j.Nonce != "" {
			tx.Queue(
				`INSERT INTO exports (actor_kind, actor_id, nonce, kind, format, partner_id, about, more, done, state,
					started_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $10)
				ON CONFLICT (actor_kind, actor_id, nonce)
				DO UPDATE SET kind = excluded.kind, format = excluded.format, partner_id = excluded.partner_id,
					about = excluded.about, more = excluded.more, done = 0, state = excluded.state,
					started_at = excluded.started_at, updated_at = excluded.updated_at`,
				j.By.Kind,
				j.By.ID,
				j.Nonce,
				string(j.Kind),
				string(j.Format),
				j.By.ActingFor,
				about.Rows,
				about.More,
				string(Running),
				now,
			)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("begin an export: %w", err)
	}
	return p, nil
}
