package scenario_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/scenario"
)

// TestDiagnosis: an endpoint that accepts nothing is told its mistake, with every step that it
// refuses, and is tested for it once.
func TestDiagnosis(t *testing.T) {
	for name, c := range map[string]struct {
		signed  func(stamp, body string) string // the text that the endpoint verifies
		status  int                             // of its refusals
		do      string                          // the first advice
		unknown bool                            // no mistake explains it
	}{
		"the body alone": {func(_, body string) string { return body }, 401, "over the body alone", false},
		"with a dot":     {func(stamp, body string) string { return stamp + "." + body }, 403, "a dot between", false},
		"2xx and no":     {func(_, body string) string { return body }, 200, "over the body alone", false},
		"something else": {func(string, string) string { return "?" }, 401, "", true},
		"another status": {func(_, body string) string { return body }, 404, "", false},
		"right":          {func(stamp, body string) string { return stamp + body }, 401, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			posts := 0
			r := runner(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				posts++
				body, _ := io.ReadAll(r.Body)
				if r.Header.Get("X-Acme-Signature") != sign(c.signed(r.Header.Get("X-Acme-Timestamp"), string(body))) {
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, `{"success":false}`)
				}
			}))
			results := run(t, r, scenario.Journey)
			for _, result := range results {
				do := strings.Join(result.Do, "\n")
				switch first, _, _ := strings.Cut(do, "\n"); {
				case c.do != "" && !strings.Contains(first, c.do):
					t.Errorf("%s: %q, want %q first", result.Title, result.Do, c.do)
				case strings.Contains(do, "whsec_ included, and the names of the headers that it reads: X-Acme-Signature") != c.unknown:
					t.Errorf("%s: %q, about the secret: %t", result.Title, result.Do, c.unknown)
				}
			}
			if posts > 20 {
				t.Errorf("%d posts for three steps", posts)
			}
		})
	}
}

// TestAdviceIsAboutWhatWasReached: if a post does not reach the partner's code, there is no advice
// about that code.
func TestAdviceIsAboutWhatWasReached(t *testing.T) {
	answers := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/hook/")
			w.WriteHeader(status)
		}
	}
	bodyOnly := func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); r.Header.Get("X-Acme-Signature") != sign(string(body)) {
			w.WriteHeader(401)
		}
	}
	const store, unauthorized, secret = "Store the license", "Your server rejected the request as unauthorized", "No common mistake"
	for name, c := range map[string]struct {
		app  http.HandlerFunc
		want []string // beginnings of each step's sentences
	}{
		"a redirect":           {answers(301), []string{"It redirects to /hook/"}},
		"unauthorized":         {answers(401), []string{unauthorized, secret}},
		"forbidden":            {answers(403), []string{unauthorized, secret}},
		"a body that is odd":   {answers(422), []string{"", store, secret}},
		"no such page":         {answers(404), []string{store, ""}},
		"an error":             {answers(500), []string{store, ""}},
		"a mistake it is told": {bodyOnly, []string{"Your server computes the signature over the body alone. Put the timestamp before it: X-Acme-Signature is over X-Acme-Timestamp and at once the body"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, result := range run(t, runner(t, c.app), scenario.Journey) {
				if len(result.Do) != len(c.want) {
					t.Fatalf("%s: %q, want %q", result.Title, result.Do, c.want)
				}
				for i, begins := range c.want {
					if !strings.HasPrefix(result.Do[i], begins) {
						t.Errorf("%s: %q, want %q", result.Title, result.Do[i], begins)
					}
				}
			}
		})
	}
}
