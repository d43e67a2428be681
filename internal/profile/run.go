package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Field is one of a partner's URLs.
type Field string

// The checked URLs.
const (
	Redirect Field = redirectField
	Webhook  Field = webhookField
)

// RunState is the state of the check of a URL.
type RunState string

// States of a check.
const (
	Running     RunState = "running"
	Passed      RunState = "passed"      // the URL is saved
	Failed      RunState = "failed"      // the previously saved URL stays in use
	Interrupted RunState = "interrupted" // its node stopped
)

// Run is the last check of a URL that was begun by Runs.Start.
type Run struct {
	Field     Field
	URL       string
	State     RunState
	Problem   string  // the reason for a failure
	Steps     []Check // so far; the last step of a running check may have no answer yet
	StartedAt time.Time
	UpdatedAt time.Time
}

// storedCheck is the stored form of a step. The names of its members never change.
type storedCheck struct {
	URL     string            `json:"url"`
	Step    string            `json:"step"`
	OK      bool              `json:"ok"`
	Warning bool              `json:"warning"`
	Text    string            `json:"text"`
	Likely  []string          `json:"likely"`
	Sent    string            `json:"sent"`
	Signed  []fault.Signature `json:"signed"`
	Answer  string            `json:"answer"`
}

func scanRun(r *sqldb.Row, v *Run) error {
	var transcript string
	if err := r.Scan(&v.Field, &v.URL, &v.State, &v.Problem, &transcript, &v.StartedAt, &v.UpdatedAt); err != nil {
		return err
	}
	var steps []storedCheck
	if err := json.Unmarshal([]byte(transcript), &steps); err != nil {
		return fmt.Errorf("read a transcript: %w", err)
	}
	for _, s := range steps {
		v.Steps = append(v.Steps, Check(s))
	}
	return nil
}

// Runs checks URLs in the background of the node that began the check. A page on any node can show
// each step as it ends.
type Runs struct {
	Store *Store
	Log   *slog.Logger // nil: slog.Default

	Background
}

// Last returns the last check of each URL of a partner that Start began.
func (r *Runs) Last(ctx context.Context, partnerID int64) (map[Field]Run, error) {
	list, err := sqldb.All(
		ctx,
		r.Store.DB,
		scanRun,
		`SELECT field, url, state, problem, transcript, started_at, updated_at
		FROM url_checks WHERE partner_id = $1`,
		partnerID,
	)
	if err != nil {
		return nil, fmt.Errorf("read the checks of URLs: %w", err)
	}
	now := r.Store.Now()
	found := make(map[Field]Run, len(list))
	for _, run := range list {
		if run.State == Running && now.Sub(run.StartedAt).Abs() > checkLease {
			run.State = Interrupted
		}
		found[run.Field] = run
	}
	return found, nil
}

// Start begins the check of a URL and returns immediately; the URL is saved if it passes. may is
// called before that: the person may have lost the right in the meantime. An empty URL needs no
// check and is unset immediately.
func (r *Runs) Start(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	field Field,
	url string,
	may func(context.Context) error,
) error {
	b := r.Store
	change := URLChange{Webhook: &url}
	if field == Redirect {
		change = URLChange{Redirect: &url}
	}
	if url == "" {
		_, _, _, err := b.SetURLs(ctx, by, partnerID, change)
		if err == nil {
			err = r.drop(ctx, partnerID, field)
		}
		return err
	}
	n, err := b.read(change)
	if err != nil {
		return err
	}
	who, err := b.checkedPartner(ctx, partnerID)
	if err != nil {
		return err
	}
	claim, err := b.BeginTest(ctx, partnerID)
	if err != nil {
		return err
	}
	p := &play{
		runs:   r,
		run:    Run{Field: field, URL: url, State: Running, StartedAt: b.Now()},
		who:    who,
		update: n,
		by:     by,
		may:    may,
		claim:  claim,
	}
	if err := p.store(ctx); err != nil {
		claim.End(ctx)
		return err
	}
	if !r.Begin(p.play) { //nolint:contextcheck // continues after the request
		claim.End(ctx)
		f := fault.New(fault.Busy, codeStopping, "This node of the service stops. Send it again.")
		f.After = time.Second
		return f
	}
	return nil
}

// drop removes the record of a check after its URL was unset.
func (r *Runs) drop(ctx context.Context, partnerID int64, field Field) error {
	return r.Store.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM url_checks WHERE partner_id = $1 AND field = $2`, partnerID, string(field))
		return nil
	})
}

// play is one running check. It belongs to its goroutine.
type play struct {
	runs   *Runs
	run    Run
	who    checkedPartner
	update urlUpdate
	by     audit.Actor
	may    func(context.Context) error
	claim  *Claim
}

// play runs the check, stores each step, and saves the URL if it passes. The claim ends before the
// check is shown as over, so that the next one can begin then.
func (p *play) play(ctx context.Context) {
	p.who.progress = func(c Check, answered bool) {
		if n := len(p.run.Steps); answered && n > 0 {
			p.run.Steps[n-1] = c
		} else {
			p.run.Steps = append(p.run.Steps, c)
		}
		p.log(p.store(ctx))
	}
	steps, err := p.runs.Store.try(ctx, &p.update, p.who)
	if err == nil {
		err = p.save(ctx)
	}
	p.claim.End(ctx)
	if ctx.Err() != nil {
		p.run.State = Interrupted
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		p.log(p.store(stopping))
		return
	}
	if steps != nil {
		p.run.Steps = steps
	}
	p.run.State = Passed
	if err != nil {
		p.run.State = Failed
		p.run.Problem = "The check could not be finished. Save the URL again."
		if f := fault.Of(err); f != nil {
			p.run.Problem = f.Text
		} else {
			p.log(err)
		}
	}
	p.log(p.store(ctx))
}

// save stores the URL that passed.
func (p *play) save(ctx context.Context) error {
	if err := p.may(ctx); err != nil {
		return err
	}
	b := p.runs.Store
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := b.setURLs(ctx, tx, p.by, p.who.ID, p.update)
		return err
	})
	if err != nil {
		return fmt.Errorf("save a URL that passed its check: %w", err)
	}
	return nil
}

// store writes the progress of the check.
func (p *play) store(ctx context.Context) error {
	steps := make([]storedCheck, len(p.run.Steps))
	for i, s := range p.run.Steps {
		steps[i] = storedCheck(s)
	}
	transcript, err := json.Marshal(steps)
	if err != nil {
		return fmt.Errorf("write a transcript: %w", err)
	}
	b := p.runs.Store
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(
			`INSERT INTO url_checks (partner_id, field, url, state, problem, transcript, started_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (partner_id, field)
			DO UPDATE SET url = excluded.url, state = excluded.state, problem = excluded.problem,
				transcript = excluded.transcript, started_at = excluded.started_at, updated_at = excluded.updated_at`,
			p.who.ID,
			string(p.run.Field),
			p.run.URL,
			string(p.run.State),
			p.run.Problem,
			string(transcript),
			p.run.StartedAt,
			b.Now(),
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the check of a URL: %w", err)
	}
	return nil
}

// log logs errors of the background, where no caller waits for them.
func (p *play) log(err error) {
	if err == nil {
		return
	}
	l := p.runs.Log
	if l == nil {
		l = slog.Default()
	}
	l.Error("the check of a URL met an error", "partner_id", p.who.ID, "err", err)
}
