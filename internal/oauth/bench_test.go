package oauth_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"claviger/internal/oauth"
	"claviger/internal/secret"
	"claviger/internal/wire"
)

// inFlight is the number of concurrent refreshes.
const inFlight = 32

// BenchmarkRefresh compares a refresh with a bare handler that only makes tokens and signs, both
// over HTTP and with ES256. bench/ has the official figures; this one helps when changing the
// endpoint.
func BenchmarkRefresh(b *testing.B) {
	h := newEndpoints(b)
	h.Now = func() time.Time { return time.Now().UTC() } // tokens are stored by their time
	l, first := h.connect()
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access := secret.Make("")
		id, err := h.IDToken(r.Context(), oauth.Claims{Partner: h.ours, Alg: oauth.ES256, UserID: h.ann.ID, License: l, AuthTime: noon, Now: noon, AccessToken: access})
		if err != nil {
			b.Error(err)
		}
		_ = wire.JSON(w, http.StatusOK, tokens{Access: access, Type: "bearer", Expires: 3600, Refresh: secret.Make(""), ID: id})
	}))
	defer bare.Close()
	server := httptest.NewServer(wire.NewMux(h.Routes()...))
	defer server.Close()
	b.Run("bare", func(b *testing.B) {
		h.in(b).hammer(bare.URL, func() string { return first.Refresh })
	})
	b.Run("server", func(b *testing.B) {
		h.in(b).hammer(server.URL+"/openid/oauth2/token", func() string {
			_, t := h.connect()
			return t.Refresh
		})
	})
}

// hammer refreshes in chains, one per goroutine.
func (h *endpoints) hammer(target string, begin func() string) {
	b := h.TB.(*testing.B)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}}
	chains := make([]string, inFlight)
	for i := range chains {
		chains[i] = begin()
	}
	var next atomic.Int64
	b.SetParallelism((inFlight + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	before := cpu()
	b.RunParallel(func(pb *testing.PB) {
		held := chains[int(next.Add(1)-1)%inFlight]
		for pb.Next() {
			got, err := refreshed(client, target, h.refreshOf(held))
			if err != nil || got == "" {
				b.Errorf("refresh: %q, %v", got, err)
				return
			}
			held = got
		}
	})
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// cpu returns the processor time of this process. Other load affects it less than wall-clock time.
func cpu() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// refreshed returns the refresh token of the answer.
func refreshed(client *http.Client, target string, v url.Values) (string, error) {
	resp, err := client.Post(target, "application/x-www-form-urlencoded", strings.NewReader(v.Encode())) //nolint:noctx // a benchmark
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing depends on it
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var got tokens
	err = json.Unmarshal(body, &got)
	return got.Refresh, err
}
