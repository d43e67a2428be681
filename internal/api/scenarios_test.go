package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/profile"
)

// run is a run as a program reads it.
type run struct {
	ID      int64  `json:"run_id"`
	State   string `json:"state"`
	Verdict string `json:"verdict"`
	Done    int    `json:"steps_done"`
	Steps   []struct {
		Verdict, Sent, Text string
	}
}

// endpoint gives our partner a webhook URL and returns the received bodies.
func (h *harness) endpoint() <-chan string {
	h.Helper()
	bodies := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	h.Cleanup(s.Close)
	_, _, _, err := h.Profiles.SetURLs(h.Context(), tester, h.ours.ID, profile.URLChange{Webhook: &s.URL})
	h.Must(err)
	for len(bodies) > 0 { // those of the check
		<-bodies
	}
	return bodies
}

// endedRun gives our partner an ended run, and the other one a webhook URL.
func (h *harness) endedRun(application string) {
	h.Helper()
	h.Exec(`INSERT INTO scenario_runs (partner_id, scenario, state, verdict, note, steps, done, url, actor_kind, actor_id, last_event, started_at, ended_at, until)
		VALUES ($1, 'old-timestamp', 'ended', 'warn', '', 2, 2, $2, 'partner', 1, 1, 1794735000000000000, 1794735001000000000, 0)`, h.ours.ID, application)
	h.Exec(`INSERT INTO scenario_steps (run_id, position, result) VALUES (1, 1, $1)`, `{"scenario":"old-timestamp","title":"purchase signed an hour ago",
		"expected":"a refusal, such as 401; accepting it is a warning","verdict":"warn","text":"it was accepted, and should not be","do":["Refuse it."],
		"sent":"POST / HTTP/1.1","signed":[{"header":"X-Licensing-Signature","text":"1{}"}],"answer":"200 OK","at":"2026-11-15T09:30:00Z","took_ns":3000000}`)
	h.Exec(`UPDATE profiles SET webhook_url = $2 WHERE partner_id = $1`, h.other.ID, application+"/webhook")
}

func (h *harness) callRun(client *http.Client, method, url, body string) (status int, r run) {
	h.Helper()
	got := h.ask(client, method, url, body, "Authorization: Bearer "+h.oursKey)
	if got.Status < 300 {
		if err := json.Unmarshal([]byte(got.Body), &r); err != nil {
			h.Fatal(err)
		}
	}
	return got.Status, r
}

// TestScenarioRun follows a run to its end, and reads the test license of an event. The other
// partner cannot.
func TestScenarioRun(t *testing.T) {
	h := newHarness(t)
	client, base := contract(t).Client(t), h.serve()
	bodies := h.endpoint()
	status, begun := h.callRun(client, "POST", base+"/v2/scenarios/journey/runs", "")
	if status != http.StatusAccepted || begun.State != "running" || begun.ID == 0 {
		t.Fatalf("%d %+v", status, begun)
	}
	var key string
	for range 3 {
		key = strings.Split(<-bodies, `"`)[3]
	}
	h.Harness.Simulator.Wait()
	if _, got := h.callRun(client, "GET", fmt.Sprintf("%s/v2/scenario-runs/%d", base, begun.ID), ""); got.State != "ended" || got.Verdict != "pass" || got.Done != 3 || len(got.Steps) != 3 {
		t.Errorf("%+v", got)
	}
	license := base + "/v2/licenses/" + key
	got := h.ask(client, "GET", license, "", "Authorization: Bearer "+h.oursKey)
	if got.Status != http.StatusOK || !strings.Contains(got.Body, `"status":"deactivated"`) || got.Header.Get("ETag") != "" {
		t.Errorf("the test license: %d %s", got.Status, got.Body)
	}
	unknown := h.ask(client, "GET", base+"/v2/licenses/5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11", "", "Authorization: Bearer "+h.otherKey)
	if foreign := h.ask(client, "GET", license, "", "Authorization: Bearer "+h.otherKey); foreign.Status != http.StatusNotFound || without(foreign.Body) != without(unknown.Body) {
		t.Errorf("for another partner: %d %s", foreign.Status, foreign.Body)
	}
	for _, path := range []string{"/events", "/webhook-responses", "/explain"} {
		if got := h.ask(client, "GET", license+path, "", "Authorization: Bearer "+h.oursKey); got.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Status)
		}
	}
	if got := h.ask(client, "GET", fmt.Sprintf("%s/v2/scenario-runs/%d", base, begun.ID), "", "Authorization: Bearer "+h.otherKey); got.Status != http.StatusNotFound {
		t.Errorf("the run for another partner: %d", got.Status)
	}
	list := h.ask(client, "GET", base+"/v2/scenarios", "", "Authorization: Bearer "+h.oursKey)
	if !strings.Contains(list.Body, `"last":{"verdict":"pass","run_id":`) {
		t.Errorf("the last verdict: %s", list.Body)
	}
}

// without returns an answer without its request id.
func without(body string) string {
	before, _, _ := strings.Cut(body, `,"request_id"`)
	return before
}

// TestSendTestEvent: the sample, or one's own body, which becomes a test.
func TestSendTestEvent(t *testing.T) {
	h := newHarness(t)
	client, base := contract(t).Client(t), h.serve()
	bodies := h.endpoint()
	for sent, want := range map[string]string{
		"": `"event":"deactivate","license_status":"deactivated"`,
		`{"body":"{\"a\":\"<é>\",\"test\":false}"}`: `{"a":"<é>","test":true}`,
	} {
		if status, _ := h.callRun(client, "POST", base+"/v2/event-kinds/deactivate/test", sent); status != http.StatusAccepted {
			t.Fatalf("%s: %d", sent, status)
		}
		if body := <-bodies; !strings.Contains(body, want) || !strings.Contains(body, `"test":true`) {
			t.Errorf("%s: %s", sent, body)
		}
		h.Harness.Simulator.Wait()
	}
}
