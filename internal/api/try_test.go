package api_test

import (
	"strings"
	"testing"

	"claviger/internal/profile"
)

// TestTryIsLimited: trying the webhook URL counts as a URL check, so that no one makes the service
// flood a server; a refusal tries nothing.
func TestTryIsLimited(t *testing.T) {
	h := newHarness(t)
	url, client := h.serve(), contract(t).Client(t)
	refused := func(what string, status int, code string) {
		t.Helper()
		if got := h.ask(client, "POST", url+"/v2/endpoint/try", ""); got.Status != status || !strings.Contains(got.Body, `"`+code+`"`) {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
	check, err := h.Profiles.BeginTest(t.Context(), h.ours.ID)
	h.Must(err)
	refused("while a check runs", 409, "check_running")
	check.End(t.Context())
	for i := range profile.MaxChecks - 1 {
		if got := h.ask(client, "POST", url+"/v2/endpoint/try", ""); got.Status != 202 {
			t.Fatalf("try %d: %d %s", i+1, got.Status, got.Body)
		}
	}
	refused("after ten uses", 429, "too_many_checks")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'endpoint.try'`); n != profile.MaxChecks-1 {
		t.Errorf("it was tried %d times", n)
	}
	if got := h.ask(client, "POST", url+"/v2/endpoint/try", "", "Authorization: Bearer "+h.otherKey); got.Status != 202 {
		t.Errorf("another partner: %d %s", got.Status, got.Body)
	}
}
