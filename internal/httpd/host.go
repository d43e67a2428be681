package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// ownHost accepts only requests whose Host header is a name of this server. It refuses a web page
// whose own name resolves to this machine for a moment (DNS rebinding). Such a page could otherwise
// read answers from a loopback address.
func (s *Server) ownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Hosts == nil || s.isOwn(r) {
			next.ServeHTTP(w, r)
			return
		}
		wire.Fail(w, r, fault.New(
			fault.Forbidden,
			codeUnknownHost,
			"This server does not answer to the host name %.100q, so that no web page can reach it by a name of its "+
				"own. "+
				"Call it as localhost or by its address, or start it with the public-url that you call it by.",
			r.Host,
		))
	})
}

// isOwn reports whether the request's host is one of Hosts, this machine, or the local address of
// the connection.
func (s *Server) isOwn(r *http.Request) bool {
	name := hostName(r.Host)
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return name == "localhost" ||
			slices.ContainsFunc(s.Hosts, func(own string) bool { return hostName(own) == name })
	}
	if addr = addr.Unmap(); addr.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	own, ok := parseAddr(local.String())
	return ok && own == addr || slices.ContainsFunc(s.Hosts, func(own string) bool { return hostName(own) == name })
}

// hostName returns a host without its port, normalized for comparison.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
