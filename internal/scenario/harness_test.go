package scenario_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/scenario"
)

const ownSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8="

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123456789, time.UTC)

// event is a body as the application parses it.
type event struct {
	Key     string `json:"license_key"`
	Kind    string `json:"event"`
	Status  string `json:"license_status"`
	At      int64  `json:"event_timestamp"`
	ID      int64  `json:"event_id"`
	Tier    int    `json:"tier"`
	Before  int    `json:"previous_tier"`
	Reason  string `json:"reason"`
	Test    bool   `json:"test"`
	Plan    string `json:"partner_plan_name"`
	Attempt int
	ID0     string // webhook-id
	Body    string
}

// application is a partner's program. Its fields are its mistakes; the zero value makes none.
type application struct {
	verifiesNothing  bool
	acceptsUnsigned  bool // verifies only if there is a signature
	bodyOnly         bool // also accepts a signature over the body alone
	keepsOld         bool // accepts old timestamps
	refusesTwice     bool // answers 409 to an event that it has
	refusesOlder     bool // answers 409 to an event older than the stored one
	refusesUnknown   bool // answers 404 for an unknown license
	strictSchema     bool // answers 422 to an unknown member
	fails            bool // answers 500 to a wrong signature
	answer           func(w http.ResponseWriter, e event) bool
	mu               sync.Mutex
	licenses         map[string]event
	posts            []event
	signatureChecked int
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e event
	_ = json.Unmarshal(body, &e)
	e.Body, e.ID0 = string(body), r.Header.Get("webhook-id")
	e.Attempt, _ = strconv.Atoi(r.Header.Get("X-Acme-Attempt"))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.posts = append(a.posts, e)
	if a.answer != nil && a.answer(w, e) {
		return
	}
	if status := a.status(r, body, e); status != 200 {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"success":false}`)
		return
	}
	_, _ = io.WriteString(w, `{"success":true}`)
}

func (a *application) status(r *http.Request, body []byte, e event) int {
	if !a.verifies(r, body) {
		if a.fails {
			return 500
		}
		return 401
	}
	var members map[string]any
	_ = json.Unmarshal(body, &members)
	old, known := a.licenses[e.Key]
	switch {
	case a.strictSchema && members["scenario_member"] != nil:
		return 422
	case a.refusesUnknown && !known && e.Kind != "purchase":
		return 404
	case a.refusesTwice && known && old.ID == e.ID, a.refusesOlder && known && old.ID > e.ID:
		return 409
	}
	if !known || e.ID > old.ID {
		if a.licenses == nil {
			a.licenses = map[string]event{}
		}
		a.licenses[e.Key] = e
	}
	return 200
}

func (a *application) verifies(r *http.Request, body []byte) bool {
	stamp, signature := r.Header.Get("X-Acme-Timestamp"), r.Header.Get("X-Acme-Signature")
	if a.verifiesNothing || a.acceptsUnsigned && signature == "" {
		return true
	}
	ms, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || !a.keepsOld && noon.Sub(time.UnixMilli(ms)).Abs() > 5*time.Minute {
		return false
	}
	a.signatureChecked++
	return signature == sign(stamp+string(body)) || a.bodyOnly && signature == sign(string(body))
}

func sign(text string) string {
	mac := hmac.New(sha256.New, []byte(ownSecret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// runner returns a Runner for an application.
func runner(t *testing.T, a http.Handler) *scenario.Runner {
	t.Helper()
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	client := courier.New(courier.Options{AllowPrivate: true, UserAgent: "tests/1"})
	t.Cleanup(client.Close)
	return &scenario.Runner{
		Runner: diagnose.Runner{
			Client: client, Now: func() time.Time { return noon },
			Target: diagnose.Target{URL: s.URL + "/hook", Brand: "Acme", Secrets: courier.NewSecrets(ownSecret)},
		},
	}
}

// run runs one scenario.
func run(t *testing.T, r *scenario.Runner, name string) []diagnose.Result {
	t.Helper()
	s, ok := scenario.ByName(name)
	if !ok {
		t.Fatalf("there is no scenario %s", name)
	}
	results, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != s.Steps() {
		t.Fatalf("%s: %d results for %d steps", name, len(results), s.Steps())
	}
	return results
}

// verdicts joins the verdicts of results.
func verdicts(results []diagnose.Result) string {
	var list []string
	for _, r := range results {
		list = append(list, string(r.Verdict))
	}
	return strings.Join(list, " ")
}
