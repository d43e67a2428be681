package oauth_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/httpd"
	"claviger/internal/wire"
)

// sink is a log for concurrent writers.
type sink struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// listen serves the endpoints as the product does, with log and metrics. A request with the header
// X-Broken hits a closed database, one with X-Panic a bug.
func (h *endpoints) listen(log *sink) (metrics string, stop func()) {
	h.Helper()
	closed := h.Node()
	h.Must(closed.App.Close())
	mistaken := *h.Server
	mistaken.Now = func() time.Time { panic("a bug") }
	whole, broken, panics := wire.NewMux(h.Routes()...), wire.NewMux(closed.OAuth.Routes()...), wire.NewMux(mistaken.Routes()...)
	srv := &httpd.Server{
		Address: "127.0.0.1:0", AdminAddress: "127.0.0.1:0",
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("X-Broken") != "":
				broken.ServeHTTP(w, r)
			case r.Header.Get("X-Panic") != "":
				panics.ServeHTTP(w, r)
			default:
				whole.ServeHTTP(w, r)
			}
		}),
	}
	h.Must(srv.Listen(h.Context()))
	ctx, cancel := context.WithCancel(h.Context())
	ran := make(chan error)
	go func() { ran <- srv.Run(ctx) }()
	h.url = "http://" + srv.Addr()
	return "http://" + srv.AdminAddr() + "/metrics", func() {
		cancel()
		h.Must(<-ran)
	}
}

// TestNoSecretIsLogged: no code, token or client secret appears in a log line, a metric or a panic
// trace, however the request ends.
func TestNoSecretIsLogged(t *testing.T) {
	h := newEndpoints(t)
	log := &sink{}
	metrics, stop := h.listen(log)
	l := h.buy(h.ours)
	code, burned := h.code(l), h.code(l)
	held := h.tokens(h.post(h.exchangeOf(code)))
	next := h.tokens(h.post(h.refreshOf(held.Refresh)))
	secrets := map[string]string{
		"code": code, "burned code": burned, "client secret": h.keys.ClientSecret, "wrong secret": "cs_a-wrong-secret", "access token": held.Access,
		"refresh token": held.Refresh, "next access token": next.Access, "next refresh token": next.Refresh, "identity token": held.ID,
	}
	bearer := "Authorization: Bearer " + held.Access
	for _, more := range [][]string{nil, {"X-Broken: 1"}, {"X-Panic: 1"}} {
		h.ask("POST", "/openid/token/", h.exchangeOf(code).Encode(), more...)
		h.ask("POST", "/openid/token/?"+h.exchangeOf(code).Encode(), "", more...)
		h.ask("POST", "/openid/token/", changed(h.exchangeOf(burned), "redirect_uri", "https://else.example.com").Encode(), more...)
		h.ask("POST", "/openid/token/", changed(h.exchangeOf(code), "client_secret", "cs_a-wrong-secret").Encode(), more...)
		h.ask("POST", "/openid/token/", asJSON(t, h.refreshOf(held.Refresh))+"}", append(more, "Content-Type: application/json")...)
		h.ask("POST", "/openid/token/", h.refreshOf(next.Refresh).Encode(), append(more, basic(h.keys.ClientID, h.keys.ClientSecret))...)
		h.ask("GET", "/openid/license_key/?access_token="+held.Access, "", more...)
		h.ask("GET", "/openid/license_key/?access_token="+held.Access, "", append(more, bearer)...)
		h.ask("GET", "/openid/userinfo/", "", append(more, bearer)...)
		h.ask("POST", "/openid/introspect/", changed(h.refreshOf(""), "token", held.Refresh).Encode(), more...)
		h.ask("POST", "/openid/revoke/", changed(h.refreshOf(""), "token", held.Access).Encode(), more...)
	}
	resp, err := http.Get(metrics) //nolint:noctx,gosec // a test
	h.Must(err)
	measured, err := io.ReadAll(resp.Body)
	h.Must(err)
	h.Must(resp.Body.Close())
	stop()
	text := log.text.String() + string(measured)
	for _, want := range []string{`"status":500`, "a bug", `"fault":"invalid_grant"`, `"who":"partner:`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log tells nothing of %s", want)
		}
	}
	for name, value := range secrets {
		if strings.Contains(text, value) {
			t.Errorf("the %s is in the log", name)
		}
	}
}
