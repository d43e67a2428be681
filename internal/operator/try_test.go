package operator_test

import (
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/profile"
)

// TestTryIsLimited: trying an endpoint counts as a check of the partner's URLs, so that no token
// makes the service flood a server; a refusal tries nothing.
func TestTryIsLimited(t *testing.T) {
	h := newHarness(t)
	try := func(what string, status int, text string) {
		t.Helper()
		if got := h.send(h.tokens[account.Support], "POST", "/operator/v1/partners/1/try", ""); got.Status != status || !strings.Contains(got.Body, text) {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
	check, err := h.Profiles.BeginTest(t.Context(), 1)
	h.Must(err)
	try("while a check runs", 409, `"check_running"`)
	check.End(t.Context())
	for range profile.MaxChecks - 1 {
		try("within the limit", 200, `"state"`)
	}
	try("after ten uses", 429, `"too_many_checks"`)
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'endpoint.try'`); n != profile.MaxChecks-1 {
		t.Errorf("it was tried %d times", n)
	}
}
