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
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/backups"
	"claviger/internal/sqldb"
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

// ageOfBackup is the metric.
var ageOfBackup = regexp.MustCompile(`(?m)^claviger_backup_age_seconds (\S+)$`)

// TestBackupAge: every node reports the age of the last good backup, and nothing before there is one:
// on SQLite of those by the service, on PostgreSQL of those that are reported.
func TestBackupAge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "backups")
	noon := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	var passed atomic.Int64 // seconds since noon
	now := func() time.Time { return noon.Add(time.Duration(passed.Load()) * time.Second) }
	h := apptest.Start(t, func(c *app.Config) {
		c.AdminAddr = "127.0.0.1:0"
		c.Now = now
		if !sqldbtest.Postgres() {
			c.BackupDir, c.BackupEvery, c.BackupKeep = dir, time.Hour, 1
		}
	})
	age := func() string {
		metrics := apptest.Send(t, http.DefaultClient, http.MethodGet, "http://"+h.App.AdminAddr()+"/metrics", "").Body
		if found := ageOfBackup.FindStringSubmatch(metrics); found != nil {
			return found[1]
		}
		return ""
	}
	want := "0"
	if sqldbtest.Postgres() {
		if got := age(); got != "" {
			t.Errorf("without a backup, its age is %q", got)
		}
		want = "7200"
		h.Must(backups.Report(t.Context(), h.DB, noon.Add(-2*time.Hour), noon))
	}
	got := age()
	for got == "" {
		got = age()
	}
	if got != want {
		t.Errorf("the age is %q, want %q", got, want)
	}
	passed.Store(60)
	seconds, err := strconv.Atoi(want)
	h.Must(err)
	if got, want := age(), strconv.Itoa(seconds+60); got != want {
		t.Errorf("a minute later, the age is %q, want %q", got, want)
	}
}

// TestBackupsSwitchedOff: a job that is switched off is no longer late.
func TestBackupsSwitchedOff(t *testing.T) {
	h := apptest.New(t)
	h.Exec(`INSERT INTO job_runs (job, node, began_at, took_us, next_at, succeeded_at, failed_since, error)
		VALUES ('backups', 'one', 1, 1, 2, 1, 0, '')`)
	h.Run()
	for {
		n, err := sqldb.One(t.Context(), h.DB, sqldb.Value[int], `SELECT count(*) FROM job_runs WHERE job = 'backups'`)
		h.Must(err)
		if n == 0 {
			return
		}
	}
}
