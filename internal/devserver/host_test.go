package devserver_test

import (
	"net/http"
	"net/url"
	"testing"

	"claviger/internal/devserver"
)

// TestOwnHosts: `dev` answers only to its own names, so that no web page in the developer's browser
// can read its emails and credentials.
func TestOwnHosts(t *testing.T) {
	w := run(t, func(c *devserver.Config) { c.App.PublicURL = "http://Dev.example:8080" })
	where, err := url.Parse(w.MailURL)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		"dev.example:8080": http.StatusOK, "localhost": http.StatusOK, "127.0.0.1:1": http.StatusOK, "[::1]": http.StatusOK,
		"evil.example": http.StatusForbidden, "evil.example:8080": http.StatusForbidden,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.listens+where.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		resp, err := w.browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: answered %d, want %d", host, resp.StatusCode, want)
		}
	}
}
