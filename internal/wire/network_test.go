package wire_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"claviger/internal/wire"
)

// TestNetworkLimiter: an IPv6 client is counted by /64, /56 and /48, each with twice the calls of
// the one before. An IPv4 address counts only as itself.
func TestNetworkLimiter(t *testing.T) {
	for name, tt := range map[string]struct {
		address func(i int) string
		calls   int // number of calls
		want    int // number of allowed ones
	}{
		"one IPv4 address": {func(int) string { return "192.0.2.1" }, 100, 5},
		"IPv4 addresses":   {func(i int) string { return fmt.Sprintf("192.0.2.%d", i) }, 100, 100},
		"one /64":          {func(i int) string { return fmt.Sprintf("[2001:db8:1:2::%x]", i) }, 100, 5},
		"/64s of a /56":    {func(i int) string { return fmt.Sprintf("[2001:db8:1:2%02x::1]", i) }, 100, 10},
		"/64s of a /48":    {func(i int) string { return fmt.Sprintf("[2001:db8:1:%x::1]", i<<8) }, 100, 20},
		"/48s":             {func(i int) string { return fmt.Sprintf("[2001:db8:%x::1]", i) }, 100, 100},
	} {
		t.Run(name, func(t *testing.T) {
			l, ok := wire.NewNetworkLimiter(5, newClock().now), 0
			for i := range tt.calls {
				r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
				r.RemoteAddr = tt.address(i) + ":1000"
				if q := l.Take(r); q.OK {
					ok++
				} else if q.After <= 0 {
					t.Errorf("call %d is refused for %v", i, q.After)
				}
			}
			if ok != tt.want {
				t.Errorf("%d calls of %d are allowed, want %d", ok, tt.calls, tt.want)
			}
		})
	}
	if q := (*wire.NetworkLimiter)(nil).Take(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)); !q.OK {
		t.Error("nil refuses")
	}
}
