package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/answers"
	"claviger/internal/api"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/wire/wiretest"
)

// publicURL is the prefix of the redemption and change-plan URLs.
const publicURL = "https://licensing.example.com"

// harness is the partner API of an application with two partners: ours, with the key that the tests
// use, and another, with data that ours must never see.
type harness struct {
	*apptest.Harness
	api.API
	clock *apptest.Clock

	ours, other       partner.Partner
	oursKey, otherKey string
	oursSecret        string // of our webhooks
}

var tester = apptest.Tester

func newHarness(t testing.TB) *harness {
	t.Helper()
	clock := apptest.TickingClock(time.Date(2026, 11, 15, 9, 30, 0, 0, time.UTC))
	a := apptest.New(t, clock.Set, func(cfg *app.Config) {
		cfg.PublicURL = publicURL
		cfg.Retry, cfg.ParkAfter, cfg.ProbeEvery = []time.Duration{time.Hour}, time.Hour, time.Hour
	})
	h := &harness{
		Harness: a, clock: clock,
		API: api.API{
			Common: answers.Common{
				Partners: a.Partners, Licenses: a.Licenses, Events: a.Events, History: a.History, Redeliveries: a.Redeliveries,
				Requests: a.Requests, Exports: a.Exports, Stats: a.Stats, Statements: a.Statements, PublicURL: publicURL,
			},
			Webhooks: a.Webhooks, Profiles: a.Profiles,
			Portal: api.Portal{Policy: webhook.Policy{ParkAfter: time.Hour, ProbeEvery: 5 * time.Minute}, Audit: a.Audit, Accounts: a.Accounts, TestMail: a.TestMail, Simulator: a.Simulator},
			Brand:  "Acme",
		},
	}
	h.ours, h.oursKey, h.oursSecret = h.enrol("Ours")
	h.other, h.otherKey, _ = h.enrol("Other")
	return h
}

// in returns the harness for a subtest.
func (h *harness) in(t testing.TB) *harness {
	in := *h
	in.Harness = h.In(t)
	return &in
}

// enrol creates a partner that sells tiers 1 to 3, and returns its API key and its webhook secret.
func (h *harness) enrol(name string) (p partner.Partner, key, webhookSecret string) {
	h.Helper()
	p, c := h.Partner(name, profile.URLs{})
	h.Plans(p.ID, 3, partner.Plan{})
	return p, c.APIKey, c.WebhookSecret
}

// buyTier sells one license; buyer may be nil.
func (h *harness) buyTier(p partner.Partner, tier int, buyer *account.Person) license.License {
	h.Helper()
	return h.Buy(license.Purchase{PartnerID: p.ID, Tier: tier, Buyer: buyer})
}

// fixture has the data of most tests: a license in each status, one of them with a history, and one
// of the other partner.
type fixture struct {
	inactive, active, deactivated, foreign license.License
	foreignEvent, foreignContact           int64
}

func (h *harness) licenses() fixture {
	h.Helper()
	var s fixture
	ann, bob := &account.Person{Email: "ann@example.com"}, &account.Person{Email: "bob@example.com"}
	s.inactive = h.buyTier(h.ours, 1, nil)
	s.active = h.buyTier(h.ours, 1, ann)
	s.deactivated = h.buyTier(h.ours, 3, bob)
	s.foreign = h.buyTier(h.other, 1, ann)

	_, err := h.API.Licenses.Activate(h.Context(), tester, s.active.Key, nil)
	h.Must(err)
	_, err = h.API.Licenses.ChangePlan(h.Context(), tester, s.active.Key, license.PlanChange{Tier: 2})
	h.Must(err)
	_, err = h.API.Licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: s.deactivated.Key})
	h.Must(err)

	list, err := h.API.Events.List(h.Context(), h.other.ID, event.Filter{}, paging.First())
	h.Must(err)
	s.foreignEvent = list.Events[0].ID
	c, err := h.Profiles.AddContact(h.Context(), tester, h.other.ID, "Eve", "eve@other.example.com")
	h.Must(err)
	s.foreignContact = c.ID
	return s
}

// record writes n responses to the newest event of a license, as deliveries do: every second one
// failed, the last reached no server.
func (h *harness) record(l license.License, n int) {
	h.Helper()
	list, err := h.API.Events.OfLicense(h.Context(), l.ID, event.Filter{}, paging.First())
	h.Must(err)
	e := list.Events[0]
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		for i := 1; i <= n; i++ {
			status, body, success := 200, `{"success":true}`, true
			switch {
			case i == n:
				status, body, success = 0, "connection refused", false
			case i%2 == 0:
				status, body, success = 404, "<h1>Not \"found\"</h1>\n", false
			}
			at := h.clock.Now()
			tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time,
				url, success, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
				e.ID, "Content-Type: application/json; charset=UTF-8\nUser-Agent: claviger", status, body, i,
				"https://partner.example.com/webhook", success, at)
		}
		return nil
	}))
}

// application is our own application: it answers 200 at /welcome, accepts correctly signed webhooks
// at /webhook, and all at /careless. At /mistaken it checks the signature of the body alone.
func (h *harness) application() string {
	h.Helper()
	answer := func(takes func(r *http.Request, body string) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				h.Error(err)
			}
			if !takes(r, string(body)) {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"success":false,"message":"wrong signature"}`)
				return
			}
			_, _ = io.WriteString(w, `{"success":true}`)
		}
	}
	signs := func(r *http.Request, text string) bool {
		return r.Header.Get("X-Licensing-Signature") == brandSign(h.oursSecret, text)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /welcome", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /webhook", answer(func(r *http.Request, body string) bool {
		return signs(r, r.Header.Get("X-Licensing-Timestamp")+body)
	}))
	mux.HandleFunc("POST /mistaken", answer(signs))
	mux.HandleFunc("POST /careless", answer(func(*http.Request, string) bool { return true }))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // it would differ in every run
		mux.ServeHTTP(w, r)
	}))
	h.Cleanup(srv.Close)
	return srv.URL
}

// serve serves the API over HTTP and returns its URL.
func (h *harness) serve() string { return wiretest.Serve(h.TB, h.Handler()) }

type answer = apptest.Answer

// ask sends one request with our key. Header lines are "Name: value".
func (h *harness) ask(client *http.Client, method, url, body string, header ...string) answer {
	h.Helper()
	return apptest.Send(h, client, method, url, body, append([]string{"Authorization: Bearer " + h.oursKey}, header...)...)
}
