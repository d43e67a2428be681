package courier

import (
	"context"
	"crypto/x509"
	"net/http/httptest"
	"net/netip"
)

// Trust makes the client trust the certificate of a test server.
func (c *Client) Trust(s *httptest.Server) {
	if s.Certificate() != nil {
		c.pool.tls.RootCAs = x509.NewCertPool()
		c.pool.tls.RootCAs.AddCert(s.Certificate())
	}
}

// Resolving makes every host resolve to these addresses if a proxy is used.
func (o Options) Resolving(addresses ...string) Options {
	o.lookup = func(context.Context, string, string) (list []netip.Addr, err error) {
		for _, a := range addresses {
			list = append(list, netip.MustParseAddr(a))
		}
		return list, nil
	}
	return o
}
