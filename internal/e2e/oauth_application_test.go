package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/devserver"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/wire/wiretest"
)

// devNode starts `claviger dev` in this process; change may alter its configuration.
func devNode(t testing.TB, change func(*devserver.Config)) devserver.Card {
	t.Helper()
	cfg := devserver.Config{App: app.Defaults(app.Dev)}
	cfg.App.Addr = "127.0.0.1:0"
	log := &apptest.Log{}
	log.ShowErrors(t)
	cfg.App.Log = cfg.App.Logger(log)
	if change != nil {
		change(&cfg)
	}
	if cfg.App.DB == "" {
		cfg.App.DB = sqldbtest.URL(t)
	}
	cfg.Prepare = func(s *app.Services) { apptest.Cheapen(s, cfg.App.DB, 2048) }
	e, err := devserver.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v", err)
		}
	})
	return e.Card()
}

// application is a partner's program that connects users at one node.
type application struct {
	testing.TB
	card     devserver.Card
	redirect string
	client   *http.Client
}

// newApplication returns the seeded partner's program. It treats any redirect as an error, and
// checks every exchange against the service's description.
func newApplication(t testing.TB, card devserver.Card) *application {
	t.Helper()
	p := read[struct {
		Redirect string `json:"redirect_url"`
	}](t, caller{base: card.BaseURL, token: card.Partner.APIKey}.must(t, 200, "GET", "/v2/profile", nil))
	described := caller{base: card.BaseURL}.must(t, 200, "GET", "/openid/openapi.json", nil)
	client := wiretest.Shared(t, described.body).Client(t)
	client.CheckRedirect = func(r *http.Request, _ []*http.Request) error { return errors.New("redirected to " + r.URL.Path) }
	return &application{TB: t, card: card, redirect: p.Redirect, client: client}
}

// in returns the same program for the test t.
func (a *application) in(t testing.TB) *application {
	copied := *a
	copied.TB = t
	return &copied
}

// at returns the same program for another node.
func (a *application) at(base string) *application {
	copied := *a
	copied.card.BaseURL = base
	return &copied
}

// visitor returns the seeded buyer in a new browser.
func (a *application) visitor() *visitor {
	a.Helper()
	return newVisitor(a, a.card.BaseURL, a.card.Buyer)
}

// sells sells the buyer a license and returns its key.
func (a *application) sells(order string) string {
	a.Helper()
	operator := caller{base: a.card.BaseURL, token: a.card.OperatorToken}
	sold := read[sale](a, operator.must(a, 201, "POST", "/operator/v1/purchases", object{
		"partner_id": a.card.Partner.ID, "tier": 2, "external_id": order, "user": object{"email": a.card.Buyer.Email},
	}))
	return sold.Licenses.Items[0].Key
}

// start returns the address that the application sends users to. Pairs of names and values change
// the usual parameters; an empty value removes one.
func (a *application) start(pairs ...string) string {
	return a.card.AuthURL + "/openid/authorize?" + a.request(pairs...).Encode()
}

// request returns the parameters of an authorization request.
func (a *application) request(pairs ...string) url.Values {
	q := url.Values{
		"response_type": {"code"}, "client_id": {a.card.Partner.ClientID}, "redirect_uri": {a.redirect},
		"scope": {"openid"}, "state": {"the state"}, "nonce": {"the nonce"},
	}
	return altered(q, pairs)
}

func altered(q url.Values, pairs []string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return q
}

// code returns the code of a successful answer.
func (a *application) code(back *url.URL) string {
	a.Helper()
	q := back.Query()
	if q.Get("code") == "" || q.Has("error") || q.Get("state") != "the state" || q.Get("iss") != a.card.AuthURL {
		a.Fatalf("the answer is %s", back)
	}
	return q.Get("code")
}

// tokens is the answer to an exchange or a refresh.
type tokens struct {
	Access    string  `json:"access_token"`
	Refresh   string  `json:"refresh_token"`
	ID        string  `json:"id_token"`
	Type      string  `json:"token_type"`
	ExpiresIn int     `json:"expires_in"`
	Error     *string `json:"error"`
}

// refused is an OAuth error.
type refused struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// exchangeOf returns the body that exchanges a code, changed by pairs as in start.
func (a *application) exchangeOf(code string, pairs ...string) url.Values {
	return altered(url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {a.redirect},
		"client_id": {a.card.Partner.ClientID}, "client_secret": {a.card.Partner.ClientSecret},
	}, pairs)
}

// refreshOf returns the body of a refresh.
func (a *application) refreshOf(token string, pairs ...string) url.Values {
	return altered(url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {token},
		"client_id": {a.card.Partner.ClientID}, "client_secret": {a.card.Partner.ClientSecret},
	}, pairs)
}

// ask sends a request of the application. A body that is no form is sent as JSON; headers alternate
// names and values.
func (a *application) ask(method, path string, body any, headers ...string) answer {
	a.Helper()
	got, err := a.call(method, path, body, headers...)
	if err != nil {
		a.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

func (a *application) call(method, path string, body any, headers ...string) (answer, error) {
	kind, sent, err := encoded(body)
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequestWithContext(a.Context(), method, a.card.BaseURL+path, bytes.NewReader(sent))
	if err != nil {
		return answer{}, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // It was read.
	got, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, got}, err
}

// encoded returns a body as sent, and its type.
func encoded(body any) (kind string, sent []byte, err error) {
	switch b := body.(type) {
	case nil:
		return "", nil, nil
	case url.Values:
		return "application/x-www-form-urlencoded", []byte(b.Encode()), nil
	case []byte: // claims to be JSON
		return "application/json", b, nil
	default:
		sent, err = json.Marshal(b)
		return "application/json", sent, err
	}
}

// gets sends a token request that must succeed.
func (a *application) gets(form url.Values) tokens {
	a.Helper()
	return a.given(a.ask("POST", "/openid/token/", form))
}

// given decodes a complete answer.
func (a *application) given(got answer) tokens {
	a.Helper()
	if got.status != http.StatusOK {
		a.Fatalf("the token request was answered %d: %s", got.status, got.body)
	}
	t := read[tokens](a, got)
	if t.Access == "" || t.Refresh == "" || t.ID == "" || t.Type != "bearer" || t.ExpiresIn <= 0 {
		a.Fatalf("the token answer is not whole: %s", got.body)
	}
	return t
}

// denied fails unless an answer is this refusal.
func (a *application) denied(got answer, status int, code string) {
	a.Helper()
	if r := read[refused](a, got); got.status != status || r.Error != code || r.Description == "" {
		a.Errorf("answered %d %s, want %d %s", got.status, got.body, status, code)
	}
}

// opens returns the license key for a token, or the status of the refusal.
func (a *application) opens(access string) (key string, status int) {
	a.Helper()
	got := a.ask("GET", "/openid/license_key/?access_token="+access, nil)
	return read[licenseLine](a, got).Key, got.status
}

// keys returns the published keys of the application's node.
func (a *application) keys() jose.JSONWebKeySet {
	a.Helper()
	return read[jose.JSONWebKeySet](a, a.ask("GET", "/openid/jwks", nil))
}

// identity verifies an identity token with the keys, and returns its claims and the id of the
// signing key.
func (a *application) identity(token string, keys jose.JSONWebKeySet) (claims map[string]any, kid string) {
	a.Helper()
	signed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		a.Fatalf("the identity token: %v", err)
	}
	text, err := signed.Verify(keys)
	if err != nil {
		a.Fatalf("the identity token is not signed by a published key: %v", err)
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		a.Fatal(err)
	}
	return claims, signed.Signatures[0].Header.KeyID
}

// asObject returns a form as JSON, which many programs send instead.
func asObject(form url.Values) object {
	o := object{}
	for name := range maps.Keys(form) {
		o[name] = form.Get(name)
	}
	return o
}

// bearer returns the header of an access token.
func bearer(access string) []string { return []string{"Authorization", "Bearer " + access} }

// challengeOf returns the S256 challenge of a verifier.
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// verifier is long enough for PKCE.
var verifier = strings.Repeat("verifier-", 6)

// number returns a claim that is a time or a tier.
func number(claims map[string]any, name string) int64 {
	f, _ := claims[name].(float64)
	return int64(f)
}

// seconds formats a number of seconds as a parameter.
func seconds(n int) string { return strconv.Itoa(n) }
