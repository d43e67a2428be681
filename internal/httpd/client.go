package httpd

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the addresses that are trusted to report a client's address.
type Proxies []netip.Prefix

// ParseProxies parses addresses and networks, such as 10.0.0.0/8 or ::1.
func ParseProxies(list []string) (Proxies, error) {
	var p Proxies
	for _, s := range list {
		if addr, err := netip.ParseAddr(s); err == nil {
			addr = addr.Unmap()
			p = append(p, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", s)
		}
		p = append(p, prefix.Masked())
	}
	return p, nil
}

func (p Proxies) has(addr netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// Client returns the address of the client: of the connection or, if that is a declared proxy, the
// rightmost entry of X-Forwarded-For that is not one. Entries further left were written by the
// client and prove nothing. An entry that is no address ends the search at the last known proxy.
func (p Proxies) Client(r *http.Request) string {
	addr, ok := parseAddr(r.RemoteAddr)
	if !ok {
		return ""
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && p.has(addr); i-- {
		next, ok := parseAddr(strings.TrimSpace(hops[i]))
		if !ok {
			break
		}
		addr = next
	}
	return addr.String()
}

// warnUndeclared warns once about an undeclared proxy that forwards requests. If it is the
// operator's own, all clients behind it count as one and share its limits.
func (s *Server) warnUndeclared(r *http.Request) {
	if s.warned.Load() || r.Header.Get("X-Forwarded-For") == "" {
		return
	}
	addr, ok := parseAddr(r.RemoteAddr)
	if !ok || s.Proxies.has(addr) || s.warned.Swap(true) {
		return
	}
	s.Log.Warn(
		"a request with X-Forwarded-For came from an address that is not a declared proxy, so its X-Forwarded-For "+
			"is ignored; "+
			"if this is your proxy, add its address to trusted-proxies, or all clients behind it share one rate limit",
		"addr",
		addr.String(),
		"setting",
		"trusted-proxies",
	)
}

// parseAddr parses an address with or without a port or brackets.
func parseAddr(s string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}
