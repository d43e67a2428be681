package wire

import (
	"net"
	"net/http"
	"net/netip"
	"time"
)

// NetworkLimiter allows each client so many calls a minute, and each larger network
// around an IPv6 client twice as many as the next smaller one: who has a /48 has
// 65,536 networks of households to call from. It stores a bounded number of
// networks of each size. A nil NetworkLimiter allows everything.
type NetworkLimiter struct {
	sizes [len(networkSizes)]Limiter
}

// networkSizes are the IPv6 prefixes that are counted: of a household, of a site,
// and of what providers give to whoever asks.
var networkSizes = [...]int{64, 56, 48}

// NewNetworkLimiter makes a limiter that allows an IPv4 address or an IPv6 /64 so
// many calls a minute. The clock is time.Now when now is nil.
func NewNetworkLimiter(perMinute int, now func() time.Time) *NetworkLimiter {
	l := &NetworkLimiter{}
	for i := range l.sizes {
		l.sizes[i].PerMinute, l.sizes[i].Now = perMinute<<i, now
	}
	return l
}

// Take counts a call of the client that r comes from. What a smaller network is
// refused is not counted for the larger ones.
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

// Client is the address failed authentications are counted under. A household has a whole /64 of
// IPv6 addresses, so those count as one.
func Client(r *http.Request) string { return networks(r)[0] }

// Address is the address of the client: that of the note, or of the connection
// where there is none. It is the zero one when it is not known.
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

// networks are what the client of r is counted under, by networkSizes; an IPv4
// address stands for itself alone.
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
