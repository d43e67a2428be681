package profile_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

const (
	ownSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8="
	newSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD/qW9eRtYuIo="
)

// post is a webhook received by a partner.
type post struct {
	*http.Request
	body []byte
}

// app is a partner's program: it reports whether it accepts a post.
type app func(p post) bool

// serveApp runs an app that answers according to the specification, and records the posts.
func serveApp(t *testing.T, accepts app) (url string, posts *[]post) {
	t.Helper()
	posts = new([]post)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		p := post{r, body}
		*posts = append(*posts, p)
		if !accepts(p) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"success":false,"message":"bad signature"}`)
			return
		}
		_, _ = io.WriteString(w, `{"success":true}`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hook", posts
}

// brandCheck verifies X-Acme-Signature, correctly or with a mistake.
func brandCheck(key []byte, text func(p post) string, form func([]byte) string) app {
	return func(p post) bool {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text(p)))
		return p.Header.Get("X-Acme-Signature") == form(mac.Sum(nil))
	}
}

func proper(p post) string { return p.Header.Get("X-Acme-Timestamp") + string(p.body) }

// standardCheck verifies webhook-signature with the library.
func standardCheck(t *testing.T, wh *standardwebhooks.Webhook) app {
	t.Helper()
	return func(p post) bool { return wh.VerifyIgnoringTimestamp(p.body, p.Header) == nil }
}

// validator returns a book that can check URLs on this machine.
func validator(t *testing.T) *profile.Store {
	t.Helper()
	client := courier.New(courier.Options{AllowPrivate: true, UserAgent: "tests/1"})
	t.Cleanup(client.Close)
	return &profile.Store{Now: func() time.Time { return noon.Add(123 * time.Millisecond) }, Check: profile.Checker{Client: client}}
}

var acme = partner.Partner{Brand: "Acme"}

func TestWebhookCheck(t *testing.T) {
	library, err := standardwebhooks.NewWebhook(ownSecret)
	if err != nil {
		t.Fatal(err)
	}
	for name, accepts := range map[string]app{
		"its own signature":  brandCheck([]byte(ownSecret), proper, hex.EncodeToString),
		"standard signature": standardCheck(t, library),
	} {
		url, posts := serveApp(t, accepts)
		checks, err := validator(t).Validate(t.Context(), acme, profile.URLChange{Webhook: &url}, ownSecret)
		want := []profile.Check{
			{URL: url, Step: "POST webhook_url: purchase", OK: true, Text: "it was delivered"},
			{URL: url, Step: "POST webhook_url: activate", OK: true, Text: "it was delivered"},
			{URL: url, Step: "POST webhook_url: deactivate", OK: true, Text: "it was delivered"},
			{URL: url, Step: "POST webhook_url: deactivate with a wrong signature", OK: true, Text: "it was refused, as it must be: it answered 401 Unauthorized"},
			{URL: url, Step: "POST webhook_url: the same deactivate with its right signature", OK: true, Text: "it was delivered"},
		}
		if diff := cmp.Diff(want, checks, ignoreDetails); diff != "" || err != nil {
			t.Fatalf("%s: %v (-want +got)\n%s", name, err, diff)
		}
		const base = `{"license_key":"00000000-0000-4000-8000-000000000000",`
		for i, member := range []string{
			base + `"event":"purchase","license_status":"inactive","event_timestamp":1772625600123,"event_id":1772625600,"tier":1,"reason":"purchased","test":true,"created_at":1772625600123,`,
			base + `"event":"activate","license_status":"active","event_timestamp":1772625600124,"event_id":1772625601,`,
			base + `"event":"deactivate","license_status":"deactivated","event_timestamp":1772625600125,"event_id":1772625602,`,
			base + `"event":"deactivate","license_status":"deactivated","event_timestamp":1772625600126,"event_id":1772625603,`,
			base + `"event":"deactivate","license_status":"deactivated","event_timestamp":1772625600126,"event_id":1772625603,`,
		} {
			p, c := (*posts)[i], checks[i]
			if !strings.HasPrefix(string(p.body), member) {
				t.Errorf("%s: post %d is %s, want it to begin with %s", name, i+1, p.body, member)
			}
			if !strings.HasSuffix(string(p.body), `,"partner_plan_name":"Test plan"}`) {
				t.Errorf("%s: post %d names no plan: %s", name, i+1, p.body)
			}
			// The transcript has the request that the server received, and the texts to sign.
			if !strings.HasPrefix(c.Sent, "POST /hook HTTP/1.1\nHost: ") || !strings.HasSuffix(c.Sent, "\n\n"+string(p.body)) ||
				!strings.Contains(c.Sent, "\nX-Acme-Signature: "+p.Header.Get("X-Acme-Signature")+"\n") || !strings.Contains(c.Sent, "\nUser-Agent: tests/1\n") {
				t.Errorf("%s: post %d is shown as\n%s", name, i+1, c.Sent)
			}
			signed := []fault.Signature{{Header: "X-Acme-Signature", Text: proper(p)}, {
				Header: "webhook-signature",
				Text:   p.Header.Get("webhook-id") + "." + p.Header.Get("webhook-timestamp") + "." + string(p.body),
			}}
			if diff := cmp.Diff(signed, c.Signed); diff != "" {
				t.Errorf("%s: post %d (-want +got):\n%s", name, i+1, diff)
			}
		}
		if a := checks[0].Answer; !strings.HasPrefix(a, "200 OK\n") || !strings.HasSuffix(a, "\n\n"+`{"success":true}`) {
			t.Errorf("%s: the answer is shown as %q", name, a)
		}
		if len(*posts) != 5 || strings.Contains(checks[0].Sent, ownSecret) {
			t.Errorf("%s: %d posts, want 5 and no secret shown", name, len(*posts))
		}
	}
}

func TestWebhookCheckWarnsOfNoSignatureCheck(t *testing.T) {
	url, _ := serveApp(t, func(post) bool { return true })
	checks, err := validator(t).Validate(t.Context(), acme, profile.URLChange{Webhook: &url}, ownSecret)
	last := checks[len(checks)-1]
	if err != nil || len(checks) != 4 || last.OK || !last.Warning || last.Text != "it accepted a post whose signature is wrong" || !strings.Contains(last.Likely[0], "Anybody") {
		t.Errorf("%+v, %v", last, err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !brandCheck([]byte(ownSecret), proper, hex.EncodeToString)(post{r, body}) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.Close)
	checks, err = validator(t).Validate(t.Context(), acme, profile.URLChange{Webhook: &s.URL}, ownSecret)
	if last = checks[3]; err != nil || !last.OK || !last.Warning || !strings.Contains(last.Likely[0], "401") {
		t.Errorf("failing over it: %+v, %v", last, err)
	}
}

// TestWebhookCheckProvesARefusal checks that the refusal of a wrong signature counts only if the
// same post with the right one is accepted.
func TestWebhookCheckProvesARefusal(t *testing.T) {
	verifies := brandCheck([]byte(ownSecret), proper, hex.EncodeToString)
	for name, c := range map[string]struct {
		answer func(p post, deactivates int) int // by the number of deactivates so far, including this one
		text   string
	}{
		"verifies nothing, knows the license once": {func(_ post, n int) int { return map[bool]int{true: 404, false: 200}[n > 1] }, "both got 404 Not Found"},
		"verifies, knows the license once": {func(p post, n int) int {
			switch {
			case !verifies(p):
				return 401
			case n > 1:
				return 409
			}
			return 200
		}, "it answered 401 Unauthorized here, and there: it answered 409 Conflict"},
	} {
		n := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"event":"deactivate"`) {
				n++
			}
			w.WriteHeader(c.answer(post{r, body}, n))
		}))
		t.Cleanup(s.Close)
		checks, err := validator(t).Validate(t.Context(), acme, profile.URLChange{Webhook: &s.URL}, ownSecret)
		if err != nil || len(checks) != 5 {
			t.Fatalf("%s: %v, %+v", name, err, checks)
		}
		forged, same := checks[3], checks[4]
		if forged.OK || !forged.Warning || !strings.Contains(forged.Text, "proves nothing") || !strings.HasSuffix(forged.Text, c.text) || len(forged.Likely) == 0 {
			t.Errorf("%s: %+v, want %q", name, forged, c.text)
		}
		if same.OK || !same.Warning || !strings.Contains(same.Step, "right signature") {
			t.Errorf("%s: the same post: %+v", name, same)
		}
	}
}

// TestWebhookCheckFindsMistakes checks that the transcript names the mistake of a server that
// verifies wrongly.
func TestWebhookCheckFindsMistakes(t *testing.T) {
	whole, bare := []byte(ownSecret), []byte(strings.TrimPrefix(ownSecret, "whsec_"))
	decoded, err := base64.StdEncoding.DecodeString(string(bare))
	if err != nil {
		t.Fatal(err)
	}
	raw := func(key []byte) *standardwebhooks.Webhook {
		wh, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			t.Fatal(err)
		}
		return wh
	}
	written := func(write func([]byte) string) func(p post) string {
		return func(p post) string { return p.Header.Get("X-Acme-Timestamp") + write(p.body) }
	}
	for name, c := range map[string]struct {
		accepts app
		want    string
		secrets []string
	}{
		"body alone":      {brandCheck(whole, func(p post) string { return string(p.body) }, hex.EncodeToString), "over the body alone", nil},
		"PHP":             {brandCheck(whole, written(phpEncode), hex.EncodeToString), "PHP's json_encode", nil},
		"Go":              {brandCheck(whole, written(goMarshal(t)), hex.EncodeToString), "Go's json.Marshal", nil},
		"seconds":         {readsSeconds(whole), "wrong unit: X-Acme-Timestamp is in milliseconds", nil},
		"to seconds":      {brandCheck(whole, divided(t, func(ms int64) string { return strconv.FormatInt(ms/1000, 10) }), hex.EncodeToString), "converts the timestamp", nil},
		"to a fraction":   {brandCheck(whole, divided(t, fraction), hex.EncodeToString), "converts the timestamp", nil},
		"dot":             {brandCheck(whole, func(p post) string { return p.Header.Get("X-Acme-Timestamp") + "." + string(p.body) }, hex.EncodeToString), "puts a dot", nil},
		"decoded key":     {brandCheck(decoded, proper, hex.EncodeToString), "wrong form of the secret", nil},
		"cut key":         {brandCheck(bare, proper, hex.EncodeToString), "cuts whsec_ off", nil},
		"base64":          {brandCheck(whole, proper, base64.StdEncoding.EncodeToString), "lower-case hex", nil},
		"new secret":      {brandCheck([]byte(newSecret), proper, hex.EncodeToString), "has the new secret only", []string{newSecret, ownSecret}},
		"swapped headers": {brandCheckIn("webhook-timestamp", "webhook-signature"), "in the wrong header", nil},
		"another brand":   {brandCheckIn("X-Licensing-Timestamp", "X-Licensing-Signature"), "in the header X-Licensing-Signature. It is in X-Acme-Signature", nil},
		"no brand":        {brandCheckIn("X-Timestamp", "X-Signature"), "in the header X-Signature", nil},
		"half a name":     {brandCheckIn("X-Acme-Timestamp", "X-Webhook-Signature"), "in the header X-Webhook-Signature", nil},
		"svix":            {svixCheck(t), "in the header svix-signature", nil},
		"standard, whole": {standardCheck(t, raw(whole)), "wrong form of the secret", nil},
		"standard, cut":   {standardCheck(t, raw(bare)), "cuts whsec_ off", nil},
	} {
		t.Run(name, func(t *testing.T) {
			secrets := c.secrets
			if secrets == nil {
				secrets = []string{ownSecret}
			}
			found(t, c.accepts, c.want, secrets...)
		})
	}
}

// TestWebhookCheckFindsPython lets Python re-encode the body.
func TestWebhookCheckFindsPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on this machine")
	}
	for options, want := range map[string]string{
		"":                        "with spaces and \\u escapes",
		`, separators=(",", ":")`: "compactly, with \\u escapes",
	} {
		dumps := func(p post) string {
			run := exec.CommandContext(t.Context(), python, "-c", "import json, sys; sys.stdout.write(json.dumps(json.loads(sys.stdin.buffer.read())"+options+"))")
			run.Stdin = bytes.NewReader(p.body)
			out, err := run.Output()
			if err != nil {
				t.Error(err)
			}
			return p.Header.Get("X-Acme-Timestamp") + string(out)
		}
		found(t, brandCheck([]byte(ownSecret), dumps, hex.EncodeToString), want, ownSecret)
	}
}

// found checks that an app is refused and that the transcript names its mistake.
func found(t *testing.T, accepts app, want string, secrets ...string) {
	t.Helper()
	url, _ := serveApp(t, accepts)
	_, err := validator(t).Validate(t.Context(), acme, profile.URLChange{Webhook: &url}, secrets...)
	f := fault.Of(err)
	if f == nil || f.Code != "url_check_failed" || f.Field != "webhook_url" || !strings.Contains(f.Text, want) {
		t.Fatalf("%v, want it refused with %q", err, want)
	}
	checks := f.Checks
	for _, c := range checks[:3] {
		if c.OK || c.Warning || c.Text != "it answered 401 Unauthorized" || !strings.Contains(c.Likely[0], want) {
			t.Errorf("%s: %s, likely %q; want %q", c.Step, c.Text, c.Likely, want)
		}
	}
	if last := checks[len(checks)-1]; last.OK || !last.Warning || !strings.Contains(last.Step, "to find the mistake") || !strings.HasPrefix(last.Text, "it was accepted") {
		t.Errorf("the last step is %+v", last)
	}
}

// readsSeconds verifies correctly, but reads the timestamp as seconds when it checks its age.
func readsSeconds(key []byte) app {
	good := brandCheck(key, proper, hex.EncodeToString)
	return func(p post) bool {
		seconds, err := strconv.ParseInt(p.Header.Get("X-Acme-Timestamp"), 10, 64)
		return err == nil && noon.Sub(time.Unix(seconds, 0)).Abs() < 5*time.Minute && good(p)
	}
}

// divided signs the server's conversion of the milliseconds.
func divided(t *testing.T, by func(ms int64) string) func(p post) string {
	t.Helper()
	return func(p post) string {
		ms, err := strconv.ParseInt(p.Header.Get("X-Acme-Timestamp"), 10, 64)
		if err != nil {
			t.Error(err)
		}
		return by(ms) + string(p.body)
	}
}

// fraction formats a number of milliseconds divided by 1000 like Python; other languages leave out
// a fraction of 0.
func fraction(ms int64) string {
	text := strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// phpEncode returns the result of json_encode(json_decode($body)) for the test's bodies.
func phpEncode(body []byte) string {
	quoted := strconv.QuoteToASCII(string(body))
	text := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return strings.ReplaceAll(text, "/", `\/`)
}

// goMarshal decodes a body into a struct and encodes it again.
func goMarshal(t *testing.T) func(body []byte) string {
	t.Helper()
	return func(body []byte) string {
		var b struct {
			LicenseKey    string         `json:"license_key"`
			Event         string         `json:"event"`
			LicenseStatus string         `json:"license_status"`
			Timestamp     int64          `json:"event_timestamp"`
			EventID       int64          `json:"event_id"`
			Tier          int            `json:"tier"`
			Reason        string         `json:"reason"`
			Test          bool           `json:"test"`
			CreatedAt     int64          `json:"created_at"`
			Extra         map[string]any `json:"extra"`
			PlanName      string         `json:"partner_plan_name"`
		}
		if err := json.Unmarshal(body, &b); err != nil {
			t.Error(err)
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}
