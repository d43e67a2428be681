package dispatch_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"claviger/internal/webhook"
)

// TestPartnersShareNoConnection: two partners at one address, such as a shared hosting platform,
// never get requests over the same connection, so that neither can answer for the other.
func TestPartnersShareNoConnection(t *testing.T) {
	r := steppedHarness(t)
	var mu sync.Mutex
	of := map[string]map[string]bool{} // paths by connection
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if of[req.RemoteAddr] == nil {
			of[req.RemoteAddr] = map[string]bool{}
		}
		of[req.RemoteAddr][req.URL.Path] = true
	}))
	var made int
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if mu.Lock(); state == http.StateNew {
			made++
		}
		mu.Unlock()
	}
	s.Start()
	t.Cleanup(s.Close)
	for id, path := range map[int64]string{1: "/one", 2: "/two"} {
		r.partner(id, nil)
		r.license(id, id)
		r.aim(id, func(e *webhook.Endpoint) { e.URL = s.URL + path })
	}
	out := r.stepped(settings{})
	for range 4 {
		for license := range int64(2) {
			r.event(out, license+1)
			r.step(out)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for conn, paths := range of {
		if len(paths) != 1 {
			t.Errorf("connection %s served %v", conn, paths)
		}
	}
	if made != 2 {
		t.Errorf("%d connections were made, want one for each partner", made)
	}
}
