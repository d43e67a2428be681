package wire

import (
	"net"
	"net/http"
	"net/netip"
	"time"
)

// NetworkLimiter allows each client a number of calls per minute, and each larger network around an
// IPv6 client twice as many as the next smaller one: the owner of a /48 has 65,536 household
// networks. It stores a limited number of networks of each size. A nil NetworkLimiter allows
// everything.
type NetworkLimiter struct {
	sizes [len(networkSizes)]Limiter
}

// networkSizes are the counted IPv6 prefixes: of a household, of a site, and of an allocation that
// providers give to anyone.
var networkSizes = [...]int{64, 56, 48}

// NewNetworkLimiter makes a limiter that allows an IPv4 address or an IPv6 /64 this many calls per
// minute. If now is nil, the clock is time.Now.
func NewNetworkLimiter(perMinute int, now func() time.Time) *NetworkLimiter {
	l := &NetworkLimiter{}
	for i := range l.sizes {
		l.sizes[i].PerMinute = perMinute << i
		l.sizes[i].Now = now
	}
	return l
}

// Take counts a call of the client of r. A call refused for a smaller network is not counted for
// the larger ones.
func (l *NetworkLimiter) Take(r *http.Request) Quota {
	q := Quota{OK: true}
	if l == nil {
		return q
	}
	for i, network := range networks(r) {
		if q = l.sizes[i].Take(network); !q.OK {
			break
		}
	}
	return q
}

// Client returns the key under which failed authentications are counted. A household has a whole
// /64 of IPv6 addresses, so these count as one.
func Client(r *http.Request) string { return networks(r)[0] }

// Address returns the address of the client: from the request log, or else from the connection. It
// is zero if unknown.
func Address(r *http.Request) netip.Addr {
	host := RequestLogOf(r.Context()).Client
	if host == "" {
		host, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// networks returns the keys under which the client of r is counted, by networkSizes. An IPv4
// address counts only as itself.
func networks(r *http.Request) []string {
	addr := Address(r)
	if !addr.Is6() {
		return []string{addr.String()}
	}
	list := make([]string, len(networkSizes))
	for i, bits := range networkSizes {
		p, _ := addr.Prefix(bits)
		list[i] = p.String()
	}
	return list
}
