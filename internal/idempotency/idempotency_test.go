package idempotency_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestValid(t *testing.T) {
	for key, ok := range map[string]bool{
		"a":                        true,
		"Order 17 ~ {x}":           true,
		strings.Repeat("k", 255):   true,
		strings.Repeat("k", 256):   false,
		"":                         false,
		"tab\there":                false,
		"nul\x00":                  false,
		"caf\u00e9":                false,
		"not utf-8 \xff":           false,
		"del\x7f":                  false,
		"'; DROP TABLE licenses--": true,
	} {
		err := idempotency.Request{Key: key}.Valid()
		if (err == nil) != ok || err != nil && !fault.Is(err, "invalid_idempotency_key") {
			t.Errorf("key %q: %v, want it valid: %v", key, err, ok)
		}
	}
}

// outcome is the outcome of a request in these tests.
type outcome struct {
	Body string `json:"body"`
}

// run runs a request that increments effects, and returns its outcome.
func run(t *testing.T, db *sqldb.DB, r idempotency.Request, effects *atomic.Int64) (string, error) {
	t.Helper()
	var got outcome
	var did bool
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		found, err := idempotency.Lookup(t.Context(), tx, r, &got)
		if err != nil {
			return err
		}
		did = !found
		if found {
			return nil
		}
		got = outcome{Body: r.Body}
		return idempotency.Store(tx, r, got, noon)
	})
	if err == nil && did {
		effects.Add(1)
	}
	return got.Body, err
}

func TestLookup(t *testing.T) {
	db := sqldbtest.Open(t)
	var effects atomic.Int64
	first := idempotency.Request{Scope: "token:1", Key: "k", Body: "b1"}
	for _, c := range []struct {
		name    string
		request idempotency.Request
		want    string
		code    string
		effects int64
	}{
		{"the first", first, "b1", "", 1},
		{"the same again", first, "b1", "", 1},
		{"another body", idempotency.Request{Scope: "token:1", Key: "k", Body: "b2"}, "", "idempotency_key_reused", 1},
		{"another token's key", idempotency.Request{Scope: "token:2", Key: "k", Body: "b2"}, "b2", "", 2},
		{"another key", idempotency.Request{Scope: "token:1", Key: "K", Body: "b1"}, "b1", "", 3},
		{"no key", idempotency.Request{Scope: "token:1", Body: "b1"}, "b1", "", 4},
		{"no key again", idempotency.Request{Scope: "token:1", Body: "b1"}, "b1", "", 5},
		{"an external id", idempotency.External("refund:1", "k", "b1"), "b1", "", 6},
		{"the external id again", idempotency.External("refund:1", "k", "b1"), "b1", "", 6},
		{"the external id with other content", idempotency.External("refund:1", "k", "b2"), "", "external_id_reused", 6},
		{"another partner's external id", idempotency.External("refund:2", "k", "b2"), "b2", "", 7},
		{"a key that looks like an external id's", idempotency.Request{Scope: "refund:1", Key: "k", Body: "b3"}, "b3", "", 8},
		{"no external id", idempotency.External("refund:1", "", "b1"), "b1", "", 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := run(t, db, c.request, &effects)
			if (err != nil) != (c.code != "") || err != nil && !fault.Is(err, c.code) {
				t.Fatalf("got %v, want the fault %q", err, c.code)
			}
			if err == nil && got != c.want {
				t.Errorf("answer %s, want %s", got, c.want)
			}
			if n := effects.Load(); n != c.effects {
				t.Errorf("%d effects, want %d", n, c.effects)
			}
		})
	}
}

func TestFailedRequestStoresNothing(t *testing.T) {
	db := sqldbtest.Open(t)
	r := idempotency.Request{Scope: "token:1", Key: "k", Body: "b1"}
	refused := errors.New("refused")
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		return errors.Join(idempotency.Store(tx, r, outcome{}, noon), refused)
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	var effects atomic.Int64
	if got, err := run(t, db, idempotency.Request{Scope: "token:1", Key: "k", Body: "b2"}, &effects); err != nil || got != "b2" {
		t.Errorf("got %s, %v; want the key free for use", got, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	db := sqldbtest.Open(t)
	r := idempotency.Request{Scope: "token:1", Key: "k", Body: "b1"}
	var effects, answered atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			got, err := run(t, db, r, &effects)
			switch {
			case fault.Is(err, "idempotency_key_in_use"):
			case err != nil || got != "b1":
				t.Errorf("got %q, %v", got, err)
			default:
				answered.Add(1)
			}
		})
	}
	wg.Wait()
	if effects.Load() != 1 || answered.Load() == 0 {
		t.Errorf("%d effects and %d answers, want one effect and some answers", effects.Load(), answered.Load())
	}
}

// TestStillRunning repeats a request while the first is still running. SQLite has one writer, so
// the repeat waits there.
func TestStillRunning(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("only PostgreSQL runs two writers at once")
	}
	db := sqldbtest.Open(t)
	r := idempotency.Request{Scope: "token:1", Key: "k", Body: "b1"}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := idempotency.Lookup(t.Context(), tx, r, &outcome{}); err != nil {
			return err
		}
		var effects atomic.Int64
		if _, err := run(t, db, r, &effects); !fault.Is(err, "idempotency_key_in_use") || fault.Of(err).Kind != fault.Conflict {
			t.Errorf("a request beside a running one: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPrune(t *testing.T) {
	db := sqldbtest.Open(t)
	const old = 2005 // more than two batches
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		var all []error
		store := func(r idempotency.Request, at time.Time) { all = append(all, idempotency.Store(tx, r, outcome{}, at)) }
		for i := range old {
			store(idempotency.Request{Scope: "token:1", Key: fmt.Sprint(i), Body: "b"}, noon.Add(-time.Duration(i)*time.Second))
		}
		store(idempotency.Request{Scope: "token:1", Key: "young", Body: "b"}, noon.Add(time.Second))
		store(idempotency.External("refund:1", "old", "b"), noon.AddDate(-5, 0, 0))
		return errors.Join(all...)
	})
	if err != nil {
		t.Fatal(err)
	}
	now := noon.Add(idempotency.Lifetime)
	// The outcome of noon has exactly the maximum age.
	for _, want := range []int64{old - 1, 0} {
		if n, err := prune.Rows(t.Context(), db, now, idempotency.Expiring()); n != want || err != nil {
			t.Errorf("Prune = %d, %v; want %d", n, err, want)
		}
	}
	left, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT key FROM idempotency_keys ORDER BY key`)
	if diff := cmp.Diff([]string{"0", "old", "young"}, left); diff != "" || err != nil {
		t.Errorf("left: %v (-want +got)\n%s", err, diff)
	}
}

// TestDelete frees an external id.
func TestDelete(t *testing.T) {
	db := sqldbtest.Open(t)
	var effects atomic.Int64
	if _, err := run(t, db, idempotency.External("partner", "k", "b1"), &effects); err != nil {
		t.Fatal(err)
	}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		idempotency.Delete(tx, idempotency.External("partner", "k", ""))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, db, idempotency.External("partner", "k", "b2"), &effects); got != "b2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
