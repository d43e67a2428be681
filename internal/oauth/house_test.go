package oauth_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/wire"
	"claviger/internal/wire/wiretest"
)

// redirectURL is where our partner's users are sent; it has a query of its own.
const redirectURL = "https://partner.example.com/callback?partner=x"

// issuer is the public URL of the houses that are not reached under another.
const issuer = "https://licensing.example.com"

// house is a world that is served over HTTP, with two partners: ours, whose
// credentials the tests use, and another. Both have their tokens signed with
// ES256, whose keys are made in no time.
type house struct {
	*world
	at       string // where the database is
	contract *wiretest.Contract

	ours, other     partner.Partner
	keys, otherKeys partner.Credentials
	ann             account.User

	url    string // where it is served
	client *http.Client
}

func build(t testing.TB) *house {
	t.Helper()
	h := &house{
		world: &world{TB: t, clock: &clock{now: noon}},
		at:    sqldbtest.URL(t), contract: contractOf(t),
	}
	h.Server = h.node(sqldbtest.OpenWith(t, h.at, sqldb.Options{}))
	h.accounts = &account.Book{DB: h.DB, Now: h.clock.Now}
	h.ours, h.keys = h.enrol("Ours", redirectURL)
	h.other, h.otherKeys = h.enrol("Other", "https://other.example.com/")
	h.ann = h.user("ann")
	h.url = wiretest.Serve(t, wire.NewMux(h.Routes()...))
	h.client = h.contract.Client(t)
	return h
}

// node is a server over a handle of the database, as another machine has it.
func (h *house) node(db *sqldb.DB) *oauth.Server {
	h.Helper()
	box := testBox(h.TB)
	client := courier.New(courier.Options{AllowPrivate: true})
	h.Cleanup(client.Close)
	partners := &partner.Registry{DB: db, Sealer: box, Now: h.clock.Now}
	return &oauth.Server{
		DB: db, Sealer: box, Now: h.clock.Now, Partners: partners,
		Profiles: &profile.Book{DB: db, Partners: partners, Now: h.clock.Now, Check: profile.Checker{Client: client}},
		Licenses: &license.Registry{DB: db, Now: h.clock.Now, Events: &event.Log{DB: db}},
		Keys:     &oauth.Keys{DB: db, Sealer: box, Now: h.clock.Now},
		Issuer:   issuer,
		Life:     oauth.Lifetimes{Code: 10 * time.Minute, Access: time.Hour, Refresh: 30 * 24 * time.Hour},
	}
}

// contractOf is the description that every exchange is held to.
func contractOf(t testing.TB) *wiretest.Contract {
	t.Helper()
	source, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return wiretest.LoadContract(t, source)
}

// on is the same house in a subtest.
func (h *house) on(t testing.TB) *house {
	in, w := *h, *h.world
	w.TB = t
	in.world = &w
	in.client = h.contract.Client(t)
	return &in
}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// enrol makes a partner that sells one tier and is connected.
func (h *house) enrol(name, redirect string) (partner.Partner, partner.Credentials) {
	h.Helper()
	p, _, c, err := h.Profiles.Enrol(h.Context(), theOperator, partner.Draft{Name: name}, profile.URLs{
		Redirect: redirect, Connection: profile.Connection{IDTokenAlg: new(profile.ES256)},
	}, false, partner.Credentials{})
	h.must(err)
	_, _, err = h.Partners.PutPlan(h.Context(), theOperator, p.ID, partner.Plan{Tier: 2, Name: "Tier 2"})
	h.must(err)
	return p, c
}

// buy buys a license for Ann, or whoever takes her part.
func (h *house) buy(p partner.Partner) license.License {
	h.Helper()
	var sold license.Sale
	_, err := h.Licenses.Purchase(h.Context(), theOperator, license.Purchase{PartnerID: p.ID, Tier: 2, Quantity: 1, Buyer: &account.Person{Email: h.ann.Email}},
		func(s license.Sale) []byte {
			sold = s
			return []byte("{}")
		})
	h.must(err)
	return sold.Licenses[0]
}

// accept is Ann's yes to a request; it returns the code.
func (h *house) accept(r oauth.Request, l license.License) string {
	h.Helper()
	by := audit.Actor{Kind: audit.ByUser, ID: h.ann.ID}
	to, _, err := h.Accept(h.Context(), by, r, oauth.Authentication{UserID: h.ann.ID, At: h.clock.Now()}, l.RedemptionID)
	h.must(err)
	u, err := url.Parse(to)
	h.must(err)
	return u.Query().Get("code")
}

// code connects a license at the marketplace.
func (h *house) code(l license.License) string {
	h.Helper()
	r, err := h.MarketplaceRequest(h.Context(), l.PartnerID)
	h.must(err)
	return h.accept(r, l)
}

// asked connects a license of ours as the partner asks for it.
func (h *house) asked(l license.License, params url.Values) string {
	h.Helper()
	params.Set("client_id", h.ours.ClientID)
	params.Set("response_type", "code")
	r, err := h.ParseAuthorize(h.Context(), params)
	h.must(err)
	return h.accept(r, l)
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request. Header lines are "Name: value".
func (h *house) ask(method, target, body string, header ...string) answer {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.url+target, strings.NewReader(body))
	h.must(err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := h.client.Do(r)
	h.must(err)
	got, err := io.ReadAll(resp.Body)
	h.must(err)
	h.must(resp.Body.Close())
	return answer{resp.StatusCode, resp.Header, string(got)}
}

// form is a form with these names and values, one after another; a value that is
// "-" leaves its name out.
func form(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "-" {
			v.Del(pairs[i])
		} else {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

// changed is v with other names and values; see form.
func changed(v url.Values, pairs ...string) url.Values {
	out := url.Values{}
	for name, value := range v {
		out[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "-" {
			out.Del(pairs[i])
		} else {
			out.Set(pairs[i], pairs[i+1])
		}
	}
	return out
}

// exchangeOf is the request that exchanges a code of ours; refreshOf refreshes.
func (h *house) exchangeOf(code string) url.Values {
	return form("grant_type", "authorization_code", "client_id", h.keys.ClientID, "client_secret", h.keys.ClientSecret,
		"redirect_uri", redirectURL, "code", code)
}

func (h *house) refreshOf(token string) url.Values {
	return form("grant_type", "refresh_token", "client_id", h.keys.ClientID, "client_secret", h.keys.ClientSecret, "refresh_token", token)
}

// post sends a form to the token endpoint.
func (h *house) post(v url.Values) answer {
	h.Helper()
	return h.ask("POST", "/openid/token/", v.Encode())
}

// tokens is the answer of the token endpoint.
type tokens struct {
	Access  string  `json:"access_token"`
	Type    string  `json:"token_type"`
	Expires int     `json:"expires_in"`
	Refresh string  `json:"refresh_token"`
	ID      string  `json:"id_token"`
	Error   *string `json:"error"`
}

func (h *house) tokens(a answer) tokens {
	h.Helper()
	if a.status != http.StatusOK {
		h.Fatalf("answered %d %s", a.status, a.body)
	}
	var got tokens
	h.must(json.Unmarshal([]byte(a.body), &got))
	return got
}

// connect buys and connects a license of ours and exchanges its code.
func (h *house) connect() (license.License, tokens) {
	h.Helper()
	l := h.buy(h.ours)
	return l, h.tokens(h.post(h.exchangeOf(h.code(l))))
}

// refused checks that an answer is a refusal of that status and code whose
// description has these words.
func (h *house) refused(a answer, status int, code string, words ...string) {
	h.Helper()
	var got struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != status || got.Error != code {
		h.Errorf("answered %d %s, want %d %s", a.status, a.body, status, code)
	}
	for _, w := range words {
		if !strings.Contains(got.Description, w) {
			h.Errorf("the description %q does not speak of %q", got.Description, w)
		}
	}
}

// opens reports whether an access token serves.
func (h *house) opens(access string) bool {
	h.Helper()
	a := h.ask("GET", "/openid/license_key/?access_token="+access, "")
	if a.status != http.StatusOK && a.status != http.StatusUnauthorized {
		h.Fatalf("answered %d %s", a.status, a.body)
	}
	return a.status == http.StatusOK
}

// audited counts the audit entries of an action.
func (h *house) audited(action string) int {
	h.Helper()
	list, _, err := (&audit.Log{DB: h.DB}).List(h.Context(), audit.Filter{Action: action}, paging.First())
	h.must(err)
	return len(list)
}
