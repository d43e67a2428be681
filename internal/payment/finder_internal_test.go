package payment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestFindTogether: lookups during a query are answered by the next one, each with its own
// checkout. A cancelled lookup returns early.
func TestFindTogether(t *testing.T) {
	db := sqldbtest.Open(t)
	b := &Store{DB: db, Licenses: &license.Store{DB: db}}
	for i := range 3 {
		c := Checkout{Ref: fmt.Sprintf("co_%d", i), PartnerID: 1, Tier: i + 1, LicenseKey: "key", State: Open}
		if _, err := b.insert(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if !b.finder.first(&sought{}) {
		t.Fatal("a query is under way before the first")
	}
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, _, err := b.findRef(gone, "co_0")
		left <- err
	}()
	type answer struct {
		seeks, got string
		found      bool
		err        error
	}
	answers := make(chan answer)
	want := map[string]bool{"co_0": true, "co_1": true, "co_2": true, "co_none": false, "co_\x00": false}
	for ref := range want {
		for range 5 {
			go func() {
				c, found, err := b.findRef(t.Context(), ref)
				answers <- answer{ref, c.Ref, found, err}
			}()
		}
	}
	// One ref cannot be stored, and its lookup does not wait.
	for waiting := 0; waiting < 5*(len(want)-1)+1; runtime.Gosched() {
		b.finder.mu.Lock()
		waiting = len(b.finder.waiting)
		b.finder.mu.Unlock()
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who went away got %v", err)
	}
	b.findWaiting()
	for range 5 * len(want) {
		a := <-answers
		if a.err != nil || a.found != want[a.seeks] || a.found && a.got != a.seeks {
			t.Errorf("%+v", a)
		}
	}
	if c, found, err := b.findRef(t.Context(), "co_1"); err != nil || !found || c.Tier != 2 {
		t.Errorf("afterwards: %+v, %v, %v", c, found, err)
	}
}

// TestFindTogetherFails: a query that fails is an error of all its lookups. To a payment, a checkout
// that was not found means that none exists.
func TestFindTogetherFails(t *testing.T) {
	db := sqldbtest.Open(t)
	b := &Store{DB: db}
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`ALTER TABLE checkouts RENAME TO away`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	list := []*sought{{ref: "co_1", done: make(chan struct{})}, {ref: "co_2", done: make(chan struct{})}}
	b.findAll(list)
	for _, s := range list {
		if <-s.done; s.err == nil {
			t.Errorf("%s: %+v without an error", s.ref, s.checkout)
		}
	}
}
