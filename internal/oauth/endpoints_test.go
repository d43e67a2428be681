package oauth_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/wire"
	"claviger/internal/wire/wiretest"
)

// redirectURL is our partner's redirect URL; it has its own query.
const redirectURL = "https://partner.example.com/callback?partner=x"

// issuer is the public URL of the endpoints.
const issuer = "https://licensing.example.com"

// endpoints is the authorization server over HTTP, with two partners: ours, whose credentials the
// tests use, and another. Their tokens are signed with ES256, because its keys are made quickly.
type endpoints struct {
	*harness
	contract *wiretest.Contract

	ours, other     partner.Partner
	keys, otherKeys partner.Credentials
	ann             account.User

	url    string // base URL
	client *http.Client
}

func newEndpoints(t testing.TB) *endpoints {
	t.Helper()
	h := &endpoints{harness: newHarnessAt(t, issuer), contract: wiretest.SharedContract(t, "openapi.json")}
	h.ours, h.keys = h.enrol("Ours", redirectURL)
	h.other, h.otherKeys = h.enrol("Other", "https://other.example.com/")
	h.ann = h.user("ann")
	h.url = wiretest.Serve(t, wire.NewMux(h.Routes()...))
	h.client = h.contract.Client(t)
	return h
}

// in returns the same endpoints for a subtest.
func (h *endpoints) in(t testing.TB) *endpoints {
	in, base := *h, *h.harness
	base.Harness = h.In(t)
	in.harness = &base
	in.client = h.contract.Client(t)
	return &in
}

// enrol makes a connected partner that sells one tier.
func (h *endpoints) enrol(name, redirect string) (partner.Partner, partner.Credentials) {
	h.Helper()
	p, _, c, err := h.Profiles.Enrol(h.Context(), theOperator, partner.Draft{Name: name}, profile.URLs{
		Redirect: redirect, Connection: profile.Connection{IDTokenAlg: new(profile.ES256)},
	}, false, partner.Credentials{})
	h.Must(err)
	_, _, err = h.Partners.PutPlan(h.Context(), theOperator, p.ID, partner.Plan{Tier: 2, Name: "Tier 2"})
	h.Must(err)
	return p, c
}

// buy buys a license for h's user, Ann by default.
func (h *endpoints) buy(p partner.Partner) license.License {
	h.Helper()
	sold, err := h.Licenses.Purchase(h.Context(), theOperator, license.Purchase{PartnerID: p.ID, Tier: 2, Quantity: 1, Buyer: &account.Person{Email: h.ann.Email}})
	h.Must(err)
	return sold.Licenses[0]
}

// accept accepts a request as Ann and returns the code.
func (h *endpoints) accept(r oauth.Request, l license.License) string {
	h.Helper()
	by := audit.Actor{Kind: audit.ByUser, ID: h.ann.ID}
	to, _, err := h.Accept(h.Context(), by, r, oauth.Authentication{UserID: h.ann.ID, At: h.clock.Now()}, l.RedemptionID)
	h.Must(err)
	u, err := url.Parse(to)
	h.Must(err)
	return u.Query().Get("code")
}

// code connects a license at the marketplace.
func (h *endpoints) code(l license.License) string {
	h.Helper()
	r, err := h.MarketplaceRequest(h.Context(), l.PartnerID)
	h.Must(err)
	return h.accept(r, l)
}

// asked connects a license of ours by the partner's request.
func (h *endpoints) asked(l license.License, params url.Values) string {
	h.Helper()
	params.Set("client_id", h.ours.ClientID)
	params.Set("response_type", "code")
	r, err := h.ParseAuthorize(h.Context(), params)
	h.Must(err)
	return h.accept(r, l)
}

type answer = apptest.Answer

// ask sends a request. Header lines are "Name: value".
func (h *endpoints) ask(method, target, body string, header ...string) answer {
	h.Helper()
	if method == http.MethodPost {
		header = append([]string{"Content-Type: application/x-www-form-urlencoded"}, header...)
	}
	return apptest.Send(h, h.client, method, h.url+target, body, header...)
}

// form returns a form with alternating names and values; the value "-" leaves its name out.
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

// changed returns v with changed names and values; see form.
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

// exchangeOf returns the request that exchanges a code of ours.
func (h *endpoints) exchangeOf(code string) url.Values {
	return form("grant_type", "authorization_code", "client_id", h.keys.ClientID, "client_secret", h.keys.ClientSecret,
		"redirect_uri", redirectURL, "code", code)
}

func (h *endpoints) refreshOf(token string) url.Values {
	return form("grant_type", "refresh_token", "client_id", h.keys.ClientID, "client_secret", h.keys.ClientSecret, "refresh_token", token)
}

// post sends a form to the token endpoint.
func (h *endpoints) post(v url.Values) answer {
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

func (h *endpoints) tokens(a answer) tokens {
	h.Helper()
	if a.Status != http.StatusOK {
		h.Fatalf("answered %d %s", a.Status, a.Body)
	}
	var got tokens
	h.Must(json.Unmarshal([]byte(a.Body), &got))
	return got
}

// connect buys and connects a license of ours and exchanges its code.
func (h *endpoints) connect() (license.License, tokens) {
	h.Helper()
	l := h.buy(h.ours)
	return l, h.tokens(h.post(h.exchangeOf(h.code(l))))
}

// refused checks that an answer is a refusal with this status and code, and these words in its
// description.
func (h *endpoints) refused(a answer, status int, code string, words ...string) {
	h.Helper()
	var got struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != status || got.Error != code {
		h.Errorf("answered %d %s, want %d %s", a.Status, a.Body, status, code)
	}
	if strings.ContainsFunc(got.Description, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
		h.Errorf("the description %q has characters that OAuth does not allow", got.Description)
	}
	for _, w := range words {
		if !strings.Contains(got.Description, w) {
			h.Errorf("the description %q does not speak of %q", got.Description, w)
		}
	}
}

// opens reports whether an access token is accepted.
func (h *endpoints) opens(access string) bool {
	h.Helper()
	a := h.ask("GET", "/openid/license_key/?access_token="+access, "")
	if a.Status != http.StatusOK && a.Status != http.StatusUnauthorized {
		h.Fatalf("answered %d %s", a.Status, a.Body)
	}
	return a.Status == http.StatusOK
}

// audited counts the audit entries of an action.
func (h *endpoints) audited(action string) int {
	h.Helper()
	list, _, err := (&audit.Log{DB: h.DB}).List(h.Context(), audit.Filter{Action: action}, paging.First())
	h.Must(err)
	return len(list)
}
