package httpd_test

import (
	"net/http/httptest"
	"testing"

	"claviger/internal/httpd"
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
			r := httptest.NewRequest("GET", "/", nil)
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

func TestParseProxiesRefuses(t *testing.T) {
	for _, bad := range []string{"", "proxy.example", "10.0.0.0/40", "10.0.0"} {
		if p, err := httpd.ParseProxies([]string{"::1", bad}); err == nil {
			t.Errorf("%q was read as %v", bad, p)
		}
	}
}
