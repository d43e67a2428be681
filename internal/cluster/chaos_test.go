//go:build unix

package cluster_test

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// chaosTime is the duration of the disturbances.
const chaosTime = 10 * time.Second

// TestChaos runs three processes at a fifth of the real times, and stops, cuts off and kills them
// at random. No work begins late or on two nodes simultaneously, and in the end everything is owned
// again.
func TestChaos(t *testing.T) {
	needsPostgres(t)
	t.Parallel()
	url, file := sqldbtest.URL(t), filepath.Join(t.TempDir(), "begun")
	db := sqldbtest.OpenWith(t, url, sqldb.Options{Readers: 2})
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any will do
	t.Logf("seed %d", seed)
	children, proxies := make([]*child, 3), make([]*sqldbtest.Proxy, 3)
	for i := range children {
		proxies[i] = sqldbtest.NewProxy(t, url)
		children[i] = startChild(t, proxies[i].URL, file)
	}
	await(t, "three nodes have begun something", func() bool { return ownedBy(t, db, 3) && allBegan(t, db, file) })
	var all sync.WaitGroup
	end := time.Now().Add(chaosTime)
	for i := range children {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			for time.Now().Before(end) {
				children[i] = disturb(t, children[i], proxies[i], file, random)
			}
		})
	}
	all.Wait()
	// Possibly none was killed: on a slow machine there are few disturbances.
	children[0] = replace(t, children[0], proxies[0], file)
	await(t, "everything is owned, and all have begun something", func() bool { return ownedBy(t, db, 3) && allBegan(t, db, file) })
	for _, c := range children {
		c.send(t, syscall.SIGTERM)
	}
	for _, c := range children {
		_ = c.Wait()
		if t.Failed() {
			t.Log(c.log.all)
		}
	}
	begun := readBeginnings(t, file)
	var nodes []string
	for _, b := range begun {
		if !slices.Contains(nodes, b.Node) {
			nodes = append(nodes, b.Node)
		}
	}
	t.Logf("%d begun by %d nodes", len(begun), len(nodes))
	if len(nodes) < 4 {
		t.Errorf("only %d nodes began something: the test is too weak", len(nodes))
	}
	checkBeginnings(t, begun)
}

// disturb waits a while and then disturbs a process.
func disturb(t *testing.T, c *child, proxy *sqldbtest.Proxy, file string, random *rand.Rand) *child {
	t.Helper()
	moment := func(longest time.Duration) { <-time.After(time.Duration(random.Int64N(int64(longest)))) }
	moment(2 * time.Second)
	switch random.IntN(7) {
	case 0, 1:
		c.send(t, syscall.SIGSTOP)
		moment(4 * time.Second)
		c.send(t, syscall.SIGCONT)
	case 2, 3:
		proxy.Freeze()
		moment(4 * time.Second)
		proxy.Restore()
	case 4:
		proxy.Cut()
		moment(2 * time.Second)
		proxy.Restore()
	case 5: // stopped and cut off; continues before it can reach the database
		c.send(t, syscall.SIGSTOP)
		proxy.Freeze()
		moment(4 * time.Second)
		c.send(t, syscall.SIGCONT)
		moment(time.Second)
		proxy.Restore()
	default:
		return replace(t, c, proxy, file)
	}
	return c
}

// replace kills a process and starts another one in its place.
func replace(t *testing.T, c *child, proxy *sqldbtest.Proxy, file string) *child {
	t.Helper()
	_ = c.Process.Kill()
	_ = c.Wait()
	return startChild(t, proxy.URL, file)
}

// nodeIDs returns the ids of the registered nodes.
func nodeIDs(t *testing.T, db *sqldb.DB) []string {
	t.Helper()
	ids, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT node FROM nodes`)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// allBegan reports whether each registered node has recorded some work.
func allBegan(t *testing.T, db *sqldb.DB, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // the test's own
	if err != nil {
		return false // none has
	}
	for _, id := range nodeIDs(t, db) {
		if !bytes.Contains(text, []byte(" "+id+" ")) {
			return false
		}
	}
	return true
}

// ownedBy reports whether exactly n nodes own all shards.
func ownedBy(t *testing.T, db *sqldb.DB, n int) bool {
	t.Helper()
	ids := nodeIDs(t, db)
	return len(ids) == n && countRows(t, db, func(c cluster.Claim) bool { return slices.Contains(ids, c.Node) }) == cluster.Shards
}

// checkBeginnings checks that no earlier owner began work after a shard's new owner did, and that
// an epoch has one owner.
func checkBeginnings(t *testing.T, begun []beginning) {
	t.Helper()
	slices.SortFunc(begun, func(a, b beginning) int { return cmp.Compare(a.at, b.at) })
	var newest [cluster.Shards]beginning
	late := 0
	for _, b := range begun {
		last := newest[b.Shard]
		switch {
		case b.Epoch > last.Epoch:
			newest[b.Shard] = b
		case b.Epoch < last.Epoch || b.Node != last.Node:
			if late++; late < 10 {
				t.Errorf("%v began %v after %v did", b.Claim, time.Duration(b.at-last.at), last.Claim)
			}
		}
	}
	if late > 0 {
		t.Errorf("%d of %d were begun late", late, len(begun))
	}
}

// TestKilledHolder: on SQLite, when the process that owns everything is killed, the next one does.
func TestKilledHolder(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("nodes on PostgreSQL share the work")
	}
	t.Parallel()
	path := sqldbtest.URL(t)
	file := filepath.Join(t.TempDir(), "begun")
	c := startChild(t, path, file)
	defer c.Wait() //nolint:errcheck // killed
	first := sqldbtest.OpenWith(t, path, sqldb.Options{})
	await(t, "the child has begun something", func() bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() > 0
	})
	n := startOn(t, first, nil)
	n.log.await("another process serves this database")
	c.send(t, syscall.SIGSTOP)
	if n.owned() != 0 {
		t.Error("a stopped process lost its lock")
	}
	c.send(t, syscall.SIGKILL)
	await(t, "the next one owns all", func() bool { return n.owned() == cluster.Shards })
}
