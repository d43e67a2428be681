package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/api"
	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
	"claviger/internal/wire/wiretest"
)

// publicURL is what the redemption and change-plan URLs begin with.
const publicURL = "https://licensing.example.com"

// house is the rooms that the door leads to, and two partners: ours, by whose
// key the tests call, and another, of whom ours must see nothing.
type house struct {
	testing.TB
	api.API
	db       *sqldb.DB
	accounts *account.Book
	clock    *clock

	ours, other       partner.Partner
	oursKey, otherKey string
	oursSecret        string // of our webhooks
}

var tester = audit.System("test")

// clock goes on by a second whenever it is looked at, so that no two acts have
// the same time; once stopped, it is the machine's.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Now().UTC().Truncate(time.Microsecond)
	}
	c.at = c.at.Add(time.Second)
	return c.at
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}

func build(t testing.TB) *house {
	t.Helper()
	db := sqldbtest.Open(t)
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{at: time.Date(2026, 11, 15, 9, 30, 0, 0, time.UTC)}
	client := courier.New(courier.Options{AllowPrivate: true})
	t.Cleanup(client.Close)
	partners := &partner.Registry{DB: db, Sealer: box, Now: c.now}
	h := &house{
		TB: t, db: db, clock: c,
		accounts: &account.Book{DB: db, Now: c.now},
		API: api.API{
			Partners:  partners,
			Licenses:  &license.Registry{DB: db, Now: c.now},
			Events:    &event.Log{DB: db},
			Webhooks:  &webhook.Outbox{DB: db, Now: c.now},
			Profiles:  &profile.Book{DB: db, Partners: partners, Now: c.now, Check: profile.Checker{Client: client}},
			PublicURL: publicURL,
			Brand:     "Acme",
		},
	}
	h.Profiles.Moved = h.Webhooks.Revive
	h.Licenses.Events = h.Events
	h.ours, h.oursKey, h.oursSecret = h.enrol("Ours")
	h.other, h.otherKey, _ = h.enrol("Other")
	return h
}

// on is the same house in a subtest.
func (h *house) on(t testing.TB) *house {
	in := *h
	in.TB = t
	return &in
}

// enrol makes a partner that sells tiers 1 to 3, and returns its API key and its
// webhook secret.
func (h *house) enrol(name string) (p partner.Partner, key, webhookSecret string) {
	h.Helper()
	p, _, c, err := h.Profiles.Enrol(h.Context(), tester, partner.Draft{Name: name}, profile.URLs{}, false, partner.Credentials{})
	h.must(err)
	for tier := 1; tier <= 3; tier++ {
		_, _, err := h.Partners.PutPlan(h.Context(), tester, p.ID, partner.Plan{Tier: tier, Name: "Tier " + strconv.Itoa(tier)})
		h.must(err)
	}
	return p, c.APIKey, c.WebhookSecret
}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// buy buys one license for somebody, or for nobody yet.
func (h *house) buy(p partner.Partner, tier int, buyer *account.Person) license.License {
	h.Helper()
	var sold license.Sale
	_, err := h.Licenses.Purchase(h.Context(), tester, license.Purchase{PartnerID: p.ID, Tier: tier, Quantity: 1, Buyer: buyer},
		func(s license.Sale) []byte {
			sold = s
			return []byte("{}")
		})
	h.must(err)
	return sold.Licenses[0]
}

// story is what most tests read: a license in each status, one of them with a
// history, and one of the other partner.
type story struct {
	inactive, active, deactivated, foreign license.License
	foreignEvent, foreignContact           int64
}

func (h *house) tell() story {
	h.Helper()
	var s story
	ann, bob := &account.Person{Email: "ann@example.com"}, &account.Person{Email: "bob@example.com"}
	s.inactive = h.buy(h.ours, 1, nil)
	s.active = h.buy(h.ours, 1, ann)
	s.deactivated = h.buy(h.ours, 3, bob)
	s.foreign = h.buy(h.other, 1, ann)

	_, err := h.Licenses.Activate(h.Context(), tester, s.active.Key, nil)
	h.must(err)
	_, err = h.Licenses.ChangePlan(h.Context(), tester, s.active.Key, license.PlanChange{Tier: 2}, func(license.License) []byte { return nil })
	h.must(err)
	_, err = h.Licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: s.deactivated.Key}, func(license.Refund) []byte { return nil })
	h.must(err)

	list, err := h.Events.List(h.Context(), h.other.ID, event.Filter{}, paging.First())
	h.must(err)
	s.foreignEvent = list.Events[0].ID
	c, err := h.Profiles.AddContact(h.Context(), tester, h.other.ID, "Eve", "eve@other.example.com")
	h.must(err)
	s.foreignContact = c.ID
	return s
}

// record writes n responses to the newest event of a license, as deliveries
// will: each second one failed, the last did not reach anybody.
func (h *house) record(l license.License, n int) {
	h.Helper()
	list, err := h.Events.OfLicense(h.Context(), l.ID, event.Filter{}, paging.First())
	h.must(err)
	e := list.Events[0]
	h.must(h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		for i := 1; i <= n; i++ {
			status, body, success := 200, `{"success":true}`, true
			switch {
			case i == n:
				status, body, success = 0, "connection refused", false
			case i%2 == 0:
				status, body, success = 404, "<h1>Not \"found\"</h1>\n", false
			}
			at := h.clock.now()
			tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time,
				url, success, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
				e.ID, "Content-Type: application/json; charset=UTF-8\nUser-Agent: claviger", status, body, i,
				"https://partner.example.com/webhook", success, at)
		}
		return nil
	}))
}

// application is our own application: it answers 200 at /welcome, takes webhooks
// that are signed well at /webhook, and any at /careless. At /mistaken it checks
// the signature of the body alone.
func (h *house) application() string {
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
		w.Header()["Date"] = nil // it would be another in every run
		mux.ServeHTTP(w, r)
	}))
	h.Cleanup(srv.Close)
	return srv.URL
}

// serve serves the door over HTTP and returns its URL.
func (h *house) serve() string { return wiretest.Serve(h.TB, h.Handler()) }

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends one request with our key. Header lines are "Name: value".
func (h *house) ask(client *http.Client, method, url, body string, header ...string) answer {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, url, strings.NewReader(body))
	h.must(err)
	r.Header.Set("Authorization", "Bearer "+h.oursKey)
	for _, line := range header {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	resp, err := client.Do(r)
	h.must(err)
	got, err := io.ReadAll(resp.Body)
	h.must(err)
	h.must(resp.Body.Close())
	return answer{resp.StatusCode, resp.Header, string(got)}
}
