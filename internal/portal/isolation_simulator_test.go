package portal_test

import (
	"net/url"
	"strconv"

	"claviger/internal/partner"
)

// Values of the isolation test for the simulator, the events and the verification. The partners
// have no webhook URL, so nothing is sent.
func init() {
	placeholders["run"] = runOf
	for path, form := range map[string]url.Values{
		"/simulator/runs":         {"scenario": {"journey"}},
		"/events/purchase/test":   {"body": {"{}"}},
		"/events/activate/test":   {"body": {"{}"}},
		"/events/deactivate/test": {"body": {"{}"}},
		"/verify":                 {"headers": {"Host: x"}, "body": {"{}"}},
	} {
		forms[path] = func(*harness, partner.Partner) url.Values { return form }
	}
}

// runOf creates an ended run.
func runOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	if h.Count(`SELECT count(*) FROM scenario_runs WHERE partner_id = $1`, p.ID) == 0 {
		h.Exec(`INSERT INTO scenario_runs (partner_id, scenario, state, verdict, note, steps, done, url, actor_kind, actor_id, last_event, started_at, ended_at, until)
			VALUES ($1, 'journey', 'ended', 'pass', '', 3, 3, 'https://example.com/', 'partner', 1, 1, 1, 2, 0)`, p.ID)
	}
	return strconv.FormatInt(h.Count(`SELECT max(id) FROM scenario_runs WHERE partner_id = $1`, p.ID), 10)
}
