package event_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var tester = audit.System("test")

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// market makes events: its partners' licenses are bought and changed.
type market struct {
	*testing.T
	db       *sqldb.DB
	log      *event.Log
	licenses *license.Store
}

func open(t *testing.T) *market {
	t.Helper()
	db := sqldbtest.Open(t)
	return &market{t, db, &event.Log{DB: db}, &license.Store{DB: db, Now: now}}
}

func (m *market) partner() int64 {
	m.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		m.Fatal(err)
	}
	partners := &partner.Store{DB: m.db, Sealer: box, Now: now}
	var p partner.Partner
	err = m.db.Write(m.Context(), func(tx *sqldb.Tx) error {
		p, _, err = partners.Create(m.Context(), tx, tester, partner.Draft{Name: "Partner"}, partner.Credentials{})
		return err
	})
	if err != nil {
		m.Fatal(err)
	}
	for tier := 1; tier <= 2; tier++ {
		if _, _, err := partners.PutPlan(m.Context(), tester, p.ID, partner.Plan{Tier: tier, Name: "Plan", Currency: "USD"}); err != nil {
			m.Fatal(err)
		}
	}
	return p.ID
}

func (m *market) buy(partnerID int64, quantity int) []license.License {
	m.Helper()
	order := license.Purchase{PartnerID: partnerID, Tier: 1, Quantity: quantity, Buyer: &account.Person{Email: "ann@example.com"}}
	sold, err := m.licenses.Purchase(m.Context(), tester, order)
	if err != nil {
		m.Error(err)
	}
	return sold.Licenses
}

func (m *market) list(partnerID int64, f event.Filter, p paging.Page) event.List {
	m.Helper()
	list, err := m.log.List(m.Context(), partnerID, f, p)
	if err != nil {
		m.Fatal(err)
	}
	return list
}

func ids(events []event.Event) []int64 {
	out := []int64{}
	for _, e := range events {
		out = append(out, e.ID)
	}
	return out
}

// write makes events of several partners concurrently until each has the given number, and closes
// the returned channel when done.
func (m *market) write(partners []int64, each int) <-chan struct{} {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, p := range partners {
		for range 4 {
			wg.Go(func() {
				for range each / 4 {
					m.buy(p, 1)
				}
			})
		}
	}
	go func() { wg.Wait(); close(done) }()
	return done
}

// TestNoEventAppearsBelowOneThatWasSeen reads a partner's events while others write them. A new one
// never has an id below those already seen: ids rise in the order of commits.
func TestNoEventAppearsBelowOneThatWasSeen(t *testing.T) {
	m := open(t)
	partners := []int64{m.partner(), m.partner()}
	done := m.write(partners, 120)
	last := map[int64]int64{}
	seen := map[int64]int{}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		for _, p := range partners {
			all := m.list(p, event.Filter{After: last[p]}, paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst}).Events
			seen[p] += len(all)
			for _, e := range all {
				if e.ID <= last[p] {
					t.Fatalf("event %d came after %d", e.ID, last[p])
				}
				last[p] = e.ID
			}
			if total := m.list(p, event.Filter{}, paging.Page{Number: 1, Limit: 1}).Total; int(total) < seen[p] {
				t.Fatalf("%d events in all, after %d were seen", total, seen[p])
			}
		}
	}
	for _, p := range partners {
		for {
			rest := m.list(p, event.Filter{After: last[p]}, paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst}).Events
			if len(rest) == 0 {
				break
			}
			seen[p] += len(rest)
			last[p] = rest[len(rest)-1].ID
		}
		if seen[p] != 120 {
			t.Errorf("a reader who went on from the last id saw %d of 120 events", seen[p])
		}
	}
}

// TestFeedMissesNothing checks that the feed over all partners is complete, although ids of
// different partners are committed out of order.
func TestFeedMissesNothing(t *testing.T) {
	m := open(t)
	partners := []int64{m.partner(), m.partner(), m.partner()}
	done := m.write(partners, 80)
	got := []int64{}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		for {
			after := int64(0)
			if len(got) > 0 {
				after = got[len(got)-1]
			}
			events, more, err := m.log.Feed(t.Context(), after, 7)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ids(events)...)
			if !more {
				break
			}
		}
	}
	want, err := sqldb.All(t.Context(), m.db, sqldb.Value[int64], `SELECT id FROM events ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the feed (-stored +read)\n%s", diff)
	}
}

// TestFeedWaitsForTransactionsInFlight checks that a running transaction with an allocated id holds
// the feed back. Another partner's event with a higher id, committed in the meantime, is not shown
// before it.
func TestFeedWaitsForTransactionsInFlight(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("SQLite commits one transaction after another")
	}
	m := open(t)
	slow, quick := m.partner(), m.partner()
	m.buy(slow, 1)
	first, _, err := m.log.Feed(t.Context(), 0, 10)
	if err != nil || len(first) != 1 {
		t.Fatalf("got %d events: %v", len(first), err)
	}
	feed := func() []int64 {
		events, _, err := m.log.Feed(t.Context(), first[0].ID, 10)
		if err != nil {
			t.Fatal(err)
		}
		return ids(events)
	}
	allocated, commit := make(chan int64), make(chan struct{})
	finished := make(chan error)
	go func() {
		finished <- m.db.Write(context.WithoutCancel(t.Context()), func(tx *sqldb.Tx) error {
			lock := partner.Lock(tx, slow)
			id, err := event.NextIDs(tx, 1).One(t.Context())
			if err != nil {
				return err
			}
			l, err := lock.One(t.Context())
			if err != nil {
				return err
			}
			e := first[0]
			e.ID, e.Tier = id, 2
			(*event.Log)(nil).Append(tx, event.Draft{Event: e, Ord: l.Events + 1, Was: event.Inactive})
			allocated <- id
			<-commit
			return nil
		})
	}()
	lower := <-allocated
	m.buy(quick, 1)
	if got := feed(); len(got) != 0 {
		t.Errorf("shown while event %d is in flight: %v", lower, got)
	}
	if got := m.list(quick, event.Filter{}, paging.First()); len(got.Events) != 1 {
		t.Errorf("the partner itself sees %d of its events", len(got.Events))
	}
	close(commit)
	if err := <-finished; err != nil {
		t.Fatal(err)
	}
	if got := feed(); len(got) != 2 || got[0] != lower {
		t.Errorf("shown in the end: %v, want %d first of two", got, lower)
	}
}
