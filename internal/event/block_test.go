package event_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// block is the number of events with a status in a block of ordinals.
type block struct{ Status, Index, N int64 }

// TestBlocksAreThoseOfThePages changes licenses with events on both sides of the border between two
// blocks: the stored counts match the blocks of package paging.
func TestBlocksAreThoseOfThePages(t *testing.T) {
	m := open(t)
	p := m.partner()
	err := m.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE partner_counters SET events = $2 WHERE partner_id = $1`, p, paging.BlockSize-3)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range m.buy(p, 6) {
		if _, err := m.licenses.Hold(t.Context(), tester, l.Key, 1); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := m.licenses.Reinstate(t.Context(), tester, l.Key); err != nil {
				t.Fatal(err)
			}
		}
	}

	type row struct{ status, ord int64 }
	events, err := sqldb.All(t.Context(), m.db, func(r *sqldb.Row, v *row) error { return r.Scan(&v.status, &v.ord) },
		`SELECT status, ord FROM events WHERE partner_id = $1`, p)
	if err != nil {
		t.Fatal(err)
	}
	want := map[[2]int64]int64{}
	for _, e := range events {
		want[[2]int64{e.status, paging.BlockOf(e.ord)}]++
	}
	stored, err := sqldb.All(t.Context(), m.db, func(r *sqldb.Row, b *block) error { return r.Scan(&b.Status, &b.Index, &b.N) },
		`SELECT status, block, n FROM event_blocks WHERE partner_id = $1 AND n <> 0`, p)
	if err != nil {
		t.Fatal(err)
	}
	got := map[[2]int64]int64{}
	for _, b := range stored {
		got[[2]int64{b.Status, b.Index}] = b.N
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 4 {
		t.Errorf("counts of %d blocks (-events +stored)\n%s", len(want), diff)
	}
}
