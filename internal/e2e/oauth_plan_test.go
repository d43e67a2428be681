package e2e_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestBasicPlan ports the modules of OpenID's basic certification plan, under
// their own names. Of its 38 these are elsewhere or not here at all:
//
//   - oidcc-idtoken-unsigned: an unsigned identity token is never made.
//   - oidcc-max-age-1 and oidcc-codereuse-30seconds want time to pass, and this
//     service has the real clock; the half of them that needs none is here, the rest
//     is in the packages (shop: TestPrompts, oauth: TestCodeUsedAgain).
func TestBasicPlan(t *testing.T) {
	t.Parallel()
	a := newApplication(t, devNode(t, nil))
	key := a.sells("order-1")
	a.code(a.visitor().connects(a.start(), a.redirect)) // the first consent

	for _, module := range planModules {
		t.Run(module.name, func(t *testing.T) { module.run(&plan{application: a.in(t), license: key}) })
	}
}

// plan is the context of a module.
type plan struct {
	*application
	license string
}

// module is a module of the plan, by its name there.
type module struct {
	name string
	run  func(*plan)
}

var planModules = slices.Concat([]module{
	{"oidcc-server", (*plan).server},
	{"oidcc-response-type-missing", (*plan).responseTypeMissing},
	{"oidcc-idtoken-signature", (*plan).idTokenSignature},
	{"oidcc-userinfo-get", func(p *plan) {
		p.userinfo(func(access string) answer { return p.ask("GET", "/openid/userinfo", nil, bearer(access)...) })
	}},
	{"oidcc-userinfo-post-header", func(p *plan) {
		p.userinfo(func(access string) answer { return p.ask("POST", "/openid/userinfo", nil, bearer(access)...) })
	}},
	{"oidcc-userinfo-post-body", func(p *plan) {
		p.userinfo(func(access string) answer {
			return p.ask("POST", "/openid/userinfo", url.Values{"access_token": {access}})
		})
	}},
	{"oidcc-ensure-request-without-nonce-succeeds-for-code-flow", (*plan).withoutNonce},
	{"oidcc-prompt-login", (*plan).promptLogin},
	{"oidcc-prompt-none-not-logged-in", (*plan).promptNoneOutside},
	{"oidcc-prompt-none-logged-in", (*plan).promptNoneInside},
	{"oidcc-max-age-1", func(p *plan) { p.maxAge(1) }},
	{"oidcc-max-age-10000", func(p *plan) { p.maxAge(10000) }},
	{"oidcc-codereuse", (*plan).codeReuse},
	{"oidcc-ensure-registered-redirect-uri", (*plan).foreignRedirect},
	{"oidcc-ensure-post-request-succeeds", (*plan).postRequest},
	{"oidcc-server-client-secret-post", (*plan).secretInTheBody},
	{"oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported", func(p *plan) {
		p.back(p.start("request", unsigned), "request_not_supported")
	}},
	{"oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported", func(p *plan) {
		p.back(p.start("request_uri", "https://app.example/request"), "request_uri_not_supported")
	}},
	{"oidcc-ensure-request-object-with-redirect-uri", func(p *plan) {
		p.back(p.start("request", unsigned, "redirect_uri", ""), "request_not_supported")
	}},
	{"oidcc-refresh-token", (*plan).refreshToken},
	{"oidcc-ensure-request-with-valid-pkce-succeeds", (*plan).pkce},
}, ignoredModules())

// unsigned is a request object with the algorithm "none".
const unsigned = "eyJhbGciOiJub25lIn0.eyJyZWRpcmVjdF91cmkiOiJodHRwczovL2Vsc2UuZXhhbXBsZSJ9."

// ignoredModules send parameters that must be harmless.
func ignoredModules() []module {
	var list []module
	for _, m := range []struct {
		name string
		sent []string
	}{
		{"oidcc-scope-profile", []string{"scope", "openid profile"}},
		{"oidcc-scope-email", []string{"scope", "openid email"}},
		{"oidcc-scope-address", []string{"scope", "openid address"}},
		{"oidcc-scope-phone", []string{"scope", "openid phone"}},
		{"oidcc-scope-all", []string{"scope", "openid profile email address phone"}},
		{"oidcc-ensure-other-scope-order-succeeds", []string{"scope", "email openid"}},
		{"oidcc-display-page", []string{"display", "page"}},
		{"oidcc-display-popup", []string{"display", "popup"}},
		{"oidcc-ensure-request-with-unknown-parameter-succeeds", []string{"extra", "foobar"}},
		{"oidcc-login-hint", []string{"login_hint", "someone@example.com"}},
		{"oidcc-ui-locales", []string{"ui_locales", "se"}},
		{"oidcc-claims-locales", []string{"claims_locales", "se"}},
		{"oidcc-ensure-request-with-acr-values-succeeds", []string{"acr_values", "1 2"}},
		{"oidcc-claims-essential", []string{"claims", `{"userinfo":{"name":{"essential":true}}}`}},
	} {
		list = append(list, module{m.name, func(p *plan) { p.ignored(m.sent...) }})
	}
	return append(list, module{"oidcc-id-token-hint", (*plan).idTokenHint})
}

// tokensFor walks a new visitor through a request and exchanges the code.
func (p *plan) tokensFor(pairs ...string) tokens {
	p.Helper()
	return p.gets(p.exchangeOf(p.code(p.visitor().connects(p.start(pairs...), p.redirect))))
}

// back fails unless an address redirects straight to the application with this error, and without
// parameters of a success.
func (p *plan) back(address, code string) {
	p.Helper()
	s := p.visitor().open(address)
	to, err := url.Parse(s.to)
	if err != nil || !strings.HasPrefix(s.to, p.redirect) {
		p.Fatalf("it leads to %q: %v", s.to, err)
	}
	q := to.Query()
	if q.Get("error") != code || q.Get("state") != "the state" || q.Get("iss") != p.card.AuthURL || q.Has("code") || q.Get("error_description") == "" {
		p.Errorf("it leads to %s, want the error %s", to, code)
	}
}

func (p *plan) server() {
	v := p.visitor()
	back := v.connects(p.start(), p.redirect)
	if diff := cmp.Diff([]string{signsIn}, v.steps); diff != "" {
		p.Errorf("the buyer was asked (-want +got):\n%s", diff)
	}
	got := p.gets(p.exchangeOf(p.code(back)))
	if key, status := p.opens(got.Access); key != p.license {
		p.Errorf("the token opens %q (%d), want %s", key, status, p.license)
	}
	claims, _ := p.identity(got.ID, p.keys())
	now := time.Now().Unix()
	if claims["iss"] != p.card.AuthURL || claims["aud"] != p.card.Partner.ClientID || claims["nonce"] != "the nonce" || claims["sub"] == "" ||
		number(claims, "iat") > now || number(claims, "exp") <= now || claims["license_key"] != p.license || number(claims, "tier") != 2 {
		p.Errorf("the claims are %v", claims)
	}
	for name, value := range claims {
		if text, ok := value.(string); ok && strings.Contains(text, p.card.Buyer.Email) {
			p.Errorf("the claim %s tells the buyer's address", name)
		}
	}
}

func (p *plan) responseTypeMissing() { p.back(p.start("response_type", ""), "invalid_request") }

func (p *plan) idTokenSignature() {
	keys := p.keys()
	_, kid := p.identity(p.tokensFor().ID, keys)
	if n := len(keys.Key(kid)); kid == "" || n != 1 {
		p.Errorf("the identity token names the key %q, of which %d are published", kid, n)
	}
	for _, k := range keys.Keys {
		if !k.IsPublic() || k.Use != "sig" || k.Algorithm == "" || k.KeyID == "" {
			p.Errorf("published: a key %q of %q for %q, public %t", k.KeyID, k.Algorithm, k.Use, k.IsPublic())
		}
	}
}

func (p *plan) userinfo(ask func(access string) answer) {
	got := p.tokensFor()
	claims, _ := p.identity(got.ID, p.keys())
	a := ask(got.Access)
	said := read[map[string]any](p, a)
	want := map[string]any{"sub": claims["sub"], "license_key": p.license, "tier": float64(2), "license_status": "active"}
	if diff := cmp.Diff(want, said); diff != "" || a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		p.Errorf("userinfo answered %d %s (-want +got):\n%s", a.status, a.header.Get("Content-Type"), diff)
	}
}

func (p *plan) withoutNonce() {
	claims, _ := p.identity(p.tokensFor("nonce", "").ID, p.keys())
	if nonce, ok := claims["nonce"]; ok {
		p.Errorf("the identity token has the nonce %v, and none was sent", nonce)
	}
}

// ignored checks that unsupported or irrelevant parameters change nothing.
func (p *plan) ignored(pairs ...string) {
	got := p.tokensFor(pairs...)
	claims, _ := p.identity(got.ID, p.keys())
	for _, name := range []string{"email", "name", "phone_number", "address", "acr"} {
		if value, ok := claims[name]; ok {
			p.Errorf("the identity token tells %s: %v", name, value)
		}
	}
	if key, status := p.opens(got.Access); key != p.license {
		p.Errorf("the token opens %q (%d)", key, status)
	}
}

func (p *plan) promptLogin() {
	v := p.visitor()
	first := p.gets(p.exchangeOf(p.code(v.connects(p.start(), p.redirect))))
	second := p.gets(p.exchangeOf(p.code(v.connects(p.start("prompt", "login"), p.redirect))))
	if diff := cmp.Diff([]string{signsIn}, v.steps); diff != "" {
		p.Errorf("with prompt=login the buyer was asked (-want +got):\n%s", diff)
	}
	before, _ := p.identity(first.ID, p.keys())
	after, _ := p.identity(second.ID, p.keys())
	if before["sub"] != after["sub"] || number(before, "auth_time") == 0 || number(after, "auth_time") < number(before, "auth_time") {
		p.Errorf("sub and auth_time were %v, %v and then %v, %v", before["sub"], before["auth_time"], after["sub"], after["auth_time"])
	}
}

func (p *plan) promptNoneOutside() { p.back(p.start("prompt", "none"), "login_required") }

func (p *plan) promptNoneInside() {
	v := p.visitor()
	before, _ := p.identity(p.gets(p.exchangeOf(p.code(v.connects(p.start(), p.redirect)))).ID, p.keys())
	s := v.open(p.start("prompt", "none"))
	to, err := url.Parse(s.to)
	if err != nil {
		p.Fatal(err)
	}
	after, _ := p.identity(p.gets(p.exchangeOf(p.code(to))).ID, p.keys())
	if before["sub"] != after["sub"] || before["auth_time"] != after["auth_time"] {
		p.Errorf("sub and auth_time were %v, %v and then %v, %v", before["sub"], before["auth_time"], after["sub"], after["auth_time"])
	}
}

// maxAge requests a sign-in of at most that age; the buyer's is older.
func (p *plan) maxAge(age int) {
	began := time.Now().Unix()
	claims, _ := p.identity(p.tokensFor("max_age", seconds(age)).ID, p.keys())
	if at := number(claims, "auth_time"); at < began || at > time.Now().Unix() {
		p.Errorf("auth_time is %d, the sign-in was between %d and now", at, began)
	}
	if age < 100 {
		return // an older one exists only after a while
	}
	v := p.visitor()
	p.code(v.connects(p.start(), p.redirect))
	p.code(v.connects(p.start("max_age", seconds(age)), p.redirect))
	if len(v.steps) > 0 {
		p.Errorf("with max_age=%d the buyer was asked to %q once more", age, v.steps)
	}
}

func (p *plan) codeReuse() {
	code := p.code(p.visitor().connects(p.start(), p.redirect))
	p.gets(p.exchangeOf(code))
	p.denied(p.ask("POST", "/openid/token/", p.exchangeOf(code)), 400, "invalid_grant")
}

func (p *plan) foreignRedirect() {
	for _, uri := range []string{p.redirect + "/", p.redirect + "?x=1", "https://else.example/", strings.ToUpper(p.redirect), p.redirect + "#a"} {
		s := p.visitor().open(p.start("redirect_uri", uri))
		if s.status != 400 || s.to != "" || !strings.Contains(s.body, "redirect_uri") {
			p.Errorf("%s: answered %d, to %q", uri, s.status, s.to)
		}
	}
}

func (p *plan) postRequest() {
	v := p.visitor()
	s := v.post("/openid/authorize", p.request())
	if s.status != 303 || !strings.HasPrefix(s.to, p.card.BaseURL+"/openid/authorize?") {
		p.Fatalf("answered %d, to %q", s.status, s.to)
	}
	p.gets(p.exchangeOf(p.code(v.connects(s.to, p.redirect))))
}

func (p *plan) secretInTheBody() {
	code := p.code(p.visitor().connects(p.start(), p.redirect))
	p.denied(p.ask("POST", "/openid/token/", p.exchangeOf(code, "client_secret", "wrong")), 401, "invalid_client")
	p.gets(p.exchangeOf(code)) // which burned nothing
}

// idTokenHint names the expected user, who is the right one.
func (p *plan) idTokenHint() {
	v := p.visitor()
	got := p.gets(p.exchangeOf(p.code(v.connects(p.start(), p.redirect))))
	s := v.open(p.start("prompt", "none", "id_token_hint", got.ID))
	to, err := url.Parse(s.to)
	if err != nil {
		p.Fatal(err)
	}
	before, _ := p.identity(got.ID, p.keys())
	after, _ := p.identity(p.gets(p.exchangeOf(p.code(to))).ID, p.keys())
	if before["sub"] != after["sub"] {
		p.Errorf("sub was %v and then %v", before["sub"], after["sub"])
	}
}

func (p *plan) refreshToken() {
	got := p.tokensFor()
	next := p.gets(p.refreshOf(got.Refresh))
	if next.Access == got.Access || next.Refresh == got.Refresh || next.Error != nil {
		p.Error("the refresh gave nothing new, or an error member")
	}
	before, _ := p.identity(got.ID, p.keys())
	after, _ := p.identity(next.ID, p.keys())
	for _, name := range []string{"iss", "sub", "aud", "auth_time"} {
		if before[name] != after[name] {
			p.Errorf("%s was %v and is %v after the refresh", name, before[name], after[name])
		}
	}
	if _, ok := after["nonce"]; ok {
		p.Error("the refreshed identity token has a nonce")
	}
	p.denied(p.ask("POST", "/openid/token/", p.refreshOf("no-such-token")), 400, "invalid_grant")
}

func (p *plan) pkce() {
	with := func() string {
		return p.code(p.visitor().connects(p.start("code_challenge", challengeOf(verifier), "code_challenge_method", "S256"), p.redirect))
	}
	code := with()
	p.denied(p.ask("POST", "/openid/token/", p.exchangeOf(code)), 400, "invalid_grant") // left out: burns nothing
	p.gets(p.exchangeOf(code, "code_verifier", verifier))
	code = with()
	p.denied(p.ask("POST", "/openid/token/", p.exchangeOf(code, "code_verifier", "x"+verifier)), 400, "invalid_grant")
	p.denied(p.ask("POST", "/openid/token/", p.exchangeOf(code, "code_verifier", verifier)), 400, "invalid_grant") // used up
}
