package idempotency_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/idempotency"
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

// ask runs a request whose effect is to count, and returns its answer.
func ask(t *testing.T, db *sqldb.DB, r idempotency.Request, effects *atomic.Int64) (string, error) {
	t.Helper()
	var got string
	var did bool
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		answer, found, err := idempotency.Find(t.Context(), tx, r)
		if err != nil {
			return err
		}
		did = !found
		if did {
			answer = fmt.Appendf(nil, `{"body":%q}`, r.Body)
			idempotency.Keep(tx, r, answer, noon)
		}
		got = string(answer)
		return nil
	})
	if err == nil && did {
		effects.Add(1)
	}
	return got, err
}

func TestFind(t *testing.T) {
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
		{"the first", first, `{"body":"b1"}`, "", 1},
		{"the same again", first, `{"body":"b1"}`, "", 1},
		{"another body", idempotency.Request{Scope: "token:1", Key: "k", Body: "b2"}, "", "idempotency_key_reused", 1},
		{"another token's key", idempotency.Request{Scope: "token:2", Key: "k", Body: "b2"}, `{"body":"b2"}`, "", 2},
		{"another key", idempotency.Request{Scope: "token:1", Key: "K", Body: "b1"}, `{"body":"b1"}`, "", 3},
		{"no key", idempotency.Request{Scope: "token:1", Body: "b1"}, `{"body":"b1"}`, "", 4},
		{"no key again", idempotency.Request{Scope: "token:1", Body: "b1"}, `{"body":"b1"}`, "", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ask(t, db, c.request, &effects)
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

func TestFailedRequestKeepsNothing(t *testing.T) {
	db := sqldbtest.Open(t)
	r := idempotency.Request{Scope: "token:1", Key: "k", Body: "b1"}
	refused := errors.New("refused")
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		idempotency.Keep(tx, r, []byte("{}"), noon)
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	var effects atomic.Int64
	if got, err := ask(t, db, idempotency.Request{Scope: "token:1", Key: "k", Body: "b2"}, &effects); err != nil || got != `{"body":"b2"}` {
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
			got, err := ask(t, db, r, &effects)
			switch {
			case fault.Is(err, "idempotency_key_in_use"):
			case err != nil || got != `{"body":"b1"}`:
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

// TestStillRunning holds one request open while another asks; SQLite has one
// writer, so there the other simply waits its turn.
func TestStillRunning(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("only PostgreSQL runs two writers at once")
	}
	db := sqldbtest.Open(t)
	r := idempotency.Request{Scope: "token:1", Key: "k", Body: "b1"}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, _, err := idempotency.Find(t.Context(), tx, r); err != nil {
			return err
		}
		var effects atomic.Int64
		if _, err := ask(t, db, r, &effects); !fault.Is(err, "idempotency_key_in_use") || fault.Of(err).Kind != fault.Conflict {
			t.Errorf("a request beside a running one: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestForget(t *testing.T) {
	db := sqldbtest.Open(t)
	const old = 2005 // more than two batches
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for i := range old {
			idempotency.Keep(tx, idempotency.Request{Scope: "token:1", Key: fmt.Sprint(i), Body: "b"}, []byte("{}"), noon.Add(-time.Duration(i)*time.Second))
		}
		idempotency.Keep(tx, idempotency.Request{Scope: "token:1", Key: "young", Body: "b"}, []byte("{}"), noon.Add(time.Second))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now := noon.Add(idempotency.Kept)
	k := idempotency.Pruner{DB: db, Now: func() time.Time { return now }}
	// The answer of noon is exactly as old as it may get.
	for _, want := range []int64{old - 1, 0} {
		if n, err := k.Prune(t.Context()); n != want || err != nil {
			t.Errorf("Forget = %d, %v; want %d", n, err, want)
		}
	}
	left, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM idempotency_keys`)
	if left != 2 || err != nil {
		t.Errorf("%d answers are left (%v), want 2", left, err)
	}
}
