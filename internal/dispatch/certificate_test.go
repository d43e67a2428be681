package dispatch_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"claviger/internal/sqldb"
)

// The end of the certificate that an endpoint shows is noted, whether it takes the event
// or not, and only for the URL that the partner has now.
func TestCertificateIsNoted(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		moved  bool
	}{
		"taken": {200, false}, "refused": {500, false}, "by a URL that was the partner's": {200, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			server := httptest.NewTLSServer(http.HandlerFunc(g.ServeHTTP))
			t.Cleanup(server.Close)
			trust(t, server)
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
			want := server.Certificate().NotAfter.UnixNano()
			if c.moved {
				want = 0
			}
			same(t, "noted", r.count(`SELECT certificate_until FROM profiles`), want)
		})
	}
}

// trust makes this process trust the certificate of a test server. The system's
// certificates are read once, so it holds for all tests of the package; all test servers
// have the same certificate.
func trust(t *testing.T, s *httptest.Server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "certificate.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
}
