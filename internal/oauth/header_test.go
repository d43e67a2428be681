package oauth_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/oauth"
	"claviger/internal/paging"
	"claviger/internal/partner"
)

// askWith is ask with any number of Authorization headers.
func (h *endpoints) askWith(method, target, body string, headers []string) answer {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.url+target, strings.NewReader(body))
	h.Must(err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range headers {
		r.Header.Add("Authorization", strings.TrimPrefix(line, "Authorization: "))
	}
	resp, err := http.DefaultClient.Do(r)
	h.Must(err)
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(resp.Body)
	h.Must(err)
	return answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
}

// TestHeadersThatAreNotWhole: incomplete or ambiguous credentials are refused.
func TestHeadersThatAreNotWhole(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	right := basic(h.keys.ClientID, h.keys.ClientSecret)
	for name, tt := range map[string]struct {
		body    []string
		headers []string
		status  int
	}{
		"right":                           {nil, []string{right}, 200},
		"sent twice":                      {nil, []string{right, right}, 400},
		"beside another scheme":           {nil, []string{right, "Authorization: Bearer x"}, 400},
		"broken at its end":               {nil, []string{right + "!"}, 400},
		"with a broken escape in the id":  {nil, []string{basic("%zz", h.keys.ClientSecret)}, 400},
		"another client's id in the body": {[]string{"client_id", h.otherKeys.ClientID}, []string{right}, 400},
		"wrong beside a scheme of no use": {[]string{"client_id", h.keys.ClientID, "client_secret", "x"}, []string{"Authorization: Bearer x"}, 401},
		"base64 of the URL alphabet":      {nil, []string{"Authorization: Basic " + base64.URLEncoding.EncodeToString([]byte("a>?:b>?"))}, 400},
	} {
		a := h.askWith("POST", "/openid/introspect", changed(form("token", held.Access), tt.body...).Encode(), tt.headers)
		if a.Status != tt.status || tt.status != 200 && strings.Contains(a.Body, `"active":true`) {
			t.Errorf("%s: answered %d %s", name, a.Status, a.Body)
		}
		if got := a.Header.Get("WWW-Authenticate"); got != "" {
			t.Errorf("%s: challenged by %q", name, got)
		}
	}
	bearer := "Authorization: Bearer " + held.Access
	for n, want := range []int{401, 200, 400, 400} {
		var headers []string
		for range n {
			headers = append(headers, bearer)
		}
		if a := h.askWith("GET", "/openid/userinfo", "", headers); a.Status != want {
			t.Errorf("an access token sent %d times: %d %s", n, a.Status, a.Body)
		}
	}
}

// TestBounds: numbers and challenges at OAuth's limits.
func TestBounds(t *testing.T) {
	w := newHarness(t)
	p := w.enrol(home)
	ask := func(extra string) (oauth.Request, error) {
		return w.ParseAuthorize(t.Context(), query(t, "client_id="+p.ClientID+"&response_type=code&"+extra))
	}
	for extra, age := range map[string]int{"max_age=0": 0, "max_age=10": 10, "max_age=2147483647": 1<<31 - 1, "": -1} {
		if r, err := ask(extra); err != nil || r.MaxAge != age {
			t.Errorf("%s: %d, %v", extra, r.MaxAge, err)
		}
	}
	for _, extra := range []string{"max_age=1a", "max_age=2147483648", "max_age=0x10"} {
		_, err := ask(extra)
		if d, ok := errors.AsType[*oauth.Denial](err); !ok || d.Code != "invalid_request" {
			t.Errorf("%s: %v", extra, err)
		}
	}
	all := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_AAAAAAAAAAAAAAAAAAAAAA"
	for _, challenge := range []string{all[:43], all[43:]} {
		r, err := ask("code_challenge_method=S256&code_challenge=" + challenge)
		if err != nil || r.Challenge != challenge {
			t.Errorf("%s: %q, %v", challenge, r.Challenge, err)
		}
	}
	for _, other := range "@[`{/:+=." {
		if _, err := ask("code_challenge_method=S256&code_challenge=" + url.QueryEscape(string(other)+all[:42])); err == nil {
			t.Errorf("%q is in a challenge", other)
		}
	}
	if _, err := w.MarketplaceRequest(t.Context(), p.ID+1000); !fault.Is(err, partner.CodeUnknownPartner) {
		t.Errorf("of an unknown partner: %v", err)
	}
}

// TestAcceptIsAudited: the audit has the granted scope and whether PKCE was used.
func TestAcceptIsAudited(t *testing.T) {
	h := newEndpoints(t)
	h.code(h.buy(h.ours))
	h.asked(h.buy(h.ours), form("scope", "openid", "code_challenge_method", "S256", "code_challenge", challenge))
	list, _, err := (&audit.Log{DB: h.DB}).List(t.Context(), audit.Filter{Action: "oauth.accept"}, paging.First())
	h.Must(err)
	var got []string
	for _, e := range list {
		got = append(got, e.After)
	}
	facts := func(byPartner, pkce bool, scope string) string {
		return fmt.Sprintf(`{"by_partner":%t,"partner_id":%d,"pkce":%t,"scope":%q}`, byPartner, h.ours.ID, pkce, scope)
	}
	want := []string{facts(true, true, "openid read_license"), facts(false, false, "read_license")}
	if !slices.Equal(got, want) {
		t.Errorf("audited %s, want %s", got, want)
	}
}
