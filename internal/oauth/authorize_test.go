package oauth_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/oauth"
	"claviger/internal/profile"
)

const (
	home      = "https://acme.example/cb?partner=x"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

func TestBegin(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	how, err := w.Profiles.Read(t.Context(), w.DB, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	plain := oauth.Request{Partner: p, Profile: how, RedirectURL: home, Scope: "read_license", MaxAge: -1, ByPartner: true}
	for name, tt := range map[string]struct {
		query string
		want  func(*oauth.Request)
	}{
		"nothing asked":    {"", func(*oauth.Request) {}},
		"the saved URL":    {"&redirect_uri=" + url.QueryEscape(home), func(*oauth.Request) {}},
		"empty ones":       {"&redirect_uri=&state=&nonce=&scope=&prompt=&max_age=&code_challenge=&code_challenge_method=&request=", func(r *oauth.Request) { r.Prompt = []string{} }},
		"openid":           {"&scope=profile+openid+email", func(r *oauth.Request) { r.Scope, r.NamedScope = "openid read_license", "openid" }},
		"our own scope":    {"&scope=read_license", func(*oauth.Request) {}},
		"unknown scopes":   {"&scope=openidx+%00", func(r *oauth.Request) { r.NamedScope = "read_license" }},
		"state, nonce":     {"&state=a%2Bb+c%26d&nonce=%C3%A9", func(r *oauth.Request) { r.State, r.Nonce = "a+b c&d", "é" }},
		"longest state":    {"&state=" + strings.Repeat("s", 4096), func(r *oauth.Request) { r.State = strings.Repeat("s", 4096) }},
		"longest nonce":    {"&nonce=" + strings.Repeat("n", 500), func(r *oauth.Request) { r.Nonce = strings.Repeat("n", 500) }},
		"PKCE":             {"&code_challenge_method=S256&code_challenge=" + challenge, func(r *oauth.Request) { r.Challenge = challenge }},
		"prompt":           {"&prompt=login+consent+select_account", func(r *oauth.Request) { r.Prompt = []string{"login", "consent", "select_account"} }},
		"prompt none":      {"&prompt=none", func(r *oauth.Request) { r.Prompt = []string{"none"} }},
		"max_age":          {"&max_age=0", func(r *oauth.Request) { r.MaxAge = 0 }},
		"query mode":       {"&response_mode=query", func(*oauth.Request) {}},
		"unknown, twice":   {"&resource=a&resource=b&extra=1", func(*oauth.Request) {}},
		"hints for others": {"&display=page&ui_locales=de&claims={}&login_hint=x&id_token_hint=&acr_values=z", func(*oauth.Request) {}},
	} {
		t.Run(name, func(t *testing.T) {
			want := plain
			want.Prompt = []string{}
			tt.want(&want)
			got, err := w.ParseAuthorize(t.Context(), query(t, "response_type=code&client_id="+p.ClientID+tt.query))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Begin: %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func query(t testing.TB, s string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(s)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestBeginShows: a wrong client or redirect URI causes no redirect, and the message names the
// cause.
func TestBeginShows(t *testing.T) {
	w := newHarness(t)
	saved := "https://acme.example/Cb?a=1&b=2"
	p, silent := w.enrol(saved), w.enrol("")
	me := "client_id=" + p.ClientID
	to := func(uri string) string { return me + "&response_type=code&redirect_uri=" + url.QueryEscape(uri) }
	for name, tt := range map[string]struct{ query, code, says string }{
		"no client":           {"response_type=code", "invalid_request", "client_id is missing"},
		"an empty client":     {"client_id=", "invalid_request", "client_id is missing"},
		"an unknown client":   {"client_id=nobody", "unknown_client", `"nobody"`},
		"a client with a NUL": {"client_id=" + p.ClientID + "%00", "unknown_client", "?"},
		"a broken client":     {"client_id=%ff", "unknown_client", "?"},
		"a secret as client":  {"client_id=cs_0123", "unknown_client", "with this client_id. This is a client secret; send the client id"},
		"a hostile client":    {"client_id=" + strings.Repeat("x", 5000), "unknown_client", "…"},
		"two clients":         {me + "&" + me, "invalid_request", "client_id was sent 2 times"},
		"nothing saved":       {"client_id=" + silent.ClientID, "not_connected", "Acme has not saved a redirect URL yet"},
		"nothing saved, sent": {"client_id=" + silent.ClientID + "&redirect_uri=https%3A%2F%2Fevil.example", "not_connected", "not saved"},
		"two redirects":       {to(saved) + "&redirect_uri=https://evil.example", "invalid_request", "redirect_uri was sent 2 times"},
		"another host":        {to("https://evil.example/Cb?a=1&b=2"), "redirect_mismatch", "the host"},
		"both are named":      {to("https://evil.example/"), "redirect_mismatch", `"https://evil.example/" is not the saved redirect URL "` + saved + `"`},
		"scheme":              {to("http://acme.example/Cb?a=1&b=2"), "redirect_mismatch", "the scheme: http instead of https"},
		"slash":               {to(saved + "/"), "redirect_mismatch", "the slash at the end"},
		"case":                {to("https://acme.example/cb?a=1&b=2"), "redirect_mismatch", "upper and lower case"},
		"case of the scheme":  {to("HTTPS://acme.example/Cb?a=1&b=2"), "redirect_mismatch", "upper and lower case"},
		"www":                 {to("https://www.acme.example/Cb?a=1&b=2"), "redirect_mismatch", "the www"},
		"port":                {to("https://acme.example:443/Cb?a=1&b=2"), "redirect_mismatch", "the port"},
		"order of the query":  {to("https://acme.example/Cb?b=2&a=1"), "redirect_mismatch", "the order of the query"},
		"query":               {to("https://acme.example/Cb"), "redirect_mismatch", "the query"},
		"path":                {to("https://acme.example/Cb/../Cb?a=1&b=2"), "redirect_mismatch", "the path"},
		"escaped":             {to("https://acme.example/%43b?a=1&b=2"), "redirect_mismatch", "percent-encoded"},
		"escaped twice":       {to(url.QueryEscape(saved)), "redirect_mismatch", "percent-encoded once too often"},
		"white space":         {to(saved + " "), "redirect_mismatch", "white space"},
		"fragment":            {to(saved + "#x"), "redirect_mismatch", "the fragment"},
		"user in it":          {to("https://acme.example@evil.example/Cb?a=1&b=2"), "redirect_mismatch", "the host"},
		"no URL":              {to("/Cb"), "redirect_mismatch", "not a whole URL"},
		"a script":            {to("javascript:alert(1)"), "redirect_mismatch", "not a whole URL"},
		"control characters":  {to("https://acme.example/\r\n\x00"), "redirect_mismatch", "acme.example/???"},
		"and other mistakes":  {"response_type=token&prompt=x&request=y&client_id=nobody", "unknown_client", "client_id"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := w.ParseAuthorize(t.Context(), query(t, tt.query))
			f := fault.Of(err)
			if f == nil || f.Code != tt.code || !strings.Contains(f.Text, tt.says) || len(f.Text) > 1500 {
				t.Errorf("Begin = %v; want %s with %q", err, tt.code, tt.says)
			}
			if r.RedirectURL != "" {
				t.Errorf("there is a way to %s", r.RedirectURL)
			}
		})
	}
}

// TestBeginDenies: other mistakes are reported to the partner's saved URL with the state, even if
// the state itself is wrong. Only a state that is too long or repeated is not returned.
func TestBeginDenies(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	const pkce = "code_challenge_method=S256&code_challenge="
	for name, tt := range map[string]struct{ query, code string }{
		"no response type":       {"state=s", "invalid_request"},
		"token":                  {"response_type=token&state=s", "unsupported_response_type"},
		"code and token":         {"response_type=code+token&state=s", "unsupported_response_type"},
		"response type twice":    {"response_type=code&response_type=code&state=s", "invalid_request"},
		"nonce twice":            {"response_type=code&nonce=a&nonce=b&state=s", "invalid_request"},
		"scope twice":            {"response_type=code&scope=a&scope=&state=s", "invalid_request"},
		"challenge twice":        {"response_type=code&state=s&" + pkce + challenge + "&code_challenge=x", "invalid_request"},
		"fragment mode":          {"response_type=code&response_mode=fragment&state=s", "invalid_request"},
		"form mode":              {"response_type=code&response_mode=form_post&state=s", "invalid_request"},
		"request":                {"response_type=code&request=eyJ&state=s", "request_not_supported"},
		"request alone":          {"request=eyJ&state=s", "request_not_supported"},
		"request_uri":            {"response_type=code&request_uri=https://a&state=s", "request_uri_not_supported"},
		"registration":           {"response_type=code&registration={}&state=s", "registration_not_supported"},
		"plain":                  {"response_type=code&code_challenge_method=plain&state=s&code_challenge=" + challenge, "invalid_request"},
		"no method":              {"response_type=code&state=s&code_challenge=" + challenge, "invalid_request"},
		"no challenge":           {"response_type=code&code_challenge_method=S256&state=s", "invalid_request"},
		"short challenge":        {"response_type=code&state=s&" + pkce + challenge[1:], "invalid_request"},
		"padded challenge":       {"response_type=code&state=s&" + pkce + challenge + "=", "invalid_request"},
		"not base64url":          {"response_type=code&state=s&" + pkce + "%2B" + challenge[1:], "invalid_request"},
		"prompt none and login":  {"response_type=code&prompt=none+login&state=s", "invalid_request"},
		"unknown prompt":         {"response_type=code&prompt=create&state=s", "invalid_request"},
		"max_age is no number":   {"response_type=code&max_age=soon&state=s", "invalid_request"},
		"max_age is below zero":  {"response_type=code&max_age=-1&state=s", "invalid_request"},
		"max_age is immense":     {"response_type=code&max_age=99999999999999999999&state=s", "invalid_request"},
		"long nonce, long state": {"response_type=code&state=" + strings.Repeat("%22", 4096) + "&nonce=" + strings.Repeat("n", 501), "invalid_request"},
		"long nonce":             {"response_type=code&state=s&nonce=" + strings.Repeat("n", 501), "invalid_request"},
		"NUL in the nonce":       {"response_type=code&nonce=%00&state=s", "invalid_request"},
		"long state":             {"response_type=code&state=" + strings.Repeat("x", 4097), "invalid_request"},
		"line end in the state":  {"response_type=code&state=a%0d%0ab", "invalid_request"},
		"state that is not text": {"response_type=code&state=%ff", "invalid_request"},
		"state twice":            {"response_type=code&state=s&state=s", "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := w.ParseAuthorize(t.Context(), query(t, "client_id="+p.ClientID+"&"+tt.query))
			d, ok := errors.AsType[*oauth.Denial](err)
			if !ok || d.Code != tt.code || d.Text == "" || fault.Of(err) != nil {
				t.Fatalf("Begin = %v; want %s", err, tt.code)
			}
			want := home + "&error=" + tt.code + "&error_description=" + url.QueryEscape(d.Text) + "&iss=https%3A%2F%2Flicenses.example"
			if state := query(t, tt.query)["state"]; len(state) == 1 && len(state[0]) <= 4096 {
				want += "&state=" + url.QueryEscape(state[0])
			}
			if got := r.Refused(w.Issuer, *d); got != want {
				t.Errorf("refused at %s\nwant %s", got, want)
			}
			if strings.ContainsAny(d.Text, `"\`) || strings.ContainsFunc(d.Text, func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Errorf("OAuth does not allow all characters of %q", d.Text)
			}
		})
	}
}

// TestBeginNamesTheCause: the message names why a text cannot be returned, and only that.
func TestBeginNamesTheCause(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	for value, says := range map[string]string{
		strings.Repeat("x", 4097): "has 4097 bytes",
		"a%ffb":                   "is not UTF-8",
		"a%0ab":                   "has a control character",
		"%c2%85":                  "has a control character",
	} {
		for _, name := range []string{"state", "nonce"} {
			_, err := w.ParseAuthorize(t.Context(), query(t, "client_id="+p.ClientID+"&response_type=code&"+name+"="+value))
			d, ok := errors.AsType[*oauth.Denial](err)
			if !ok || !strings.HasPrefix(d.Text, name+" "+says) {
				t.Errorf("%s=%.9s: %v, want that it %s", name, value, err, says)
			}
		}
	}
}

func TestMarket(t *testing.T) {
	w := newHarness(t)
	p, silent := w.enrol(home), w.enrol("")
	r, err := w.MarketplaceRequest(t.Context(), p.ID)
	if err != nil || r.RedirectURL != home || r.Scope != "read_license" || r.MaxAge != -1 || r.ByPartner || r.Partner != p {
		t.Errorf("Market = %+v, %v", r, err)
	}
	if got, want := r.Refused(w.Issuer, oauth.Denial{Code: "access_denied", Text: "no"}), home+"&error=access_denied&error_description=no&iss=https%3A%2F%2Flicenses.example"; got != want {
		t.Errorf("refused at %s, want %s", got, want)
	}
	if _, err := w.MarketplaceRequest(t.Context(), silent.ID); !fault.Is(err, "not_connected") {
		t.Errorf("without a redirect URL: %v", err)
	}
	if _, err := w.MarketplaceRequest(t.Context(), 99); !fault.Is(err, "unknown_partner") {
		t.Errorf("of nobody: %v", err)
	}
}

func TestRefusedKeepsTheSavedURL(t *testing.T) {
	for saved, want := range map[string]string{
		"https://a.example":             "https://a.example?error=x&error_description=y&iss=https%3A%2F%2Fissuer.example",
		"https://a.example/cb":          "https://a.example/cb?error=x&error_description=y&iss=https%3A%2F%2Fissuer.example",
		"https://a.example/cb/":         "https://a.example/cb/?error=x&error_description=y&iss=https%3A%2F%2Fissuer.example",
		"https://a.example/cb?":         "https://a.example/cb?error=x&error_description=y&iss=https%3A%2F%2Fissuer.example",
		"https://a.example/cb?b=2&a=%2": "https://a.example/cb?b=2&a=%2&error=x&error_description=y&iss=https%3A%2F%2Fissuer.example",
		"https://a.example/cb?a=1&":     "https://a.example/cb?a=1&error=x&error_description=y&iss=https%3A%2F%2Fissuer.example",
		"https://a.example/%63b":        "https://a.example/%63b?error=x&error_description=y&iss=https%3A%2F%2Fissuer.example",
		"https://a.example/cb#part":     "https://a.example/cb?error=x&error_description=y&iss=https%3A%2F%2Fissuer.example",
	} {
		r := oauth.Request{RedirectURL: saved}
		if got := r.Refused("https://issuer.example", oauth.Denial{Code: "x", Text: "y"}); got != want {
			t.Errorf("%s: %s, want %s", saved, got, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	r := oauth.Request{RedirectURL: "https://app.acme.example:8443/cb?x=1"}
	if r.Origin() != "https://app.acme.example:8443" || r.Host() != "app.acme.example:8443" {
		t.Errorf("origin %s, host %s", r.Origin(), r.Host())
	}
}

func TestInitiation(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	r, err := w.MarketplaceRequest(t.Context(), p.ID)
	if err != nil || w.Initiation(r) != "" {
		t.Errorf("a partner that begins nothing: %q, %v", w.Initiation(r), err)
	}
	login := "https://acme.example/login?via=market"
	if _, _, err := w.Profiles.Connect(t.Context(), theOperator, p.ID, profile.Connection{InitiateLoginURI: &login}); err != nil {
		t.Fatal(err)
	}
	if r, err = w.MarketplaceRequest(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	want := login + "&iss=https%3A%2F%2Flicenses.example&target_link_uri=https%3A%2F%2Facme.example%2F"
	if got := w.Initiation(r); got != want {
		t.Errorf("sent to %s, want %s", got, want)
	}
}
