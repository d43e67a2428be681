package operator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"claviger/internal/account"
	"claviger/internal/answers"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/courier"
	"claviger/internal/operator"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/wire/wiretest"
)

// publicURL is the public address of the service in these tests.
const publicURL = "https://market.example"

// harness is the operator API of an application with one partner that sells the
// tiers 1 to 3, and a token of each scope.
type harness struct {
	*apptest.Harness
	operator *operator.Operator
	clock    *apptest.Clock
	contract *wiretest.Contract
	client   *http.Client
	url      string
	tokens   map[account.Scope]string
	partner  int64
}

var tester = apptest.Tester

func newHarness(t testing.TB) *harness {
	t.Helper()
	return newHarnessWith(t, wiretest.SharedContract(t, "openapi.json"))
}

// newHarnessWith builds a harness whose every exchange must follow the contract.
func newHarnessWith(t testing.TB, c *wiretest.Contract) *harness {
	t.Helper()
	clock := apptest.TickingClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	a := apptest.New(t, clock.Set, func(cfg *app.Config) {
		cfg.PublicURL, cfg.Retry, cfg.ParkAfter, cfg.ProbeEvery = publicURL, nil, time.Hour, time.Hour
	})
	h := &harness{Harness: a, clock: clock, contract: c, client: c.Client(t), tokens: map[account.Scope]string{}}
	h.operator = &operator.Operator{
		Common: answers.Common{
			Partners: a.Partners, Licenses: a.Licenses, Events: a.Events, History: a.History, Redeliveries: a.Redeliveries,
			Requests: a.Requests, Exports: a.Exports, Stats: a.Stats, Statements: a.Statements, PublicURL: publicURL,
		},
		Accounts: a.Accounts, Accounting: a.Accounting, Payouts: a.Payouts, Merges: a.Merges, Profiles: a.Profiles, Webhooks: a.Webhooks, Audit: a.Audit, Bulk: a.Bulk, Support: a.Support, TestMail: a.TestMail, Payments: a.Payments,
		Data: &answers.Person{
			Accounts: a.Accounts, Partners: a.Partners, Licenses: a.Licenses, OAuth: a.OAuth, Payments: a.Payments, Now: a.Accounts.Now,
		},
		Service: operator.Service{
			DB: a.DB, Today: a.Today, Mail: a.Mail, Keys: a.OAuth.Keys, Stats: a.Stats, Revenue: a.Revenue,
			Settings: []operator.Setting{{Name: "secret-key", Value: "(hidden)", From: "CLAVIGER_SECRET_KEY"}},
		},
	}
	h.url = wiretest.Serve(t, h.operator.Handler())
	for _, s := range []account.Scope{account.Read, account.Sell, account.Support, account.Admin} {
		h.tokens[s] = h.Token(string(s), s)
	}
	p, _ := h.Partner("Tide Planner", profile.URLs{})
	h.Plans(p.ID, 3, partner.Plan{PriceCents: 4900, Currency: "EUR"})
	h.partner = p.ID
	return h
}

type answer = apptest.Answer

// send sends a request with a token; header lines are "Name: value". It may be called from any
// goroutine.
func (h *harness) send(token, method, path, body string, header ...string) answer {
	h.Helper()
	return h.sendBy(h.client, token, method, path, body, header...)
}

// sendBy sends with another client than the one that checks the contract.
func (h *harness) sendBy(client *http.Client, token, method, path, body string, header ...string) answer {
	h.Helper()
	if body != "" {
		header = append([]string{"Content-Type: application/json"}, header...)
	}
	if token != "" {
		header = append(header, "Authorization: Bearer "+token)
	}
	return apptest.Send(h, client, method, h.url+path, body, header...)
}

// must sends a request as admin and fails the test unless the answer has the status.
func (h *harness) must(status int, method, path, body string, header ...string) answer {
	h.Helper()
	a := h.send(h.tokens[account.Admin], method, path, body, header...)
	if a.Status != status {
		h.Fatalf("%s %s %s answered %d, want %d: %s", method, path, body, a.Status, status, a.Body)
	}
	return a
}

// buy buys one license and returns its key.
func (h *harness) buy(externalID string) string {
	h.Helper()
	a := h.must(201, "POST", "/operator/v1/purchases", fmt.Sprintf(
		`{"partner_id":%d,"tier":1,"user":{"email":"ada@example.com"},"external_id":%q}`, h.partner, externalID))
	return keysOf(h, a)[0]
}

// keysOf returns the license keys of a purchase or a refund.
func keysOf(t testing.TB, a answer) []string {
	t.Helper()
	var v struct {
		Licenses struct {
			Items []struct {
				Key string `json:"license_key"`
			} `json:"items"`
		} `json:"licenses"`
	}
	a.Into(t, &v)
	keys := make([]string, len(v.Licenses.Items))
	for i, l := range v.Licenses.Items {
		keys[i] = l.Key
	}
	return keys
}

// tables are all tables that a request could change, except idempotency keys and the database's own
// counters.
var tables = []string{
	"partners", "partner_secrets", "plans", "members", "users", "login_links", "profiles", "licenses", "license_blocks",
	"purchases", "purchase_links", "refunds", "refund_items", "events", "event_blocks", "deliveries", "idempotency_keys", "audit_entries",
}

// counts returns the number of rows of each table and a sum over the licenses' facts. They must not
// change in a refused request.
func (h *harness) counts() string {
	h.Helper()
	sql := `SELECT 'sum of facts', CAST(coalesce(sum(status * 10 + tier + owner_id + held + epoch), 0) AS bigint) FROM licenses`
	for _, table := range tables {
		sql += ` UNION ALL SELECT '` + table + `', count(*) FROM ` + table
	}
	lines, err := sqldb.All(h.Context(), h.DB, func(r *sqldb.Row, line *string) error {
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

// application serves all partners: it answers 200 at /callback, and accepts webhooks at /hooks that
// one of their secrets signed.
func (h *harness) application() string {
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
		w.Header()["Date"] = nil // it would differ in every run
		mux.ServeHTTP(w, r)
	}))
}

// listen serves a handler until the test ends and returns its URL.
func (h *harness) listen(handler http.Handler) string {
	srv := httptest.NewServer(handler)
	h.Cleanup(srv.Close)
	return srv.URL
}

// signed reports whether a partner's secret signed a webhook.
func (h *harness) signed(header http.Header, body []byte) bool {
	partners, _, err := h.operator.Partners.List(h.Context(), paging.First())
	if err != nil {
		h.Error(err)
	}
	for _, p := range partners {
		secrets, err := h.operator.Partners.WebhookSecrets(h.Context(), p.ID)
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
