package oauth_test

import (
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// call is a request with a form.
type call struct {
	path string
	form url.Values
}

func (h *endpoints) send(c call) answer {
	h.Helper()
	return h.ask("POST", c.path, c.form.Encode())
}

// TestNothingStored checks that each request whose effect cannot be stored says so. It neither claims
// the effect nor refuses the request for good, and works when it is sent again.
func TestNothingStored(t *testing.T) {
	h := newEndpoints(t)
	var away atomic.Bool
	h.DB = sqldbtest.OpenWith(t, h.Database, sqldb.Options{Cut: func(string) error {
		if away.Load() {
			return errors.New("cut off")
		}
		return nil
	}})
	const token = "/openid/token/"
	revoked := func(value string) call {
		return call{"/openid/revoke", form("client_id", h.keys.ClientID, "client_secret", h.keys.ClientSecret, "token", value)}
	}
	for name, tt := range map[string]struct {
		prepare func(h *endpoints) call
		status  int // of the repeat
	}{
		"a code": {func(h *endpoints) call { return call{token, h.exchangeOf(h.code(h.buy(h.ours)))} }, http.StatusOK},
		"a code for another URL": {func(h *endpoints) call {
			return call{token, changed(h.exchangeOf(h.code(h.buy(h.ours))), "redirect_uri", redirectURL+"x")}
		}, http.StatusBadRequest},
		"a code again": {func(h *endpoints) call {
			v := h.exchangeOf(h.code(h.buy(h.ours)))
			h.tokens(h.post(v))
			h.clock.Advance(time.Minute)
			return call{token, v}
		}, http.StatusBadRequest},
		"a code of others": {func(h *endpoints) call {
			return call{token, changed(h.exchangeOf(h.code(h.buy(h.ours))), "client_id", h.otherKeys.ClientID, "client_secret", h.otherKeys.ClientSecret)}
		}, http.StatusBadRequest},
		"a refresh": {func(h *endpoints) call {
			_, got := h.connect()
			return call{token, h.refreshOf(got.Refresh)}
		}, http.StatusOK},
		"a refresh again": {func(h *endpoints) call {
			_, got := h.connect()
			v := h.refreshOf(got.Refresh)
			h.tokens(h.post(v))
			h.clock.Advance(time.Minute)
			return call{token, v}
		}, http.StatusBadRequest},
		"the end of an access token": {func(h *endpoints) call {
			_, got := h.connect()
			return revoked(got.Access)
		}, http.StatusOK},
		"the end of a refresh token": {func(h *endpoints) call {
			_, got := h.connect()
			return revoked(got.Refresh)
		}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			c := tt.prepare(h)
			away.Store(true)
			a := h.send(c)
			away.Store(false)
			if a.Status < http.StatusInternalServerError {
				t.Errorf("without the database: %d %s", a.Status, a.Body)
			}
			if a := h.send(c); a.Status != tt.status {
				t.Errorf("again: %d %s, want %d", a.Status, a.Body, tt.status)
			}
		})
	}
}

// TestNothingRead checks that a token that cannot be looked up is neither said to be invalid nor
// revoked.
func TestNothingRead(t *testing.T) {
	h := newEndpoints(t)
	_, got := h.connect()
	code := h.code(h.buy(h.ours))
	presented := form("client_id", h.keys.ClientID, "client_secret", h.keys.ClientSecret, "token", got.Access)
	for name, tt := range map[string]struct {
		call
		tables []string
	}{
		"introspection": {call{"/openid/introspect", presented}, []string{"oauth_tokens", "oauth_grants", "licenses"}},
		"revocation":    {call{"/openid/revoke", presented}, []string{"oauth_tokens", "oauth_grants"}},
		"refresh":       {call{"/openid/token/", h.refreshOf(got.Refresh)}, []string{"oauth_tokens", "oauth_grants", "licenses"}},
		"exchange":      {call{"/openid/token/", h.exchangeOf(code)}, []string{"oauth_grants", "licenses"}},
	} {
		for _, table := range tt.tables {
			h.Exec(`ALTER TABLE ` + table + ` RENAME TO away`)
			if a := h.send(tt.call); a.Status < http.StatusInternalServerError {
				t.Errorf("%s without the table %s: %d %s", name, table, a.Status, a.Body)
			}
			h.Exec(`ALTER TABLE away RENAME TO ` + table)
		}
	}
	if !h.opens(got.Access) {
		t.Error("the token does not work any longer")
	}
}
