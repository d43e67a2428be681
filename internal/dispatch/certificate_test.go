package dispatch_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"claviger/internal/sqldb"
)

// The expiry of an endpoint's certificate is stored whether or not it accepts the event, but only
// for the partner's current URL.
func TestCertificateIsNoted(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		moved  bool
	}{
		"taken": {200, false}, "refused": {500, false}, "by a URL that was the partner's": {200, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			server := httptest.NewUnstartedServer(http.HandlerFunc(g.ServeHTTP))
			server.TLS = &tls.Config{Certificates: []tls.Certificate{trusted}}
			server.StartTLS()
			t.Cleanup(server.Close)
			r.partnerAt(1, server.URL)
			now := server.URL
			if c.moved {
				now = "https://elsewhere.example"
			}
			r.write(func(tx *sqldb.Tx) {
				tx.Queue(`INSERT INTO profiles (partner_id, webhook_url, webhook_valid_at, redirect_url, redirect_valid_at, redirect_epoch, created_at, updated_at)
					VALUES (1, $1, 0, '', 0, 0, 0, 0)`, now)
			})
			r.license(1, 1)
			r.event(r.out, 1)
			r.run(r.stepped(settings{}))
			r.finish(c.status, g.next())
			want := trusted.Leaf.NotAfter.UnixNano()
			if c.moved {
				want = 0
			}
			same(t, "noted", r.count(`SELECT certificate_until FROM profiles`), want)
		})
	}
}

// trusted is a certificate for servers on this machine that this process trusts.
var trusted tls.Certificate

// makeTrusted creates trusted. Call it before the first test, because the system's certificates are
// read only once.
func makeTrusted() (end func(), err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour).Truncate(time.Second),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, text, text, key.Public(), key)
	if err != nil {
		return nil, err
	}
	trusted = tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key, Leaf: text}
	dir, err := os.MkdirTemp("", "claviger-trust-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "certificate.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600); err != nil {
		return nil, err
	}
	return func() { _ = os.RemoveAll(dir) }, os.Setenv("SSL_CERT_FILE", file)
}
