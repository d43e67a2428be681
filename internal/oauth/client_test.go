package oauth_test

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/partner"
	"claviger/internal/wire"
)

func basic(id, word string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+word))
}

// TestClientAuthentication: in the body or by Basic. A refusal of Basic has the challenge header.
func TestClientAuthentication(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	id, word := h.keys.ClientID, h.keys.ClientSecret
	escaped := strings.ReplaceAll(url.QueryEscape(word), "_", "%5F")
	for name, tt := range map[string]struct {
		body      []string // in addition to the grant
		header    string
		status    int
		challenge bool
	}{
		"body":                           {[]string{"client_id", id, "client_secret", word}, "", 200, false},
		"Basic":                          {nil, basic(id, word), 200, false},
		"Basic in small letters":         {nil, strings.Replace(basic(id, word), "Basic", "basic", 1), 200, false},
		"Basic, form-encoded":            {nil, basic(id, escaped), 200, false},
		"Basic, and the same id":         {[]string{"client_id", id}, basic(id, word), 200, false},
		"Basic, and empty in the body":   {[]string{"client_id", "", "client_secret", ""}, basic(id, word), 200, false},
		"body beside another scheme":     {[]string{"client_id", id, "client_secret", word}, "Authorization: Bearer x", 200, false},
		"nothing":                        {nil, "", 401, true},
		"wrong in the body":              {[]string{"client_id", id, "client_secret", "x"}, "", 401, false},
		"another's secret":               {[]string{"client_id", id, "client_secret", h.otherKeys.ClientSecret}, "", 401, false},
		"wrong Basic":                    {nil, basic(id, "x"), 401, true},
		"Basic without a secret":         {nil, basic(id, ""), 401, true},
		"Basic with control characters":  {nil, basic("%00", "%FF"), 401, true},
		"another scheme":                 {nil, "Authorization: Bearer " + word, 401, true},
		"Basic that is no base64":        {nil, "Authorization: Basic !", 400, false},
		"Basic without a colon":          {nil, "Authorization: Basic eA==", 400, false},
		"Basic with a broken escape":     {nil, basic(id, "%zz"), 400, false},
		"Basic and a secret in the body": {[]string{"client_secret", word}, basic(id, word), 400, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			v := changed(form("token", held.Access), tt.body...)
			var header []string
			if tt.header != "" {
				header = []string{tt.header}
			}
			a := h.ask("POST", "/openid/introspect", v.Encode(), header...)
			switch tt.status {
			case 200:
				if a.Status != 200 || !strings.Contains(a.Body, `"active":true`) {
					t.Errorf("answered %d %s", a.Status, a.Body)
				}
			case 401:
				h.refused(a, 401, "invalid_client")
			default:
				h.refused(a, tt.status, "invalid_request")
			}
			if got := strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic realm="); got != tt.challenge {
				t.Errorf("WWW-Authenticate is %q", a.Header.Get("WWW-Authenticate"))
			}
		})
	}
}

// TestWrongCredentialsAreNamed: the error names the credential that is wrong or missing.
func TestWrongCredentialsAreNamed(t *testing.T) {
	h := newEndpoints(t)
	id, word := h.keys.ClientID, h.keys.ClientSecret
	for name, tt := range map[string]struct {
		body   []string
		header []string
		says   string
	}{
		"nothing":                {nil, nil, "The request lacks client credentials."},
		"no id":                  {[]string{"client_secret", word}, nil, "The request lacks client_id."},
		"no secret":              {[]string{"client_id", id}, nil, "The request lacks client_secret."},
		"no id by Basic":         {nil, []string{basic("", word)}, "The request lacks client_id."},
		"no secret by Basic":     {nil, []string{basic(id, "")}, "The request lacks client_secret."},
		"unknown id":             {[]string{"client_id", "nobody", "client_secret", word}, nil, "There is no application with this client_id."},
		"id that is no text":     {nil, []string{basic("%00", word)}, "There is no application with this client_id."},
		"wrong secret":           {[]string{"client_id", id, "client_secret", "x"}, nil, "The client_secret is not one of this client_id."},
		"API key":                {[]string{"client_id", id, "client_secret", "lk_c0ffee"}, nil, "This is an API key; send the client secret, which begins with cs_."},
		"webhook secret":         {nil, []string{basic(id, "whsec_c0ffee")}, "This is a webhook secret; send the client secret, which begins with cs_."},
		"operator token":         {[]string{"client_id", id, "client_secret", "op_c0ffee"}, nil, "This is an operator token; send the client secret, which begins with cs_."},
		"secret as id":           {[]string{"client_id", h.keys.ClientSecret, "client_secret", h.keys.ClientSecret}, nil, "This is a client secret; send the client id"},
		"another's secret":       {[]string{"client_id", id, "client_secret", h.otherKeys.ClientSecret}, nil, "The client_secret is not one of this client_id."},
		"secret that is no text": {nil, []string{basic(id, "%FF")}, "The client_secret is not one of this client_id."},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			a := h.ask("POST", "/openid/token", changed(form("grant_type", "authorization_code"), tt.body...).Encode(), tt.header...)
			h.refused(a, 401, "invalid_client")
			if !strings.Contains(a.Body, `"error_description":"`+tt.says) {
				t.Errorf("answered %s, want %q", a.Body, tt.says)
			}
		})
	}
}

// TestBothSecretsServeDuringRotation: the replaced secret works until its overlap ends.
func TestBothSecretsServeDuringRotation(t *testing.T) {
	h := newEndpoints(t)
	_, held := h.connect()
	done, err := h.Partners.Rotate(t.Context(), theOperator, h.ours.ID, partner.ClientSecret, time.Hour)
	h.Must(err)
	renew := func(word string) answer {
		return h.post(changed(h.refreshOf(held.Refresh), "client_secret", word))
	}
	held = h.tokens(renew(h.keys.ClientSecret))
	held = h.tokens(renew(done.Value))
	h.clock.Advance(time.Hour)
	h.refused(renew(h.keys.ClientSecret), 401, "invalid_client")
	h.tokens(renew(done.Value))
}

// TestWrongCredentialsAreHeldUp: limits apply per client id and per address, never to right
// credentials.
func TestWrongCredentialsAreHeldUp(t *testing.T) {
	shared := newEndpoints(t)
	for name, wrong := range map[string]func(h *endpoints, i int) url.Values{
		"one client id": func(h *endpoints, i int) url.Values {
			return form("client_id", h.keys.ClientID, "client_secret", strconv.Itoa(i), "token", "x")
		},
		"many client ids from one address": func(_ *endpoints, i int) url.Values {
			return form("client_id", strconv.Itoa(i), "client_secret", "x", "token", "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := shared.in(t)
			h.Guard = &wire.Guard{Failures: &wire.Limiter{PerMinute: 3, Now: h.clock.Now}}
			for i := range 3 {
				h.refused(h.ask("POST", "/openid/revoke", wrong(h, i).Encode()), 401, "invalid_client")
			}
			a := h.ask("POST", "/openid/revoke", wrong(h, 3).Encode())
			h.refused(a, 429, "temporarily_unavailable", "Retry-After")
			if a.Header.Get("Retry-After") != "20" {
				t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
			}
			if _, held := h.connect(); !h.opens(held.Access) {
				t.Error("right credentials are held up by wrong ones")
			}
			h.refused(h.ask("POST", "/openid/revoke", "token=x"), 401, "invalid_client")
			h.clock.Advance(20 * time.Second)
			h.refused(h.ask("POST", "/openid/revoke", wrong(h, 4).Encode()), 401, "invalid_client")
		})
	}
}

// TestGuardCountsPerClient: guesses at one client are counted together for all addresses.
func TestGuardCountsPerClient(t *testing.T) {
	h := newEndpoints(t)
	h.Guard = &wire.Guard{Failures: &wire.Limiter{PerMinute: 2, Now: h.clock.Now}}
	mux := wire.NewMux(h.Routes()...)
	guess := func(address string) int {
		return serve(t, mux, address, form("client_id", h.keys.ClientID, "client_secret", "x", "token", "x"))
	}
	for i, want := range []int{401, 401, 429} {
		if got := guess("198.51.100." + strconv.Itoa(i+1) + ":1"); got != want {
			t.Errorf("guess %d was answered %d, want %d", i+1, got, want)
		}
	}
}
