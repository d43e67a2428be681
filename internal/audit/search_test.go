package audit_test

import (
	"fmt"
	"testing"
	"time"

	"claviger/internal/audit"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestSearch finds entries by each filter, page by page, and stops a search with few matches.
func TestSearch(t *testing.T) {
	t.Parallel()
	l := &audit.Log{DB: sqldbtest.Open(t)}
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	user := audit.Actor{Kind: audit.ByUser, ID: 7}
	const entries = 6000
	err := l.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		for i := range entries {
			by, action := audit.Actor{Kind: audit.ByToken, ID: 1, Name: "checkout"}, "license.hold"
			if i%1000 == 0 {
				by, action = user, "token.create"
			}
			audit.Record(tx, start.Add(time.Duration(i)*time.Minute), by, action, fmt.Sprintf("license:%d", i%3), nil, nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Minute) }
	search := func(f audit.Filter, before int64, limit int) audit.Found {
		t.Helper()
		found, err := l.Search(t.Context(), f, before, limit)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	all := search(audit.Filter{}, 0, 50)
	if len(all.Entries) != 50 || !all.Entries[0].At.Equal(at(entries-1)) || all.Next != all.Entries[49].ID || !all.SearchedTo.IsZero() {
		t.Errorf("the first page has %d entries, next %d, searched to %s", len(all.Entries), all.Next, all.SearchedTo)
	}
	if second := search(audit.Filter{}, all.Next, 50); !second.Entries[0].At.Equal(at(entries - 51)) {
		t.Errorf("the second page begins at %s", second.Entries[0].At)
	}
	// With few matches, the search stops before it has read everything, and can continue.
	rare := search(audit.Filter{Action: "token.create"}, 0, 50)
	if len(rare.Entries) != 5 || rare.Next == 0 || rare.SearchedTo.IsZero() {
		t.Errorf("a rare action: %d entries, next %d, searched to %s", len(rare.Entries), rare.Next, rare.SearchedTo)
	}
	if rest := search(audit.Filter{Action: "token.create"}, rare.Next, 50); len(rest.Entries) != 1 || rest.Next != 0 {
		t.Errorf("the rest: %d entries, next %d", len(rest.Entries), rest.Next)
	}
	// An index finds all acts of a person.
	if mine := search(audit.Filter{ActorKind: audit.ByUser, ActorID: 7}, 0, 50); len(mine.Entries) != 6 || mine.Next != 0 {
		t.Errorf("of a person: %d entries, next %d", len(mine.Entries), mine.Next)
	}
	if one := search(audit.Filter{Subject: "license:1", Action: "token.create"}, 0, 50); len(one.Entries) != 2 {
		t.Errorf("of a license: %d entries", len(one.Entries))
	}
	// A span long ago is found quickly.
	for _, span := range [][2]int{{10, 20}, {0, 1}, {5990, 7000}, {999, 1001}} {
		got := search(audit.Filter{From: at(span[0]), To: at(span[1])}, 0, 50)
		if want := min(span[1], entries) - span[0]; len(got.Entries) != want || got.Next != 0 || !got.Entries[want-1].At.Equal(at(span[0])) {
			t.Errorf("from %d to %d: %d entries, next %d", span[0], span[1], len(got.Entries), got.Next)
		}
	}
}
