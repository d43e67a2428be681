package visitor_test

import (
	"net/http"
	"testing"

	"claviger/internal/account"
	"claviger/internal/visitor"
)

// TestConsoleNeedsAFactor: without a required second factor, a visitor reaches no page, act or
// stream of the console, and is sent to the page that adds one.
func TestConsoleNeedsAFactor(t *testing.T) {
	h := newHarness(t)
	h.signIn()
	status := func(method, path string, headers ...string) (int, string) {
		w := h.do(method, path, headers...)
		return w.Code, w.Header().Get("Location") + w.Header().Get("HX-Redirect")
	}
	h.site.Accounts.Require = account.RequireAdmins
	if code, _ := status(http.MethodGet, "/console/page"); code != http.StatusOK {
		t.Errorf("somebody who is no operator: %d", code)
	}
	role := func(role account.Role) {
		t.Helper()
		h.setRole(role)
		h.signIn()
	}
	role(account.RoleViewer)
	if code, _ := status(http.MethodGet, "/console/page"); code != http.StatusOK {
		t.Errorf("an operator who is no admin: %d", code)
	}
	h.site.Accounts.Require = account.RequireOperators
	if code, _ := status(http.MethodGet, "/console/page"); code != http.StatusSeeOther {
		t.Errorf("an operator where all need one: %d", code)
	}
	h.site.Accounts.Require = account.RequireAdmins
	role(account.RoleAdmin)
	seen := len(h.seen)
	if code, to := status(http.MethodGet, "/console/page"); code != http.StatusSeeOther || to != "/account/security?next=%2Fconsole%2Fpage" {
		t.Errorf("a page: %d to %q", code, to)
	}
	if code, to := status(http.MethodPost, "/console/act", "Referer", "http://market.example/console/page"); code != http.StatusSeeOther || to != "/account/security?next=%2Fconsole%2Fpage" {
		t.Errorf("an act: %d to %q", code, to)
	}
	if code, to := status(http.MethodGet, "/console/stream"); code != http.StatusUnauthorized || to != "" {
		t.Errorf("a stream: %d to %q", code, to)
	}
	if len(h.seen) != seen {
		t.Error("a handler ran")
	}
	if code, _ := status(http.MethodGet, "/own"); code != http.StatusOK {
		t.Errorf("a page elsewhere: %d", code)
	}
	h.site.Accounts.Require = account.RequireNone
	if code, _ := status(http.MethodGet, "/console/page"); code != http.StatusOK {
		t.Errorf("without the requirement: %d", code)
	}
}

func TestBrowser(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                 "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0":          "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15":                  "Safari on macOS",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0 Mobile/15E148 Safari/604.1": "Chrome on iPhone",
		"": "A browser", "<script>": "A browser",
	} {
		if got := visitor.Browser(agent); got != want {
			t.Errorf("%q: %q, want %q", agent, got, want)
		}
	}
}
