package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/diagnose"
	"claviger/internal/fault"
	"claviger/internal/scenario"
	"claviger/internal/sqldb"
)

// State is the progress of a run.
type State string

// The states.
const (
	Running     State = "running"
	Ended       State = "ended"
	Interrupted State = "interrupted" // it ended before its last step; Note has the reason
)

// Run is a run of one scenario, of all of them, or of a test event.
type Run struct {
	ID        int64
	PartnerID int64
	Scenario  string // its name, All or Event
	State     State
	Verdict   diagnose.Verdict // the worst so far; "" before the first step ended
	Note      string           // reason for the interruption
	Steps     int
	Done      int
	URL       string
	By        audit.Actor // the starter, without a name
	StartedAt time.Time
	EndedAt   time.Time         // zero while it is running
	Results   []diagnose.Result // of finished steps; only Get reads them
	until     time.Time
}

// Verdict is the last verdict on a scenario.
type Verdict struct {
	Scenario string
	RunID    int64 // may be deleted
	Verdict  diagnose.Verdict
	At       time.Time
}

const columns = `id, partner_id, scenario, state, verdict, note, steps, done, url, actor_kind, actor_id, started_at,
	ended_at, until`

func scan(r *sqldb.Row, run *Run) error {
	return r.Scan(&run.ID, &run.PartnerID, &run.Scenario, &run.State, &run.Verdict, &run.Note, &run.Steps, &run.Done,
		&run.URL,
		&run.By.Kind, &run.By.ID, &run.StartedAt, &run.EndedAt, &run.until)
}

// seen returns a run as of a time: without an update of its node it is no longer running.
func (r Run) seen(now time.Time) Run {
	if r.State == Running && r.until.Before(now) {
		r.State = Interrupted
		r.Note = forgotten
		r.EndedAt = r.until
	}
	return r
}

// insert stores a new run, and deletes the oldest ones beyond MaxRuns. It returns the id of the
// first event: the Unix time, or one above those of earlier runs.
func (s *Simulator) insert(
	ctx context.Context, by audit.Actor, partnerID int64, url string, j job,
) (run Run, list []scenario.Scenario, firstID int64, err error) {
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := s.Now()
		last, err := sqldb.One(
			ctx, tx, sqldb.Value[int64],
			`SELECT coalesce(max(last_event), 0) FROM scenario_runs WHERE partner_id = $1`, partnerID,
		)
		if err != nil {
			return err
		}
		firstID = max(now.Unix(), last+1)
		if list, err = j.list(firstID); err != nil {
			return err
		}
		steps := 0
		end := firstID - 1
		for _, one := range list {
			steps += one.Steps()
			end += one.Events()
		}
		run, err = sqldb.One(ctx, tx, scan,
			`INSERT INTO scenario_runs (partner_id, scenario, state, verdict, note, steps, done, url,
				actor_kind, actor_id, last_event, started_at, ended_at, until)
			VALUES ($1, $2, $3, '', '', $4, 0, $5, $6, $7, $8, $9, 0, $10) RETURNING `+columns,
			partnerID, j.name, Running, steps, url, by.Kind, by.ID, end, now, now.Add(lease))
		if err != nil {
			return err
		}
		tx.Queue(`DELETE FROM scenario_runs WHERE id IN (SELECT id FROM scenario_runs WHERE partner_id = $1
			ORDER BY id DESC LIMIT 100 OFFSET $2)`,
			partnerID, MaxRuns)
		audit.Record(tx, now, by, "scenario.run", "partner:"+strconv.FormatInt(partnerID, 10), nil, j.facts)
		return nil
	})
	if err != nil {
		return Run{}, nil, 0, fmt.Errorf("begin a run: %w", err)
	}
	return run, list, firstID, nil
}

// addStep stores a step. If the run is gone because its partner was deleted, it is interrupted.
func (s *Simulator) addStep(
	ctx context.Context, runID int64, position int, worst diagnose.Verdict, result diagnose.Result,
) error {
	text, err := json.Marshal(stored(result))
	if err != nil {
		return fmt.Errorf("write a step: %w", err)
	}
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx,
			`UPDATE scenario_runs SET done = $2, verdict = $3, until = $4 WHERE id = $1 AND state = $5`,
			runID, position, worst, s.Now().Add(lease), Running)
		if err != nil {
			return err
		}
		if n == 0 {
			return interruption(lost)
		}
		tx.Queue(
			`INSERT INTO scenario_steps (run_id, position, result) VALUES ($1, $2, $3)`, runID, position,
			string(text),
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store a step: %w", err)
	}
	return nil
}

// endTimeout limits the last write of a run.
const endTimeout = 5 * time.Second

// end stores the end of a run, even if ctx has ended. If this fails, the run counts as interrupted
// after a while.
func (s *Simulator) end(
	ctx context.Context, runID int64, state State, worst diagnose.Verdict, note string, more ...func(tx *sqldb.Tx),
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(
			`UPDATE scenario_runs SET state = $2, verdict = $3, note = $4, ended_at = $5 WHERE id = $1`,
			runID, state, worst, note, s.Now(),
		)
		for _, f := range more {
			f(tx)
		}
		return nil
	})
	if err != nil {
		s.log().Error("the end of a run could not be stored", "run", runID, "err", err)
	}
}

// finish stores the end of a complete run, and the verdicts.
func (p *play) finish(ctx context.Context) {
	s := p.simulator
	p.simulator.end(ctx, p.run.ID, Ended, p.worst(), "", func(tx *sqldb.Tx) {
		if p.run.Scenario == Event {
			return
		}
		if p.run.Scenario == All {
			p.verdicts[All] = p.worst()
		}
		for name, verdict := range p.verdicts {
			if verdict == diagnose.Skipped {
				continue // not tried
			}
			tx.Queue(`INSERT INTO scenario_verdicts (partner_id, scenario, run_id, verdict, at)
				VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (partner_id, scenario) DO UPDATE SET run_id = excluded.run_id, verdict = excluded.verdict,
				at = excluded.at`,
				p.run.PartnerID, name, p.run.ID, verdict, s.Now())
		}
	})
}

// Runs returns a partner's runs without their steps, the newest first.
func (s *Simulator) Runs(ctx context.Context, partnerID int64) ([]Run, error) {
	list, err := sqldb.All(
		ctx, s.DB, scan,
		`SELECT `+columns+` FROM scenario_runs WHERE partner_id = $1 ORDER BY id DESC LIMIT $2`, partnerID,
		MaxRuns,
	)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	for i := range list {
		list[i] = list[i].seen(s.Now())
	}
	return list, nil
}

// Get returns a run of a partner with its steps.
func (s *Simulator) Get(ctx context.Context, partnerID, id int64) (Run, error) {
	var run Run
	err := s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		steps := sqldb.QueueQuery(
			tx, scanStep, `SELECT result FROM scenario_steps WHERE run_id = $1 ORDER BY position`, id,
		)
		var err error
		if run, err = sqldb.One(
			ctx, tx, scan, `SELECT `+columns+` FROM scenario_runs WHERE partner_id = $1 AND id = $2`,
			partnerID, id,
		); err != nil {
			return err
		}
		run.Results, err = steps.All(ctx)
		return err
	})
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Run{}, fault.New(fault.Missing, CodeUnknownRun, "There is no such run; the newest %d are kept.", MaxRuns)
	case err != nil:
		return Run{}, fmt.Errorf("read a run: %w", err)
	}
	return run.seen(s.Now()), nil
}

// Versions returns a string per run that changes with each step and with its end.
func (s *Simulator) Versions(ctx context.Context, ids []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(
		ctx, s.DB, ids, 3,
		`SELECT id, done, ended_at, CASE WHEN until < $2 THEN 1 ELSE 0 END FROM scenario_runs WHERE id = ANY($1)`,
		s.Now(),
	)
	if err != nil {
		return nil, fmt.Errorf("read the versions of runs: %w", err)
	}
	return found, nil
}

// Verdicts returns the last verdict on each scenario of a partner, by name; All has that of the
// last run of all scenarios.
func (s *Simulator) Verdicts(ctx context.Context, partnerID int64) (map[string]Verdict, error) {
	list, err := sqldb.All(ctx, s.DB,
		func(r *sqldb.Row, v *Verdict) error { return r.Scan(&v.Scenario, &v.RunID, &v.Verdict, &v.At) },
		`SELECT scenario, run_id, verdict, at FROM scenario_verdicts WHERE partner_id = $1`, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list verdicts: %w", err)
	}
	all := map[string]Verdict{}
	for _, v := range list {
		all[v.Scenario] = v
	}
	return all, nil
}
