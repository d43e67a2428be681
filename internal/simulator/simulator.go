// Package simulator runs scenarios and test events against the saved webhook URL of a partner and
// stores the results. It owns the runs, their steps, the last verdicts and the test licenses: the
// tables scenario_runs, scenario_steps, scenario_verdicts and test_licenses.
//
// Package scenario defines and judges the scenarios. Nothing here is a real license, event or
// delivery.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/scenario"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// The maximum stored for one partner.
const (
	MaxRuns = 20
	// MaxTestLicenses is more than the limit of runs can create in an hour.
	MaxTestLicenses = 2000
)

// All is the name of a run of every scenario.
const All = "all"

// Event is the name of a run that sends one test event.
const Event = "event"

// lease is how long a run counts as running after its node's last update: longer than the longest
// step.
const lease = courier.Timeout + 20*time.Second

// Simulator runs scenarios. Runs continue in the background of the node that started them.
type Simulator struct {
	DB       *sqldb.DB
	Partners *partner.Store
	Profiles *profile.Store // its claims limit the runs
	Events   *event.Log
	History  history.Reader
	Client   *courier.Client
	Now      func() time.Time
	Log      *slog.Logger // nil: slog.Default

	profile.Background
}

// job describes a run.
type job struct {
	name  string // of the run
	list  func(firstID int64) ([]scenario.Scenario, error)
	facts audit.Facts
}

// Start starts a run of a scenario, or of all with the name All, and returns immediately. Its steps
// are stored as they end; see Get.
func (s *Simulator) Start(ctx context.Context, by audit.Actor, partnerID int64, name string) (Run, error) {
	list := scenario.All()
	if name != All {
		one, ok := scenario.ByName(name)
		if !ok {
			return Run{}, fault.New(
				fault.Missing,
				CodeUnknownScenario,
				"There is no such scenario; GET /v2/scenarios lists them.",
			)
		}
		list = []scenario.Scenario{one}
	}
	return s.start(ctx, by, partnerID, job{
		name: name, facts: audit.Facts{"scenario": name},
		list: func(int64) ([]scenario.Scenario, error) { return list, nil },
	})
}

// Send starts a run that sends one test event with the caller's body, with test set to true. kind
// is its title.
func (s *Simulator) Send(ctx context.Context, by audit.Actor, partnerID int64, kind, body string) (Run, error) {
	if _, _, err := scenario.ForceTest(body, s.Now().Unix()); err != nil {
		return Run{}, err // before it counts
	}
	return s.start(ctx, by, partnerID, job{
		name: Event, facts: audit.Facts{"scenario": Event, "event": kind},
		list: func(firstID int64) ([]scenario.Scenario, error) {
			forced, id, err := scenario.ForceTest(body, firstID)
			return []scenario.Scenario{scenario.One(kind, forced, id)}, err
		},
	})
}

// start starts a run, only to the saved URL.
func (s *Simulator) start(ctx context.Context, by audit.Actor, partnerID int64, j job) (Run, error) {
	target, err := s.target(ctx, partnerID)
	if err != nil {
		return Run{}, err
	}
	claim, err := s.Profiles.BeginTest(ctx, partnerID)
	if err != nil {
		return Run{}, err
	}
	r, list, firstID, err := s.insert(ctx, by, partnerID, target.URL, j)
	if err != nil {
		claim.End(ctx)
		return Run{}, err
	}
	p := &play{simulator: s, run: r, by: by, claim: claim}
	run := func(ctx context.Context) { p.play(ctx, target, firstID, list) }
	if !s.Begin(run) { //nolint:contextcheck // it continues after the request
		claim.End(ctx)
		s.end(ctx, r.ID, Interrupted, "", stopped)
		return Run{}, errStopping{}
	}
	return r, nil
}

// errStopping is the error of a run that should start on a stopping node.
type errStopping struct{}

func (errStopping) Error() string { return "begin a run: the node stops" }

// Unavailable reports that another try can succeed.
func (errStopping) Unavailable() bool { return true }

// target is the endpoint of a run, with the partner's plans.
type target struct {
	diagnose.Target
	tiers []scenario.Tier
}

// target returns the partner's endpoint for a scenario.
func (s *Simulator) target(ctx context.Context, partnerID int64) (target, error) {
	p, err := s.Partners.Get(ctx, partnerID)
	if err != nil {
		return target{}, err
	}
	prof, err := s.Profiles.Read(ctx, s.DB, partnerID)
	if err != nil {
		return target{}, err
	}
	if prof.WebhookURL == "" {
		return target{}, fault.New(
			fault.Conflict,
			CodeNoWebhookURL,
			"There is no webhook URL to send to. Save one first.",
		)
	}
	secrets, err := s.Partners.WebhookSecrets(ctx, partnerID)
	if err != nil {
		return target{}, err
	}
	tiers, err := s.tiers(ctx, partnerID)
	return target{diagnose.Target{
		URL: prof.WebhookURL, Brand: p.Brand, Secrets: courier.NewSecrets(secrets...), Strict: p.Strict, Owner: p.ID,
	}, tiers}, err
}

// tiers returns the partner's own plans.
func (s *Simulator) tiers(ctx context.Context, partnerID int64) ([]scenario.Tier, error) {
	plans, err := s.Partners.Plans(ctx, partnerID)
	if err != nil {
		return nil, err
	}
	var tiers []scenario.Tier
	for _, p := range plans {
		tiers = append(tiers, scenario.Tier{Number: p.Tier, Name: p.Name})
	}
	return tiers, nil
}

// Reasons for an early end of a run.
const (
	stopped   = "The node that ran it stopped. Start it again."
	lost      = "The node that ran it was too slow, and another run or check began. Start it again."
	noAccess  = "Who started it may no longer do so."
	otherURL  = "The webhook URL was changed while it ran. Start it again."
	troubled  = "The service had an internal error. Start it again later."
	forgotten = "The node that ran it did not say how it went on: it may have crashed. Start it again."
)

// interruption is an error with a text for the partner.
type interruption string

func (i interruption) Error() string { return string(i) }

// play is a run in progress.
type play struct {
	simulator *Simulator
	run       Run
	by        audit.Actor
	claim     *profile.Claim
	done      int
	verdicts  map[string]diagnose.Verdict // by scenario
}

// play runs the scenarios to their end.
func (p *play) play(ctx context.Context, target target, firstID int64, list []scenario.Scenario) {
	s := p.simulator
	defer p.claim.End(ctx)
	p.verdicts = map[string]diagnose.Verdict{}
	runner := &scenario.Runner{
		Runner: diagnose.Runner{Client: s.Client, Now: s.Now, Target: target.Target}, Tiers: target.tiers,
		FirstID: firstID,
		Before:  func(ctx context.Context, l scenario.License) error { return s.putLicense(ctx, p.run.PartnerID, l) },
		After:   p.step,
	}
	_, err := runner.Run(ctx, list...)
	why, known := errors.AsType[interruption](err)
	switch {
	case err == nil:
		p.finish(ctx)
	case ctx.Err() != nil:
		s.end(ctx, p.run.ID, Interrupted, p.worst(), stopped)
	case known:
		s.end(ctx, p.run.ID, Interrupted, p.worst(), string(why))
	default:
		s.log().Error("a run of scenarios failed", "partner", p.run.PartnerID, "run", p.run.ID, "err", err)
		s.end(ctx, p.run.ID, Interrupted, p.worst(), troubled)
	}
}

// step stores a step, and ends the run if it must not continue.
func (p *play) step(ctx context.Context, result diagnose.Result) error {
	p.done++
	p.verdicts[result.Scenario] = diagnose.Worst(p.verdicts[result.Scenario], result.Verdict)
	if err := p.simulator.addStep(ctx, p.run.ID, p.done, p.worst(), result); err != nil {
		return err
	}
	if p.done == p.run.Steps {
		return nil
	}
	held, err := p.claim.Extend(ctx)
	switch {
	case err != nil:
		return err
	case !held:
		return interruption(lost)
	}
	return p.mayGoOn(ctx)
}

// mayGoOn checks that the user who started the run still has access, and that the URL is still the
// saved one.
func (p *play) mayGoOn(ctx context.Context) error {
	s := p.simulator
	if p.by.Kind == audit.ByUser {
		access, err := s.Partners.AccessOf(ctx, p.by, p.run.PartnerID)
		switch {
		case fault.Is(err, partner.CodeUnknownPartner), err == nil && !access.Role.Covers(partner.Developer):
			return interruption(noAccess)
		case err != nil:
			return err
		}
	}
	prof, err := s.Profiles.Read(ctx, s.DB, p.run.PartnerID)
	if err != nil {
		return fmt.Errorf("look whether a run may go on: %w", err)
	}
	if prof.WebhookURL != p.run.URL {
		return interruption(otherURL)
	}
	return nil
}

func (p *play) worst() diagnose.Verdict {
	var worst diagnose.Verdict
	for _, v := range p.verdicts {
		worst = diagnose.Worst(worst, v)
	}
	return worst
}

func (s *Simulator) log() *slog.Logger {
	if s.Log != nil {
		return s.Log
	}
	return slog.Default()
}
