package profile_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// reply returns a handler that always answers the same.
func reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const htmlPage = "<!DOCTYPE html><title>Welcome</title>"

// TestWebhookCheckNamesLikelyMistakes checks that each answer that does not count is explained.
func TestWebhookCheckNamesLikelyMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		strict  bool
		handler http.HandlerFunc
		text    string
		likely  []string // parts of them, in this order
		steps   int
	}{
		"redirect":          {false, reply(308, "", "Location", "/hook/"), "a redirect, and redirects are not followed", []string{"redirects to /hook/"}, 3},
		"redirect nowhere":  {false, reply(302, ""), "a redirect", []string{"save the URL that answers itself"}, 3},
		"not found":         {false, reply(404, htmlPage), "it answered 404 Not Found", []string{"no handler at this path", "An HTML page"}, 3},
		"no POST":           {false, reply(405, "", "Allow", "GET"), "it answered 405", []string{"not for POST"}, 3},
		"not acceptable":    {false, reply(406, ""), "it answered 406", []string{"any content type"}, 3},
		"too large":         {false, reply(413, ""), "it answered 413", []string{"too large"}, 3},
		"content type":      {false, reply(415, ""), "it answered 415", []string{"application/json"}, 3},
		"Laravel":           {false, reply(419, htmlPage), "it answered 419", []string{"CSRF", "An HTML page"}, 3},
		"too many":          {false, reply(429, ""), "it answered 429", []string{"how often"}, 3},
		"crash":             {false, reply(500, htmlPage), "it answered 500", []string{"its log says why"}, 3},
		"proxy":             {false, reply(502, htmlPage), "it answered 502", []string{"A proxy answers"}, 3},
		"teapot":            {false, reply(418, ""), "it answered 418", nil, 3},
		"refuses":           {false, reply(401, ""), "it answered 401", []string{"right secret", "byte by byte", "lower case", "refuses the event itself", "as unauthorized"}, 17},
		"bad request":       {false, reply(400, ""), "it answered 400", []string{"right secret", "byte by byte", "lower case", "refuses the event", "as malformed"}, 17},
		"login":             {false, reply(401, "", "WWW-Authenticate", "Bearer"), "it answered 401", []string{"asks for a login", "right secret", "byte by byte", "lower case", "refuses the event itself", "as unauthorized"}, 17},
		"bearer":            {false, reply(401, `{"error":"missing bearer token"}`), "it answered 401", []string{"no Authorization: Bearer", "right secret", "byte by byte", "lower case", "refuses the event itself", "as unauthorized"}, 17},
		"firewall":          {false, reply(403, htmlPage), "it answered 403", []string{"The answer is a web page", "right secret", "byte by byte", "lower case", "refuses", "as unauthorized", "HTML"}, 17},
		"success false":     {false, reply(200, `{"success":false}`), `with "success": false`, []string{"refuses every post: look at what it refuses, and why; its answer or its log may say. Or it does not have the right secret", "must accept license keys", "right secret", "byte by byte", "lower case", "refused the post"}, 17},
		"strict, nothing":   {true, reply(200, `{"ok":true}`), `without "success": true`, []string{"strict"}, 3},
		"strict, a string":  {true, reply(200, `{"success":"true"}`), `without "success": true`, []string{"not a string"}, 3},
		"strict, other 2xx": {true, reply(201, `{"success":true}`), "must answer 200", []string{"strict"}, 3},
		"strict, a page":    {true, reply(200, htmlPage), `without "success": true`, []string{"strict"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.handler)
			t.Cleanup(s.Close)
			_, err := validator(t).Validate(t.Context(), partner.Partner{Strict: c.strict}, profile.URLChange{Webhook: &s.URL}, ownSecret)
			f := fault.Of(err)
			if f == nil || f.Code != "url_check_failed" {
				t.Fatalf("%v, want it refused", err)
			}
			checks := f.Checks
			first := checks[0]
			if len(checks) != c.steps || first.OK || first.Warning || !strings.Contains(first.Text, c.text) || first.Answer == "" {
				t.Errorf("%d steps, the first %+v; want %d and %q", len(checks), first, c.steps, c.text)
			}
			if len(first.Likely) != len(c.likely) {
				t.Fatalf("likely: %q, want %q", first.Likely, c.likely)
			}
			for i, part := range c.likely {
				if !strings.Contains(first.Likely[i], part) {
					t.Errorf("likely: %q, want %q", first.Likely[i], part)
				}
			}
			if len(c.likely) > 0 && !strings.Contains(f.Text, first.Likely[0]) {
				t.Errorf("the message is %q", f.Text)
			}
		})
	}
}

func TestWebhookCheckPasses(t *testing.T) {
	for name, c := range map[string]struct {
		strict   bool
		handler  http.HandlerFunc
		warnings int // of the three posts
	}{
		"no content":        {false, reply(204, ""), 0},
		"other JSON":        {false, reply(201, `[]`), 0},
		"PHP without type":  {false, reply(200, `{"success":true}`, "Content-Type", "text/html; charset=UTF-8"), 0},
		"strict":            {true, reply(200, `{"success":true,"event":"x"}`), 0},
		"a page, not ours":  {false, reply(200, "\n "+htmlPage), 3},
		"a page of the app": {false, reply(200, "<div id=app></div>", "Content-Type", "text/html"), 3},
	} {
		s := httptest.NewServer(c.handler)
		t.Cleanup(s.Close)
		checks, err := validator(t).Validate(t.Context(), partner.Partner{Strict: c.strict}, profile.URLChange{Webhook: &s.URL}, ownSecret)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		warnings := 0
		for _, check := range checks[:3] {
			if check.Warning {
				warnings++
			}
		}
		if warnings != c.warnings || len(checks) != 4 {
			t.Errorf("%s: %d warnings in %+v, want %d", name, warnings, checks, c.warnings)
		}
	}
}

// TestWebhookCheckOfOneKind checks that a handler that accepts only some kinds is refused for the
// others, and still tried with a wrong signature.
func TestWebhookCheckOfOneKind(t *testing.T) {
	url, posts := serveApp(t, func(p post) bool { return strings.Contains(string(p.body), `"event":"activate"`) })
	_, err := validator(t).Validate(t.Context(), acme, profile.URLChange{Webhook: &url}, ownSecret)
	f := fault.Of(err)
	if f == nil || len(*posts) != 5 {
		t.Fatalf("%v after %d posts", err, len(*posts))
	}
	var got []bool
	for _, c := range f.Checks {
		got = append(got, c.OK)
	}
	if want := []bool{false, true, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("OK: %v, want %v", got, want)
	}
	if forged := f.Checks[3]; !forged.Warning || !strings.HasSuffix(forged.Text, "both got 401 Unauthorized") {
		t.Errorf("the forged one: %+v", forged)
	}
}

// slow returns a network that answers every request after a time; 0: never.
func slow(after time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close() //nolint:errcheck // a pipe
			r := bufio.NewReader(theirs)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				if after == 0 {
					_, _ = r.ReadByte() // until the client closes
					return
				}
				time.Sleep(after)
				if _, err := io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}
}

// TestCheckIsBounded checks that the whole check takes at most 30 seconds, and that a server
// without an answer is not called again.
func TestCheckIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		answers time.Duration
		took    time.Duration
		text    string
		fails   bool
		steps   int
	}{
		"never":    {0, courier.Timeout, "there was no answer within 10s", true, 2},
		"slowly":   {9 * time.Second, profile.CheckTimeout, "the whole check took longer than 30s and was ended", false, 5},
		"too slow": {courier.Timeout - time.Nanosecond, profile.CheckTimeout, "the whole check took longer than 30s and was ended", false, 5},
		"in time":  {5 * time.Second, 20 * time.Second, "it accepted a post whose signature is wrong", false, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(courier.Timeout) // lets the servers of the last requests end
			client := courier.New(courier.Options{AllowPrivate: true, Dial: slow(c.answers)})
			defer client.Close()
			b := &profile.Store{Now: time.Now, Check: profile.Checker{Client: client}}
			hook, redirect := "http://hook.example/", "http://redirect.example/"
			start := time.Now()
			checks, err := b.Validate(t.Context(), acme, profile.URLChange{Webhook: &hook, Redirect: &redirect}, ownSecret)
			if took := time.Since(start); took != c.took {
				t.Errorf("%s: it took %s, want %s", name, took, c.took)
			}
			if (err != nil) != c.fails {
				t.Fatalf("%s: %v", name, err)
			}
			if f := fault.Of(err); f != nil {
				checks = f.Checks
			}
			if last := checks[len(checks)-1]; len(checks) != c.steps || last.Text != c.text || len(last.Likely) == 0 {
				t.Errorf("%s: %d steps, the last %+v; want %d and %q", name, len(checks), last, c.steps, c.text)
			}
		})
	}
}

func TestCheckEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	_, err := validator(t).Validate(ctx, acme, profile.URLChange{Redirect: &s.URL}, ownSecret)
	if !errors.Is(err, context.Canceled) || fault.Of(err) != nil {
		t.Errorf("%v, want it canceled", err)
	}
}

// TestSetURLsSigns checks that the check of a partner's URL is signed with its own secrets, even
// during a rotation, and uses its brand and strictness.
func TestSetURLsSigns(t *testing.T) {
	d := open(t, private)
	p, _, keys, err := d.Enrol(t.Context(), operator, partner.Draft{Name: "Acme", Brand: "Acme"}, profile.URLs{}, false, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	url, _ := serveApp(t, brandCheck([]byte(keys.WebhookSecret), proper, hex.EncodeToString))
	for _, overlap := range []time.Duration{-1, time.Hour} {
		if overlap > 0 {
			if _, err := d.Partners.Rotate(t.Context(), operator, p.ID, partner.WebhookSecret, overlap); err != nil {
				t.Fatal(err)
			}
		}
		got, _, checks, err := d.SetURLs(t.Context(), itself, p.ID, profile.URLChange{Webhook: &url})
		if err != nil || got.WebhookURL != url || !checks[3].OK {
			t.Fatalf("%+v, %v", checks, err)
		}
	}
	// With another brand the server does not find its headers.
	_, _, _, err = d.Amend(t.Context(), operator, p.ID, partner.Change{Brand: text("Other")}, profile.URLChange{Webhook: &url}, true)
	if !fault.Is(err, "url_check_failed") {
		t.Errorf("another brand: %v", err)
	}
	easy := httptest.NewServer(reply(204, ""))
	t.Cleanup(easy.Close)
	for strict, refused := range map[bool]bool{true: true, false: false} {
		_, _, _, err = d.Amend(t.Context(), operator, p.ID, partner.Change{Strict: &strict}, profile.URLChange{Webhook: &easy.URL}, true)
		if fault.Is(err, "url_check_failed") != refused || err != nil && !refused {
			t.Errorf("strict %v: %v", strict, err)
		}
	}
}

// TestEnrolChecksWithTheSecretToCome checks that the check signs with the future secret of the
// partner. A server that verifies cannot know it yet.
func TestEnrolChecksWithTheSecretToCome(t *testing.T) {
	for _, single := range []bool{false, true} {
		d := open(t, private)
		easy, _ := serveApp(t, func(post) bool { return true })
		draft := partner.Draft{Name: "Acme", Brand: "Acme", SingleKey: single}
		p, _, keys, err := d.Enrol(t.Context(), operator, draft, profile.URLs{Webhook: easy}, true, partner.Credentials{})
		if err != nil {
			t.Fatal(err)
		}
		secrets, err := d.Partners.WebhookSecrets(t.Context(), p.ID)
		if err != nil || len(secrets) != 1 || secrets[0] != keys.WebhookSecret || single != (keys.APIKey == keys.WebhookSecret) {
			t.Errorf("single %v: %v, %+v", single, err, keys)
		}

		given := partner.Credentials{WebhookSecret: ownSecret}
		if single {
			given = partner.Credentials{APIKey: ownSecret}
		}
		careful, posts := serveApp(t, brandCheck([]byte(ownSecret), proper, hex.EncodeToString))
		_, _, _, err = d.Enrol(t.Context(), operator, draft, profile.URLs{Webhook: careful}, true, partner.Credentials{})
		if f := fault.Of(err); f == nil || !strings.Contains(f.Text, "cannot know its webhook secret yet") || len(*posts) != 3 {
			t.Errorf("single %v: a server that verifies: %v after %d posts", single, err, len(*posts))
		}
		if _, pr, _, err := d.Enrol(t.Context(), operator, draft, profile.URLs{Webhook: careful}, true, given); err != nil || pr.WebhookValidAt.IsZero() {
			t.Errorf("single %v: with a secret that is given: %+v, %v", single, pr, err)
		}
	}
}

func TestWorked(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{Webhook: "https://acme.example/hook"})
	worked := func(url string, at time.Time) time.Time {
		t.Helper()
		err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			profile.Worked(tx, p.ID, url, at)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := d.get(t, p.ID)
		return got.WebhookValidAt
	}
	if at := worked("https://acme.example/old", noon); !at.IsZero() {
		t.Errorf("another URL made it valid at %s", at)
	}
	if at := worked("https://acme.example/hook", noon); !at.Equal(noon) {
		t.Errorf("valid at %s, want %s", at, noon)
	}
	if at := worked("https://acme.example/hook", noon.Add(time.Hour)); !at.Equal(noon) {
		t.Errorf("again: valid at %s, want %s", at, noon)
	}
}

// TestSawCertificate checks that a certificate belongs to its URL: another URL neither changes it
// nor keeps it.
func TestSawCertificate(t *testing.T) {
	d := open(t, private)
	const hook, other = "https://acme.example/hook", "https://acme.example/other"
	p, _ := d.enrol(t, profile.URLs{Webhook: hook})
	want := func(until time.Time) {
		t.Helper()
		at, err := sqldb.One(t.Context(), d.DB, sqldb.Value[time.Time], `SELECT certificate_until FROM profiles WHERE partner_id = $1`, p.ID)
		if err != nil || !at.Equal(until) {
			t.Errorf("it ends at %s, want %s (%v)", at, until, err)
		}
	}
	saw := func(url string, until time.Time) {
		t.Helper()
		if err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			profile.SawCertificate(tx, p.ID, url, until)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	saw(other, noon)
	want(time.Time{})
	saw(hook, noon)
	want(noon)
	saw(hook, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)) // the date that means never
	want(time.Unix(0, math.MaxInt64))
	saw(hook, noon.Add(time.Hour))
	want(noon.Add(time.Hour))
	move := func(c profile.URLChange) {
		t.Helper()
		if _, _, _, err := d.Amend(t.Context(), operator, p.ID, partner.Change{}, c, false); err != nil {
			t.Fatal(err)
		}
	}
	move(profile.URLChange{Webhook: new(hook), Redirect: new("https://acme.example/back")})
	want(noon.Add(time.Hour))
	move(profile.URLChange{Webhook: new(other)})
	want(time.Time{})
}
