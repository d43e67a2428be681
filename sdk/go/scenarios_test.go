package claviger_test

import (
	"testing"

	"claviger/internal/simulator"
	claviger "claviger/sdk/go"
)

// scenarioOperations runs a scenario and a test event to their ends.
func scenarioOperations(t *testing.T, c *claviger.Client, node *simulator.Simulator) {
	t.Helper()
	ctx := t.Context()
	begun := must(c.RunScenario(ctx, "unknown-member"))(t)
	node.Wait()
	run := must(c.ScenarioRun(ctx, begun.RunID))(t)
	if run.State != "ended" || run.Verdict != "pass" || len(run.Steps) != 2 || run.EndedAt.IsZero() {
		t.Errorf("the run is %+v", run)
	}
	sent := must(c.SendTestEvent(ctx, claviger.EventKindActivate, ""))(t)
	node.Wait()
	if runs := must(c.ScenarioRuns(ctx))(t); len(runs) != 2 || runs[0].RunID != sent.RunID {
		t.Errorf("the runs are %+v", runs)
	}
	if list := must(c.Scenarios(ctx))(t); len(list) < 10 {
		t.Errorf("the scenarios are %+v", list)
	}
	if kinds := must(c.EventKinds(ctx))(t); len(kinds) != 3 {
		t.Errorf("the kinds are %+v", kinds)
	}
	found := must(c.VerifySignature(ctx, claviger.ReceivedWebhook{Headers: "Host: x", Body: new("{}")}))(t)
	if found.Genuine || len(found.Findings) != 4 || found.Findings[0].State != "wrong" {
		t.Errorf("the verification is %+v", found)
	}
}
