package httpd_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/httpd"
	"claviger/internal/wire"
)

func TestClientAddress(t *testing.T) {
	proxies, err := httpd.ParseProxies([]string{"10.0.0.0/8", "192.0.2.7", "2001:db8:ffff::/48", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name      string
		remote    string
		forwarded []string
		want      string
	}{
		{"no proxy", "203.0.113.5:40000", nil, "203.0.113.5"},
		{"a stranger's word is not taken", "203.0.113.5:40000", []string{"198.51.100.1"}, "203.0.113.5"},
		{"one proxy", "10.1.2.3:40000", []string{"198.51.100.1"}, "198.51.100.1"},
		{"what the client wrote itself is on the left", "10.1.2.3:40000", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.1.2.3:40000", []string{"1.1.1.1, 198.51.100.1, 192.0.2.7"}, "198.51.100.1"},
		{"several header lines", "10.1.2.3:40000", []string{"1.1.1.1", "198.51.100.1", "192.0.2.7"}, "198.51.100.1"},
		{"a client inside the declared network", "10.1.2.3:40000", []string{"10.9.9.9"}, "10.9.9.9"},
		{"nothing said", "10.1.2.3:40000", nil, "10.1.2.3"},
		{"empty", "10.1.2.3:40000", []string{""}, "10.1.2.3"},
		{"nonsense", "10.1.2.3:40000", []string{"198.51.100.1, unknown"}, "10.1.2.3"},
		{"nonsense further left", "10.1.2.3:40000", []string{"unknown, 192.0.2.7"}, "192.0.2.7"},
		{"with a port", "10.1.2.3:40000", []string{"198.51.100.1:5555"}, "198.51.100.1"},
		{"IPv6", "[2001:db8:ffff::1]:40000", []string{"2001:db8:1::9"}, "2001:db8:1::9"},
		{"IPv6 with brackets and port", "[::1]:40000", []string{"[2001:db8:1::9]:5555"}, "2001:db8:1::9"},
		{"IPv4 in IPv6", "[::ffff:10.1.2.3]:40000", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"no address", "@", []string{"198.51.100.1"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.RemoteAddr = tt.remote
			for _, v := range tt.forwarded {
				r.Header.Add("X-Forwarded-For", v)
			}
			if got := proxies.Client(r); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestUndeclaredProxyIsWarnedAbout: one warning with the address and the setting, only if
// X-Forwarded-For comes from an undeclared address.
func TestUndeclaredProxyIsWarnedAbout(t *testing.T) {
	for name, tt := range map[string]struct {
		proxies []string
		want    int
	}{
		"none declared":    {nil, 1},
		"another declared": {[]string{"10.0.0.0/8"}, 1},
		"this one":         {[]string{"127.0.0.1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			proxies, err := httpd.ParseProxies(tt.proxies)
			if err != nil {
				t.Fatal(err)
			}
			h := start(t, &httpd.Server{Proxies: proxies, Handler: wire.NewMux()})
			h.get("/without")
			h.get("/with", "X-Forwarded-For", "192.0.2.9")
			h.get("/with", "X-Forwarded-For", "192.0.2.8")
			var warnings []map[string]any
			for _, line := range h.stop() {
				if line["level"] == "WARN" {
					warnings = append(warnings, line)
				}
			}
			if len(warnings) != tt.want {
				t.Fatalf("%d warnings, want %d: %v", len(warnings), tt.want, warnings)
			}
			for _, w := range warnings {
				if w["addr"] != "127.0.0.1" || !strings.Contains(w["msg"].(string), "trusted-proxies") {
					t.Errorf("the warning is %v", w)
				}
			}
		})
	}
}

func TestParseProxiesRefuses(t *testing.T) {
	for _, bad := range []string{"", "proxy.example", "10.0.0.0/40", "10.0.0"} {
		if p, err := httpd.ParseProxies([]string{"::1", bad}); err == nil {
			t.Errorf("%q was read as %v", bad, p)
		}
	}
}
