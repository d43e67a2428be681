package audit_test

import (
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/paging"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// clients returns the addresses of clients in the log, newest first.
func clients(t *testing.T, l *audit.Log) (list []string) {
	t.Helper()
	entries, _, err := l.List(t.Context(), audit.Filter{ActorKind: audit.ByUser}, paging.First())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Actor.Client)
	}
	return list
}

// TestPrune checks that the address of a client is removed after 90 days, and the entry stays.
func TestPrune(t *testing.T) {
	l := fill(t)
	at := noon.Add(2 * time.Second).Add(audit.ClientKept)
	if n, err := prune.Rows(t.Context(), l.DB, at, audit.Expiring()); n != 0 || err != nil || clients(t, l)[0] != ann.Client {
		t.Errorf("pruned %d, %v; it has %v", n, err, clients(t, l))
	}
	at = at.Add(time.Microsecond)
	if n, err := prune.Rows(t.Context(), l.DB, at, audit.Expiring()); n != 1 || err != nil || clients(t, l)[0] != "" {
		t.Errorf("pruned %d, %v; it has %v", n, err, clients(t, l))
	}
	if n, err := prune.Rows(t.Context(), l.DB, at, audit.Expiring()); n != 0 || err != nil {
		t.Errorf("pruned %d more, %v", n, err)
	}
}

// TestEraseUser checks that only the addresses of an erased person's clients are removed,
// immediately.
func TestEraseUser(t *testing.T) {
	l := fill(t)
	err := l.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		audit.Record(tx, noon, audit.Actor{Kind: audit.ByUser, ID: 4, Client: "203.0.113.4"}, "user.sign_in", "user:4", nil, nil)
		audit.EraseUser(tx, 3)
		return nil
	})
	if got := clients(t, l); err != nil || len(got) != 2 || got[0] != "203.0.113.4" || got[1] != "" {
		t.Errorf("left %q, %v", got, err)
	}
}
