package e2e_test

import (
	"syscall"
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// TestOneTakesTheOthersPlace runs two processes on one SQLite file, as when a new one starts before
// the old one has ended. One of them sends until it ends. Every event arrives once and in order.
func TestOneTakesTheOthersPlace(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("nodes on PostgreSQL share the work")
	}
	t.Parallel()
	db := sqldbtest.URL(t)
	e := newEndpoint(t, moody)
	var nodes []*child
	for range 2 {
		nodes = append(nodes, launch(t, "--db", db, "--webhook", e.URL, "--retry", quickly))
	}
	e.know(nodes[0].card.Partner.WebhookSecret)
	m := newMarket(5, 2)
	m.tradeFor(t, 200, nodes...)
	if err := nodes[0].end(syscall.SIGTERM); err != nil {
		t.Errorf("the old process did not end in order: %v", err)
	}
	m.tradeFor(t, 100, nodes[1])
	m.settle(t, nodes[1])
	e.awaitAll(t, nodes[1])
	m.check(t, nodes[1])
	b := openBooks(t, nodes[1], e)
	b.checkTold()
	b.checkOrder()
	b.checkRecords(false)
	if n := e.count(); n.duplicates != 0 {
		t.Errorf("%d deliveries more than needed", n.duplicates)
	}
}
