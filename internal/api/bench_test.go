package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"claviger/internal/license"
)

// BenchmarkLicenses compares the list of 100 licenses with a bare handler that writes the same
// bytes, both over HTTP. The figures that count are in bench/; this one helps while changing this
// package.
func BenchmarkLicenses(b *testing.B) {
	h := newHarness(b)
	for range 10 {
		_, err := h.API.Licenses.Purchase(b.Context(), tester, license.Purchase{PartnerID: h.ours.ID, Tier: 1, Quantity: 100})
		h.Must(err)
	}
	server := httptest.NewServer(h.Handler())
	defer server.Close()
	page := h.ask(http.DefaultClient, "GET", server.URL+"/v2/licenses", "")
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(page.Body)))
		_, _ = io.WriteString(w, page.Body)
	}))
	defer bare.Close()
	b.Run("bare", func(b *testing.B) { h.in(b).hammer(bare.URL + "/v2/licenses") })
	b.Run("api", func(b *testing.B) { h.in(b).hammer(server.URL + "/v2/licenses") })
	b.Run("api without network", func(b *testing.B) {
		handler := h.Handler()
		b.ReportAllocs()
		for b.Loop() {
			r := httptest.NewRequestWithContext(b.Context(), "GET", "/v2/licenses", nil)
			r.Header.Set("Authorization", "Bearer "+h.oursKey)
			handler.ServeHTTP(&discard{header: http.Header{}}, r)
		}
	})
}

// hammer requests the URL from as many goroutines as there are cores.
func (h *harness) hammer(url string) {
	b := h.TB.(*testing.B)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if got := h.ask(client, "GET", url, ""); got.Status != http.StatusOK {
				b.Errorf("answered %d %s", got.Status, got.Body)
				return
			}
		}
	})
}

// discard is a response that is not read.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
