//go:build unix

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// TestThreeNodes runs three nodes on one database under load. One is killed and one is suspended
// for longer than its leases, both with unanswered requests in flight; the third takes over. Then
// the suspended one resumes. Nothing is lost, and every license's events are in order.
func TestThreeNodes(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("an SQLite file has one node")
	}
	t.Parallel()
	db := sqldbtest.URL(t)
	// With a friendly partner the nodes' lanes are wide, and much is in flight.
	var mood atomic.Pointer[func(int64, int) reply]
	e := newEndpoint(t, func(event int64, nth int) reply { return (*mood.Load())(event, nth) })
	mood.Store(&friendly)
	var nodes []*child
	for range 3 {
		nodes = append(nodes, launch(t, "--db", db, "--webhook", e.URL, "--retry", quickly, "--log-format", "json"))
	}
	e.know(nodes[0].card.Partner.WebhookSecret)
	m := newMarket(9, 3)

	m.tradeFor(t, 200, nodes...)
	e.closeGate()
	held := loseTwo(t, m, e, nodes)
	mood.Store(&moody)
	e.openGate()
	m.tradeFor(t, 100, nodes[2])
	e.awaitAll(t, nodes[2]) // their leases must expire first
	signal(t, nodes[1], syscall.SIGCONT)
	m.tradeFor(t, 100, nodes[1], nodes[2])
	m.settle(t, nodes[1])
	e.awaitAll(t, nodes[1])
	for _, c := range nodes[1:] {
		if err := c.end(syscall.SIGTERM); err != nil {
			t.Errorf("a node did not end in order: %v", err)
		}
	}
	checkOwners(t, nodes, held)

	reader := launch(t, "--db", db, "--webhook", e.URL)
	orders := m.check(t, reader)
	b := openBooks(t, reader, e)
	b.checkTold()
	b.checkOrder()
	b.checkPicture(reader)
	cutOff := b.checkRecords(false)
	n := e.count()
	if n.duplicates > 2*mostCutOff {
		t.Errorf("%d deliveries more than needed for one killed and one stopped node", n.duplicates)
	}
	t.Logf("%d orders, %d events; %d requests, %d of them not on record, %d duplicates",
		orders, len(b.feed), n.arrivals, cutOff, n.duplicates)
}

// loseTwo trades at all nodes until each has requests in flight, then suspends the second and kills
// the first. It returns the events that the killed one had in flight.
func loseTwo(t *testing.T, m *market, e *endpoint, nodes []*child) (held map[int64]bool) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f := newFuse(300)
	m.onAck = f.burn
	wait := m.trade(ctx, t, func(i int) *child { return nodes[i%len(nodes)] })
	f.await(t)
	ownerFirst(t, e, nodes)
	before := e.count()
	signal(t, nodes[1], syscall.SIGSTOP)
	signal(t, nodes[0], syscall.SIGSTOP) // opens no more connections meanwhile
	own := e.openOf(connectionsOf(t, nodes[0]))
	_ = nodes[0].end(syscall.SIGKILL) // killed, which is an error for Wait
	stop()
	wait()
	if len(own) == 0 {
		t.Fatal("the node that is killed has no request in flight")
	}
	e.await(t, "the killed node's requests to break off", func() bool {
		return !slices.ContainsFunc(own, func(a *arrival) bool { return a.cut == 0 })
	})
	held = map[int64]bool{}
	for _, a := range own {
		held[a.event] = true
	}
	t.Logf("one node stopped and one killed with %d requests in flight, %d of them of the killed one, and %d events delivered", before.open, len(own), before.delivered)
	return held
}

// openOf returns the unanswered requests over connections from these ports.
func (e *endpoint) openOf(ports map[string]bool) (open []*arrival) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.arrivals {
		_, port, _ := net.SplitHostPort(a.from)
		if ports[port] && a.open() {
			open = append(open, a)
		}
	}
	return open
}

// open reports whether the request has no answer yet.
func (a *arrival) open() bool { return a.answered == 0 && a.cut == 0 }

// connectionsOf returns the local ports of a node's connections, from the kernel's list: a line has
// the address in its second column, with the port in hexadecimal after a colon, and the inode of
// the socket in its tenth.
func connectionsOf(t *testing.T, c *child) map[string]bool {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d", c.cmd.Process.Pid)
	open, err := os.ReadDir(folder + "/fd")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("only Linux tells which connections a process has")
	}
	if err != nil {
		t.Fatal(err)
	}
	sockets := map[string]bool{}
	for _, file := range open {
		to, _ := os.Readlink(folder + "/fd/" + file.Name()) // closed meanwhile: no match
		sockets[to] = true
	}
	table, err := os.ReadFile(folder + "/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		column := strings.Fields(line)
		if len(column) < 10 || !sockets["socket:["+column[9]+"]"] {
			continue
		}
		_, port, _ := strings.Cut(column[1], ":")
		if n, err := strconv.ParseUint(port, 16, 16); err == nil {
			ports[strconv.FormatUint(n, 10)] = true
		}
	}
	return ports
}

func signal(t *testing.T, c *child, s syscall.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		t.Fatalf("send %v: %v", s, err)
	}
}

// ownerFirst moves the node with requests in flight to the front: it sends for the partner. The
// owner may change at any time, because shards are handed to newer nodes.
func ownerFirst(t *testing.T, e *endpoint, nodes []*child) {
	t.Helper()
	e.await(t, "a request in flight", func() bool { return slices.ContainsFunc(e.arrivals, (*arrival).open) })
	owner := slices.IndexFunc(nodes, func(c *child) bool { return len(e.openOf(connectionsOf(t, c))) > 0 })
	if owner < 0 {
		t.Fatal("no node has a request in flight")
	}
	nodes[0], nodes[owner] = nodes[owner], nodes[0]
}

// checkOwners checks in the nodes' logs that others delivered the events of the killed one.
func checkOwners(t *testing.T, nodes []*child, held map[int64]bool) {
	t.Helper()
	made := make([]map[int64]bool, len(nodes))
	for i, c := range nodes {
		made[i] = delivered(c.log.String())
		t.Logf("node %d delivered %d events", i+1, len(made[i]))
	}
	for event := range held {
		if !made[1][event] && !made[2][event] {
			t.Errorf("event %d, held by the killed node, was not delivered by another", event)
		}
	}
	t.Logf("%d events were in flight on the killed node", len(held))
}

// delivered returns the deliveries in the log of a node.
func delivered(log string) map[int64]bool {
	events := map[int64]bool{}
	for lines := bufio.NewScanner(strings.NewReader(log)); lines.Scan(); {
		var line struct {
			Msg     string `json:"msg"`
			Event   int64  `json:"event_id"`
			Outcome string `json:"outcome"`
		}
		// The last line may be incomplete.
		if err := json.Unmarshal(lines.Bytes(), &line); err == nil && line.Msg == "webhook attempt" && line.Outcome == "delivered" {
			events[line.Event] = true
		}
	}
	return events
}
