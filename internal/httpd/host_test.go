package httpd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/httpd"
	"claviger/internal/wire"
)

// TestOnlyOwnHosts: a server with names answers only to them, on any port; one without names
// answers to all.
func TestOnlyOwnHosts(t *testing.T) {
	serve := wire.NewMux(wire.Public("GET", "/", func(w http.ResponseWriter, _ *http.Request) error {
		return wire.Text(w, http.StatusOK, "hello")
	}))
	picky := start(t, &httpd.Server{Handler: serve, Hosts: []string{"market.example:8443", "dev.example", "192.0.2.7"}})
	open := start(t, &httpd.Server{Handler: serve})
	for host, own := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "localhost.": true, "127.0.0.1": true, "127.0.0.1:1": true, "[::1]:8080": true, "[::1]": true,
		"market.example": true, "Market.Example:1": true, "dev.example": true, "192.0.2.7:80": true,
		"evil.example": false, "localhost.evil.example": false, "evil.example:8080": false, "market.example.evil.example": false,
		"192.0.2.8": false, "[2001:db8::1]:80": false, "0.0.0.0": false,
	} {
		for _, path := range []string{"/", "/readyz"} {
			if status, body := hosted(t, open, host, path); status != http.StatusOK {
				t.Errorf("%s%s, of a server for all: %d %s", host, path, status, body)
			}
			status, body := hosted(t, picky, host, path)
			if own != (status == http.StatusOK) {
				t.Errorf("%s%s: %d %s", host, path, status, body)
			}
			if !own && (status != http.StatusForbidden || !strings.Contains(body, `"unknown_host"`) || !strings.Contains(body, "public-url")) {
				t.Errorf("%s%s is refused by %d %s", host, path, status, body)
			}
		}
	}
}

// hosted requests a path with a host name.
func hosted(t *testing.T, h *harness, host, path string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	resp, err := h.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b strings.Builder
	if _, err := io.Copy(&b, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}
