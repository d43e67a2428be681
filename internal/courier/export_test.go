package courier

import (
	"crypto/x509"
	"net/http/httptest"
)

// Trust makes the client trust the certificate of a test's server.
func (c *Client) Trust(s *httptest.Server) {
	if s.Certificate() != nil {
		c.pool.tls.RootCAs = x509.NewCertPool()
		c.pool.tls.RootCAs.AddCert(s.Certificate())
	}
}
