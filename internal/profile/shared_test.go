package profile_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"claviger/internal/partner"
	"claviger/internal/profile"
)

// TestChecksShareNoConnection checks that the checks of two partners' URLs at one address, and of
// partners that are not created yet, share no connection.
func TestChecksShareNoConnection(t *testing.T) {
	var mu sync.Mutex
	of := map[string]map[string]bool{} // paths by connection
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if of[r.RemoteAddr] == nil {
			of[r.RemoteAddr] = map[string]bool{}
		}
		of[r.RemoteAddr][r.URL.Path] = true
	}))
	t.Cleanup(s.Close)
	book := validator(t)
	for _, p := range []struct {
		id   int64
		path string
	}{{1, "/one"}, {2, "/two"}, {0, "/new"}, {0, "/newer"}} {
		webhook, redirect := s.URL+p.path, s.URL+p.path
		if _, err := book.Validate(t.Context(), partner.Partner{ID: p.id, Brand: "Acme"},
			profile.URLChange{Webhook: &webhook, Redirect: &redirect}, ownSecret); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for conn, paths := range of {
		if len(paths) != 1 {
			t.Errorf("connection %s served %v", conn, paths)
		}
	}
}
