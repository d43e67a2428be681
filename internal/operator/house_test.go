package operator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"claviger/internal/account"
	"claviger/internal/api"
	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/operator"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
	"claviger/internal/wire/wiretest"
)

// publicURL is where buyers would reach the service of these tests.
const publicURL = "https://market.example"

// house is the door on a database of its own, with one partner that sells the
// tiers 1 to 3 and a token of each scope.
type house struct {
	testing.TB
	db       *sqldb.DB
	door     *operator.Operator
	contract *wiretest.Contract
	client   *http.Client
	url      string
	tokens   map[account.Scope]string
	partner  int64
	ticks    atomic.Int64
	real     atomic.Bool // the clock is the machine's
}

// now is a clock that moves on by a second whenever it is read, so that no two
// acts have the same time.
func (h *house) now() time.Time {
	if h.real.Load() {
		return time.Now().UTC().Truncate(time.Microsecond)
	}
	return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(h.ticks.Add(1)) * time.Second)
}

var tester = audit.System("test")

// build builds a house. All share one contract, since reading it takes longer
// than everything else.
func build(t testing.TB) *house {
	t.Helper()
	shared.Do(func() { contract = loadContract(t) })
	return buildWith(t, contract)
}

var (
	shared   sync.Once
	contract *wiretest.Contract
)

// loadContract reads the description of the API.
func loadContract(t testing.TB) *wiretest.Contract {
	t.Helper()
	document, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return wiretest.LoadContract(t, document)
}

// buildWith builds a house whose every exchange is held to the contract.
func buildWith(t testing.TB, c *wiretest.Contract) *house {
	t.Helper()
	h := &house{TB: t, db: sqldbtest.Open(t), contract: c, tokens: map[account.Scope]string{}}
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	client := courier.New(courier.Options{AllowPrivate: true})
	t.Cleanup(client.Close)
	partners := &partner.Registry{DB: h.db, Sealer: box, Now: h.now}
	h.door = &operator.Operator{
		Accounts:  &account.Book{DB: h.db, Now: h.now, PublicURL: publicURL},
		Partners:  partners,
		Profiles:  &profile.Book{DB: h.db, Partners: partners, Now: h.now, Check: profile.Checker{Client: client}},
		Licenses:  &license.Registry{DB: h.db, Now: h.now},
		Events:    &event.Log{DB: h.db},
		Webhooks:  &webhook.Outbox{DB: h.db, Now: h.now},
		Audit:     &audit.Log{DB: h.db},
		PublicURL: publicURL,
	}
	h.door.Profiles.Moved, h.door.Profiles.Resumed, h.door.Profiles.Removed = h.door.Webhooks.Revive, h.door.Webhooks.Resume, h.door.Webhooks.Remove
	h.door.Licenses.Events = h.door.Events
	partnersAPI := &api.API{Licenses: h.door.Licenses, Events: h.door.Events, Webhooks: h.door.Webhooks}
	h.door.Explain, h.door.LicenseEvents, h.door.LicenseResponses = partnersAPI.ExplainLicense, partnersAPI.LicenseEvents, partnersAPI.LicenseResponses
	h.url = wiretest.Serve(t, h.door.Handler())
	h.client = c.Client(t)
	h.furnish()
	return h
}

// furnish puts in what every test starts from.
func (h *house) furnish() {
	h.Helper()
	for _, s := range []account.Scope{account.Read, account.Sell, account.Support, account.Admin} {
		h.tokens[s] = h.token(string(s), s)
	}
	p, _, _, err := h.door.Profiles.Enrol(h.Context(), tester, partner.Draft{Name: "Tide Planner"}, profile.URLs{}, false, partner.Credentials{})
	if err != nil {
		h.Fatal(err)
	}
	h.partner = p.ID
	for tier := 1; tier <= 3; tier++ {
		plan := partner.Plan{Tier: tier, Name: fmt.Sprintf("Tier %d", tier), PriceCents: int64(tier) * 4900, Currency: "EUR"}
		if _, _, err := h.door.Partners.PutPlan(h.Context(), tester, p.ID, plan); err != nil {
			h.Fatal(err)
		}
	}
}

// token makes a token and returns its secret.
func (h *house) token(name string, scopes ...account.Scope) string {
	h.Helper()
	_, secret, err := h.door.Accounts.AddToken(h.Context(), tester, name, scopes, time.Time{}, "")
	if err != nil {
		h.Fatal(err)
	}
	return secret
}

// answer is what came back.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// code is the code of an error answer, "" of any other.
func (a answer) code() string {
	var e struct {
		Error string `json:"error"`
	}
	if a.Status < 400 || json.Unmarshal([]byte(a.Body), &e) != nil {
		return ""
	}
	return e.Error
}

// into reads the answer's body.
func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		t.Fatalf("read the answer %d %s: %v", a.Status, a.Body, err)
	}
}

// send sends a request as the holder of a token; header lines are "Name: value".
// It may be called from any goroutine.
func (h *house) send(token, method, path, body string, header ...string) answer {
	h.Helper()
	return h.sendBy(h.client, token, method, path, body, header...)
}

// sendBy sends by another client than the one that holds everything to the
// contract.
func (h *house) sendBy(client *http.Client, token, method, path, body string, header ...string) answer {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.Error(err)
		return answer{}
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return h.exchange(client, r, token)
}

// do sends a request elsewhere than to the operator API.
func (h *house) do(r *http.Request, token string) answer {
	h.Helper()
	return h.exchange(http.DefaultClient, r, token)
}

func (h *house) exchange(client *http.Client, r *http.Request, token string) answer {
	h.Helper()
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(r)
	if err != nil {
		h.Error(err)
		return answer{}
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Error(err)
	}
	return answer{resp.StatusCode, resp.Header, string(got)}
}

// must sends a request as admin and fails the test unless it is answered so.
func (h *house) must(status int, method, path, body string, header ...string) answer {
	h.Helper()
	a := h.send(h.tokens[account.Admin], method, path, body, header...)
	if a.Status != status {
		h.Fatalf("%s %s %s answered %d, want %d: %s", method, path, body, a.Status, status, a.Body)
	}
	return a
}

// buy buys one license and returns its key.
func (h *house) buy(externalID string) string {
	h.Helper()
	a := h.must(201, "POST", "/operator/v1/purchases", fmt.Sprintf(
		`{"partner_id":%d,"tier":1,"user":{"email":"ada@example.com"},"external_id":%q}`, h.partner, externalID))
	return a.keys(h)[0]
}

// keys are the license keys of a purchase or a refund.
func (a answer) keys(t testing.TB) []string {
	t.Helper()
	var v struct {
		Licenses struct {
			Items []struct {
				Key string `json:"license_key"`
			} `json:"items"`
		} `json:"licenses"`
	}
	a.into(t, &v)
	keys := make([]string, len(v.Licenses.Items))
	for i, l := range v.Licenses.Items {
		keys[i] = l.Key
	}
	return keys
}

// tables are all that a request could change, but for idempotency keys and what
// the database numbers by itself.
var tables = []string{
	"partners", "partner_secrets", "plans", "members", "users", "login_links", "profiles", "licenses", "license_blocks",
	"purchases", "purchase_links", "refunds", "refund_items", "events", "event_blocks", "deliveries", "idempotency_keys", "audit_entries",
}

// counts is how many rows each table has, and a sum over the licenses' facts:
// what must be the same before and after a refused request.
func (h *house) counts() string {
	h.Helper()
	sql := `SELECT 'sum of facts', CAST(coalesce(sum(status * 10 + tier + owner_id + held + epoch), 0) AS bigint) FROM licenses`
	for _, table := range tables {
		sql += ` UNION ALL SELECT '` + table + `', count(*) FROM ` + table
	}
	lines, err := sqldb.All(h.Context(), h.db, func(r *sqldb.Row, line *string) error {
		var name string
		var n int64
		err := r.Scan(&name, &n)
		*line = fmt.Sprintf("%s %d", name, n)
		return err
	}, sql)
	if err != nil {
		h.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// application is what all partners have for an application: it answers 200 at
// /callback, and at /hooks it takes webhooks that one of their secrets signed.
func (h *house) application() string {
	h.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /hooks", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			h.Error(err)
		}
		if !h.signed(r.Header, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"success":true}`)
	})
	return h.listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // it would be another in every run
		mux.ServeHTTP(w, r)
	}))
}

// listen serves a handler until the test ends and returns its URL.
func (h *house) listen(handler http.Handler) string {
	srv := httptest.NewServer(handler)
	h.Cleanup(srv.Close)
	return srv.URL
}

// signed reports whether a partner's secret signed a webhook.
func (h *house) signed(header http.Header, body []byte) bool {
	partners, _, err := h.door.Partners.List(h.Context(), paging.First())
	if err != nil {
		h.Error(err)
	}
	for _, p := range partners {
		secrets, err := h.door.Partners.WebhookSecrets(h.Context(), p.ID)
		if err != nil {
			h.Error(err)
		}
		for _, s := range secrets {
			library, err := standardwebhooks.NewWebhookRaw(courier.StandardKey(s))
			if err == nil && library.VerifyIgnoringTimestamp(body, header) == nil {
				return true
			}
		}
	}
	return false
}
