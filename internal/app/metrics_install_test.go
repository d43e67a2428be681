package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/sqldb/sqldbtest"
)

// expired starts a server with a certificate that has expired, and counts its connections.
func expired(t *testing.T, at time.Time) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: at.Add(-time.Hour), NotAfter: at}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, &connections
}

// TestCertificateFigure: the metrics have the expiry of the public URL's certificate, also of one
// that has expired, and many scrapes ask for it once.
func TestCertificateFigure(t *testing.T) {
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	server, connections := expired(t, at)
	h := apptest.Start(t, func(c *app.Config) {
		c.AdminAddr = "127.0.0.1:0"
		c.PublicURL = server.URL
	})
	const name = "\nclaviger_certificate_expiry_timestamp_seconds "
	scrape := func() string {
		return apptest.Send(t, http.DefaultClient, http.MethodGet, "http://"+h.App.AdminAddr()+"/metrics", "").Body
	}
	if connections.Load() != 0 {
		t.Error("the certificate was read, and nobody scrapes")
	}
	metrics := scrape()
	for !strings.Contains(metrics, name) {
		metrics = scrape()
	}
	if want := fmt.Sprintf("%s%v\n", name, float64(at.Unix())); !strings.Contains(metrics, want) {
		t.Errorf("there is no %s in\n%s", want, metrics)
	}
	scrape()
	if n := connections.Load(); n != 1 {
		t.Errorf("the certificate was read %d times", n)
	}
	if has := strings.Contains(metrics, "\nclaviger_database_disk_free_bytes "); has == sqldbtest.Postgres() {
		t.Errorf("the free space for the database is there: %v", has)
	}
}
