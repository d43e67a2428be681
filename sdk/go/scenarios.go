package claviger

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Scenarios lists the scenarios for your webhook URL, each with its last verdict.
func (c *Client) Scenarios(ctx context.Context) ([]Scenario, error) {
	list, err := get[struct {
		Items []Scenario `json:"items"`
	}](ctx, c, "/v2/scenarios")
	return list.Items, err
}

// RunScenario starts a scenario, or all of them ("all"), against your saved webhook URL. It returns
// immediately: read the run until it is no longer running.
func (c *Client) RunScenario(ctx context.Context, name string) (ScenarioRun, error) {
	return send[ScenarioRun](ctx, c, http.MethodPost, "/v2/scenarios/"+url.PathEscape(name)+"/runs", nil)
}

// ScenarioRuns lists your newest runs without their steps, newest first.
func (c *Client) ScenarioRuns(ctx context.Context) ([]ScenarioRun, error) {
	list, err := get[struct {
		Items []ScenarioRun `json:"items"`
	}](ctx, c, "/v2/scenario-runs")
	return list.Items, err
}

// ScenarioRun reads a run with its finished steps.
func (c *Client) ScenarioRun(ctx context.Context, id int64) (ScenarioRun, error) {
	return get[ScenarioRun](ctx, c, "/v2/scenario-runs/"+strconv.FormatInt(id, 10))
}

// EventKinds lists the kinds of events with a sample of each.
func (c *Client) EventKinds(ctx context.Context) ([]EventKindDetail, error) {
	list, err := get[struct {
		Items []EventKindDetail `json:"items"`
	}](ctx, c, "/v2/event-kinds")
	return list.Items, err
}

// SendTestEvent sends one test event of a kind to your saved webhook URL: its sample, or body if it
// is not empty. It returns immediately.
func (c *Client) SendTestEvent(ctx context.Context, kind EventKind, body string) (ScenarioRun, error) {
	in := struct {
		Body string `json:"body,omitempty"`
	}{body}
	return send[ScenarioRun](ctx, c, http.MethodPost, "/v2/event-kinds/"+url.PathEscape(string(kind))+"/test", in)
}

// VerifySignature reports which part of a webhook does not verify.
func (c *Client) VerifySignature(ctx context.Context, received ReceivedWebhook) (Verification, error) {
	return send[Verification](ctx, c, http.MethodPost, "/v2/verify-signature", received)
}
