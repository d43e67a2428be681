package event_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// TestListsAgreeWithTheTable compares every page of every list with the same part of the stored
// events, selected in a simple way.
func TestListsAgreeWithTheTable(t *testing.T) {
	m := open(t)
	p, other := m.partner(), m.partner()
	m.buy(other, 5)
	all := m.buy(p, 40)
	for i, l := range all {
		var err error
		switch i % 4 {
		case 0:
			_, err = m.licenses.Activate(t.Context(), tester, l.Key, nil)
		case 1:
			_, err = m.licenses.Hold(t.Context(), tester, l.Key, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 3 {
			m.buy(other, 1)
		}
	}
	middle, err := sqldb.One(t.Context(), m.db, sqldb.Value[int64], `SELECT id FROM events WHERE partner_id = $1 AND ord = 30`, p)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := sqldb.One(t.Context(), m.db, sqldb.Value[int64], `SELECT max(id) FROM events WHERE partner_id = $1`, other)
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []event.Status{0, event.Inactive, event.Active, event.Deactivated} {
		for _, kind := range []event.Kind{0, event.Purchase, event.Activate, event.Deactivate} {
			for _, after := range []int64{0, 1, middle, foreign, math.MaxInt64} {
				for _, order := range []paging.Order{paging.NewestFirst, paging.OldestFirst} {
					m.compare(p, event.Filter{Status: status, Kind: kind, After: after}, order)
				}
			}
		}
	}
}

func (m *market) compare(partnerID int64, f event.Filter, order paging.Order) {
	m.Helper()
	direction := map[paging.Order]string{paging.NewestFirst: "DESC", paging.OldestFirst: "ASC"}[order]
	want, err := sqldb.All(m.Context(), m.db, sqldb.Value[int64], `SELECT e.id FROM events AS e JOIN licenses AS l ON l.id = e.license_id
		WHERE e.partner_id = $1 AND (l.status = $2 OR $2 = 0) AND (e.kind = $3 OR $3 = 0) AND e.id > $4 ORDER BY e.id `+direction,
		partnerID, int(f.Status), int(f.Kind), f.After)
	if err != nil {
		m.Fatal(err)
	}
	const limit = 7
	for n := range len(want)/limit + 2 {
		got := m.list(partnerID, f, paging.Page{Number: int64(n + 1), Limit: limit, Order: order})
		from, to := min(n*limit, len(want)), min((n+1)*limit, len(want))
		if diff := cmp.Diff(want[from:to], ids(got.Events)); diff != "" {
			m.Errorf("%+v, order %d, page %d (-stored +listed)\n%s", f, order, n+1, diff)
		}
		total := int64(len(want))
		if f.Kind != 0 || f.After > 0 {
			total = -1
			if got.More != (to < len(want)) {
				m.Errorf("%+v, page %d: more is %v", f, n+1, got.More)
			}
		}
		if got.Total != total {
			m.Errorf("%+v: total %d, want %d", f, got.Total, total)
		}
	}
}

func TestFarPastTheEnd(t *testing.T) {
	m := open(t)
	p := m.partner()
	m.buy(p, 2)
	for _, f := range []event.Filter{{}, {Status: event.Inactive}, {Kind: event.Purchase}, {After: 1}} {
		for _, order := range []paging.Order{paging.NewestFirst, paging.OldestFirst} {
			got := m.list(p, f, paging.Page{Number: math.MaxInt64, Limit: 100, Order: order})
			if len(got.Events) != 0 {
				t.Errorf("%+v: %d events", f, len(got.Events))
			}
		}
	}
}

func TestEventsOfOneLicense(t *testing.T) {
	m := open(t)
	l := m.buy(m.partner(), 2)[0]
	for range 3 {
		if _, err := m.licenses.Hold(t.Context(), tester, l.Key, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := m.licenses.Reinstate(t.Context(), tester, l.Key); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		filter event.Filter
		page   paging.Page
		want   string
		total  int64
	}{
		{event.Filter{}, paging.Page{Number: 1, Limit: 2}, "purchase deactivate", 7},
		{event.Filter{}, paging.Page{Number: 4, Limit: 2}, "purchase", 7},
		{event.Filter{Kind: event.Deactivate}, paging.Page{Number: 1, Limit: 5}, "deactivate deactivate deactivate", -1},
		{event.Filter{}, paging.Page{Number: 5, Limit: 2, Order: paging.OldestFirst}, "", 7},
	} {
		got, err := m.log.OfLicense(t.Context(), l.ID, c.filter, c.page)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, e := range got.Events {
			text += fmt.Sprint(" ", e.Kind)
		}
		if text != "" {
			text = text[1:]
		}
		if text != c.want || got.Total != c.total {
			t.Errorf("%+v %+v: got %q of %d, want %q of %d", c.filter, c.page, text, got.Total, c.want, c.total)
		}
	}
}
