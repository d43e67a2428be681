package scenario_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/diagnose"
	"claviger/internal/scenario"
)

// TestRedirectURL: a bare GET must be answered 200, and an invalid code must not make the
// application fail.
func TestRedirectURL(t *testing.T) {
	for name, c := range map[string]struct {
		bare, code int
		want       string
		do         string // part of the advice on the failed step
	}{
		"as it must be":             {200, 400, "pass pass", ""},
		"leads elsewhere":           {200, 303, "pass pass", ""},
		"fails over a bogus code":   {200, 500, "pass fail", "invalid_grant"},
		"refuses a bare GET":        {400, 400, "fail pass", "A bare GET"},
		"redirects a bare GET":      {302, 302, "fail pass", "do not redirect"},
		"answers a bare GET by 204": {204, 200, "fail pass", "A bare GET"},
		"fails over everything":     {502, 502, "fail fail", "A bare GET"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			r := runner(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.Method+" "+r.URL.RequestURI())
				status := c.bare
				if r.URL.Query().Get("code") != "" {
					status = c.code
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}))
			r.Target.Redirect, r.Target.URL = strings.TrimSuffix(r.Target.URL, "/hook")+"/back?from=market", ""
			results, err := r.Run(t.Context(), scenario.RedirectURL())
			if err != nil {
				t.Fatal(err)
			}
			if got := verdicts(results); got != c.want {
				t.Errorf("got %s, want %s: %+v", got, c.want, results)
			}
			if len(asked) != 2 || asked[0] != "GET /back?from=market" || asked[1] != "GET /back?from=market&code="+strings.Repeat("0", 64) {
				t.Errorf("asked %q", asked)
			}
			var do string
			for _, result := range results {
				do += strings.Join(result.Do, " ")
			}
			if !strings.Contains(do, c.do) || c.do == "" && do != "" {
				t.Errorf("what to do: %q, want %q in it", do, c.do)
			}
		})
	}
}

// TestCauses: the results show whether there was a server at all.
func TestCauses(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	r := runner(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	results := run(t, r, scenario.Journey)
	if results[0].Verdict != diagnose.Fail || results[0].Cause != "" {
		t.Errorf("an answer: %+v", results[0])
	}
	r.Target.URL = closed.URL
	if results = run(t, r, scenario.Journey); results[0].Cause != diagnose.CauseRefused || results[1].Cause != "" {
		t.Errorf("no server: %+v", results)
	}
}
