//go:build unix

package system_test

import (
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// longestGap is the longest time without a delivery while shards change their owner.
const longestGap = 10 * time.Second

// steady is how long the load runs on an unchanged set of nodes.
const steady = 4 * time.Second

// TestRollingUpgrade upgrades three nodes under load, one after another, goes back, and forward again,
// without a failed request, a lost event or a sale that is not posted. Then it proves the rest of
// docs/upgrade.md: the old form is deleted only when no node needs it, and from then on an older node
// does not work.
func TestRollingUpgrade(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("several nodes need PostgreSQL; make system-test starts one")
	}
	p := programsOf(t)
	db := sqldbtest.Empty(t)
	hook := newReceiver(t)
	addresses := freeAddresses(t, 4)
	public := "http://" + addresses[3] // the load goes to the nodes by the balancer
	c := seed(t, p.old, db, hook.URL)
	var nodes []*node
	for _, addr := range addresses[:3] {
		nodes = append(nodes, serve(t, p.old, db, addr, public))
	}
	l := begin(t, c, public, newBalancer(t, addresses[:3]...), 0)
	<-time.After(steady)
	hook.count(true)

	began := time.Now()
	if out, err := command(t, p.now, "migrate", "--db", db); err != nil || !has(out, "9001_artificial", "9002_artificial_index") || has(out, "9003") {
		t.Errorf("migrate: %v\n%s", err, out)
	}
	t.Logf("the migration took %v", time.Since(began))
	<-time.After(steady)
	for _, program := range []string{p.now, p.old, p.now} {
		for i, n := range nodes {
			n.stop()
			nodes[i] = serve(t, program, db, n.addr, public)
			<-time.After(steady)
		}
	}
	hook.count(false)
	l.end()
	requests, failed := l.report()
	settle(t, db)
	checkEvents(t, db, hook)
	hook.mu.Lock()
	longest := hook.longest
	hook.mu.Unlock()
	t.Logf("%d requests, %d failed; the longest time without a delivery is %v", requests, failed, longest)
	if longest > longestGap {
		t.Errorf("no delivery for %v", longest)
	}
	checkLedger(t, db)
	finish(t, p, db, public, nodes)
}

// settle waits until everything is delivered.
func settle(t *testing.T, url string) {
	t.Helper()
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	await(t, "everything is delivered", func() bool {
		n, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM outbox`)
		return err == nil && n == 0
	})
}

// checkEvents checks that each event was delivered once, and in order.
func checkEvents(t *testing.T, url string, hook *receiver) {
	t.Helper()
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	stored, err := sqldb.One(t.Context(), db, sqldb.Value[int], `SELECT count(*) FROM events`)
	if err != nil {
		t.Fatal(err)
	}
	told, doubled, disordered := hook.told()
	t.Logf("%d events; %d lost, %d doubled, %d out of order", stored, stored-told, doubled, disordered)
	if told != stored || doubled > 0 || disordered > 0 {
		t.Error("events must be delivered once, and in order")
	}
}

// finish ends the upgrade: with a node of the previous release, one that is paused, and without.
func finish(t *testing.T, p programs, db, public string, nodes []*node) {
	t.Helper()
	for _, i := range []int{0, 2} {
		nodes[i].stop()
		nodes[i] = serve(t, p.old, db, nodes[i].addr, public)
	}
	addr := nodes[1].addr
	nodes[1].stop()
	nodes[1] = serve(t, p.next, db, addr, public) // the following release waits
	await(t, "the release waits", func() bool { return has(nodes[1].log.String(), "contracting migrations wait", p.oldVersion) })
	if out, err := command(t, p.now, "migrate", "finish", "--yes", "--db", db); err == nil || !has(out, "stop them first", p.oldVersion) {
		t.Errorf("finish beside the previous release: %v\n%s", err, out)
	}
	nodes[2].stop()
	_ = nodes[0].cmd.Process.Signal(syscall.SIGSTOP)
	await(t, "the paused node counts as gone", func() bool {
		out, err := command(t, p.now, "migrate", "finish", "--yes", "--db", db)
		if err != nil {
			<-time.After(2 * time.Second)
		}
		return err == nil && has(out, "9003_artificial_end") || has(out, "nothing to delete")
	})
	_ = nodes[0].cmd.Process.Signal(syscall.SIGCONT)
	resp, err := http.Get("http://" + nodes[0].addr + "/v2/licenses") //nolint:noctx // local
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a node of the previous release that returns answers %d", resp.StatusCode)
	}
	await(t, "it is not ready", func() bool { status, body := nodes[0].ready(); return status == 503 && has(body, `"schema":"failed"`) })
	if out, err := command(t, p.old, "serve", "--db", db, "--addr", "127.0.0.1:0"); err == nil || !has(out, "needs claviger", "or newer") {
		t.Errorf("the previous release starts: %v\n%s", err, out)
	}
	if out, err := command(t, p.now, "nodes", "--db", db); err != nil || !has(out, p.nextVersion) {
		t.Errorf("nodes: %v\n%s", err, out)
	}
}

// TestUpgradeOnSQLite stops the one process and starts the new version, goes back, and forward again:
// nothing is lost.
func TestUpgradeOnSQLite(t *testing.T) {
	p := programsOf(t)
	db := filepath.Join(t.TempDir(), "claviger.db")
	hook := newReceiver(t)
	addresses := freeAddresses(t, 2)
	public := "http://" + addresses[1]
	c := seed(t, p.old, db, hook.URL)
	n := serve(t, p.old, db, addresses[0], public)
	through := newBalancer(t, addresses[0])
	for i, program := range []string{p.now, p.old, p.now} {
		l := begin(t, c, public, through, i*1_000_000) // orders of their own
		<-time.After(steady)
		l.end()
		if _, failed := l.report(); failed > 0 {
			t.Errorf("%d requests failed", failed)
		}
		began := time.Now()
		n.stop()
		n = serve(t, program, db, addresses[0], public)
		t.Logf("down for %v", time.Since(began))
	}
	settle(t, db)
	checkEvents(t, db, hook)
	checkLedger(t, db)
	if out, err := command(t, p.now, "migrate", "finish", "--yes", "--db", db); err == nil || !has(out, "stop the service") {
		t.Errorf("finish while the service runs: %v\n%s", err, out)
	}
	n.stop()
	if out, err := command(t, p.now, "migrate", "finish", "--yes", "--db", db); err != nil || !has(out, "9003_artificial_end") {
		t.Errorf("finish: %v\n%s", err, out)
	}
	if out, err := command(t, p.old, "serve", "--db", db, "--addr", "127.0.0.1:0"); err == nil || !has(out, "needs claviger") {
		t.Errorf("the previous release starts: %v\n%s", err, out)
	}
}
