package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// State is the state of an export.
type State string

// The states.
const (
	Running State = "running"
	Done    State = "done"
	Ended   State = "ended" // incomplete: the client left, or the requester lost access
)

// Progress is the progress of an export.
type Progress struct {
	Kind      Kind
	Format    Format
	About     Estimate
	Rows      int64
	State     State
	StartedAt time.Time
	UpdatedAt time.Time
}

// lost is the time without an update after which an export counts as ended, because its node is
// gone. A client may take half a minute for one batch.
const lost = 2 * time.Minute

// Kept is how long the progress of an export can be read.
const Kept = 24 * time.Hour

// progress tracks a running export.
type progress struct {
	db    *sqldb.DB
	now   func() time.Time
	every time.Duration
	job   Job
	rows  int64
	last  time.Time // last write
}

// report writes the progress if it was not written recently.
func (p *progress) report(ctx context.Context) error {
	now := p.now()
	if p.job.Nonce == "" || now.Sub(p.last) < p.every {
		return nil
	}
	p.last = now
	return p.store(ctx, Running)
}

// end writes the final state of the export, and returns the error that ended it.
func (p *progress) end(ctx context.Context, err error) error {
	if p.job.Nonce == "" {
		return err
	}
	state := Done
	if err != nil {
		state = Ended
	}
	// The client may have left: the page still shows that the file is incomplete.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, p.store(ctx, state))
}

func (p *progress) store(ctx context.Context, s State) error {
	by := p.job.By
	err := p.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(
			`UPDATE exports SET done = $4, state = $5, updated_at = $6 WHERE actor_kind = $1 AND actor_id = $2
				AND nonce = $3`,
			by.Kind,
			by.ID,
			p.job.Nonce,
			p.rows,
			string(s),
			p.now(),
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("write how far an export is: %w", err)
	}
	return nil
}

// Of returns the progress of the actor's newest exports, newest first. Actors see only their own;
// for a partner, a person sees only exports for that partner.
func (x *Exporter) Of(ctx context.Context, by audit.Actor, limit int) ([]Progress, error) {
	list, err := sqldb.All(ctx, x.DB, func(r *sqldb.Row, p *Progress) error {
		return r.Scan(
			(*string)(&p.Kind),
			(*string)(&p.Format),
			&p.About.Rows,
			&p.About.More,
			&p.Rows,
			(*string)(&p.State),
			&p.StartedAt,
			&p.UpdatedAt,
		)
	}, `SELECT kind, format, about, more, done, state, started_at, updated_at FROM exports
		WHERE actor_kind = $1 AND actor_id = $2 AND partner_id = $3 ORDER BY started_at DESC, nonce
		LIMIT $4`, by.Kind, by.ID, by.ActingFor, limit)
	if err != nil {
		return nil, fmt.Errorf("read how far exports are: %w", err)
	}
	for i, p := range list {
		if p.State == Running && x.Now().Sub(p.UpdatedAt) > lost {
			list[i].State = Ended
		}
	}
	return list, nil
}

// Versions returns a string per user that changes when one of their exports progresses or ends.
func (x *Exporter) Versions(ctx context.Context, users []int64) (map[int64]string, error) {
	type row struct {
		user, begun, open, rows int64
	}
	list, err := sqldb.All(
		ctx,
		x.DB,
		func(r *sqldb.Row, v *row) error { return r.Scan(&v.user, &v.begun, &v.open, &v.rows) },
		`SELECT actor_id, count(*), count(CASE WHEN state = $3 THEN 1 END), CAST(sum(done) AS bigint) FROM exports
		WHERE actor_kind = $1 AND actor_id = ANY($2) GROUP BY actor_id`,
		audit.ByUser,
		users,
		string(Running),
	)
	if err != nil {
		return nil, fmt.Errorf("read the versions of exports: %w", err)
	}
	found := make(map[int64]string, len(users))
	for _, id := range users {
		found[id] = "none"
	}
	for _, v := range list {
		found[v.user] = fmt.Sprintf("%d-%d-%d", v.begun, v.open, v.rows)
	}
	return found, nil
}

// Expiring lists the rows that expire: the progress of exports.
func Expiring() []prune.Rule {
	return []prune.Rule{{Table: "exports", Key: "actor_kind, actor_id, nonce", At: "started_at", Keep: Kept}}
}
