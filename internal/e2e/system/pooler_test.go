//go:build unix

package system_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"claviger/internal/sqldb/sqldbtest"
)

// TestPooler: two nodes work through pgbouncer in transaction mode, with a plain URL: migrations,
// purchases in normal time, deliveries and exports. doctor names the pooler.
func TestPooler(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("a pooler needs PostgreSQL; make system-test starts one")
	}
	program := currentProgram(t)
	direct := sqldbtest.Empty(t)
	pooled := startPooler(t, direct)
	if out, err := command(t, program, "migrate", "--db", pooled); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	hook := newReceiver(t)
	c := seed(t, program, pooled, hook.URL)
	addresses := freeAddresses(t, 2)
	public := "http://" + addresses[0]
	nodes := []*node{serve(t, program, pooled, addresses[0], public), serve(t, program, pooled, addresses[1], public)}
	b := startBuyers(t, c, nodes...)
	<-time.After(10 * time.Second)
	deals := b.end()
	middle, failed := took(deals, 50)
	late, _ := took(deals, 99)
	t.Logf("%d purchases through the pooler, %d failed; p50 %v, p99 %v", len(deals), failed, middle, late)
	if failed > 0 || middle > time.Second {
		t.Errorf("%d purchases failed, and p50 is %v", failed, middle)
	}
	settle(t, direct)
	checkEvents(t, direct, hook)
	checkExport(t, nodes[1], c, len(deals))
	out, _ := command(t, program, "doctor", "--db", pooled)
	if !has(out, "a pooler is before the database", "db-direct-url") {
		t.Errorf("doctor says:\n%s", out)
	}
	out, _ = command(t, program, "doctor", "--db", pooled, "--db-direct-url", direct)
	if !has(out, "go past it") {
		t.Errorf("doctor with a direct URL says:\n%s", out)
	}
}

// startPooler starts pgbouncer before a database, and returns the plain URL through it.
func startPooler(t *testing.T, direct string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			t.Skip("pgbouncer is not on this machine; script/deploy-tools installs it")
		}
	}
	cfg, err := pgconn.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	dir := serverFolder(t)
	addr := freeAddresses(t, 1)[0]
	file := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n* = host=%s port=%d user=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\n"+
		"unix_socket_dir =\nauth_type = any\npool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 20\n",
		cfg.Host, cfg.Port, cfg.User, portOf(t, addr))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // without secrets
		t.Fatal(err)
	}
	background(t, asServer(t, dir, program, file))
	u := url.URL{Scheme: "postgres", User: url.User(cfg.User), Host: addr, Path: "/" + cfg.Database, RawQuery: "sslmode=disable"}
	await(t, "the pooler answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		conn, err := pgconn.Connect(ctx, u.String())
		if err == nil {
			_ = conn.Close(ctx)
		}
		return err == nil
	})
	return u.String()
}

// checkExport checks that an export has a line for each license.
func checkExport(t *testing.T, n *node, c card, least int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.addr+"/operator/v1/exports/licenses?format=csv", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.OperatorToken)
	a, err := do(&http.Client{Timeout: time.Minute}, req)
	if lines := strings.Count(a.body, "\n"); err != nil || a.status != http.StatusOK || lines <= least {
		t.Errorf("the export is answered %d %v with %d lines", a.status, err, lines)
	}
}
