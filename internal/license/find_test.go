package license_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestFindAgreesWithTheTable compares every page of every search with the same part of the stored
// licenses, selected in a simple way.
func TestFindAgreesWithTheTable(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 3})
	ann := person("ann")
	var all []license.License
	for i := range 30 {
		l := h.buy(license.Purchase{PartnerID: p, Tier: i%3 + 1, Quantity: 1, Buyer: &ann})[0]
		all = append(all, l)
		if i%4 == 0 {
			if _, err := h.licenses.Activate(t.Context(), tester, l.Key, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	key := all[7].Key
	foreign := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 1})[0].Key
	for name, f := range map[string]license.Find{
		"all": {}, "status": {Status: event.Active}, "tier": {Tier: 2}, "both": {Status: event.Active, Tier: 3},
		"since": {From: all[10].CreatedAt}, "until": {To: all[10].CreatedAt}, "span": {From: all[5].CreatedAt, To: all[20].CreatedAt, Status: event.Inactive},
		"before all": {To: all[0].CreatedAt}, "after all": {From: time.Now().Add(time.Hour)},
		"key": {Key: key}, "end": {Key: key[32:]}, "longer end": {Key: key[20:]}, "typed": {Key: " " + strings.ToUpper(key[28:]) + " "},
		"end and status": {Key: key[32:], Status: event.Active}, "foreign": {Key: foreign}, "foreign end": {Key: foreign[24:]},
	} {
		where, args := ` WHERE partner_id = $1 AND (status = $2 OR $2 = 0) AND (tier = $3 OR $3 = 0) AND created_at >= $4 AND (created_at < $5 OR $5 = 0)
			AND license_key LIKE $6 ORDER BY ord DESC`, []any{p, int(f.Status), f.Tier, f.From, f.To, "%" + strings.ToLower(strings.TrimSpace(f.Key))}
		want, err := sqldb.All(t.Context(), h.db, sqldb.Value[string], `SELECT license_key FROM licenses`+where, args...)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{4, 50} {
			got, before := []string{}, int64(0)
			for {
				page, err := h.licenses.Find(t.Context(), p, f, before, limit)
				if err != nil || len(page.Licenses) > limit || !page.SearchedTo.IsZero() {
					t.Fatal(name, page, err)
				}
				got = append(got, keys(page.Licenses)...)
				if before = page.Next; before == 0 {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d a page (-stored +found)\n%s", name, limit, diff)
			}
		}
	}
	for _, bad := range []string{"abc", "%%%%", "zzzz", "12345", "aaaa'", strings.Repeat("a", 37), "\xff\xff\xff\xff"} {
		_, err := h.licenses.Find(t.Context(), p, license.Find{Key: bad}, 0, 10)
		if ok := bad == "12345"; ok != (err == nil) || !ok && !fault.Is(err, "invalid_parameter") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestFindIsBounded checks that the search for a rare tier reads a bounded number of licenses.
func TestFindIsBounded(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	rare := h.buy(license.Purchase{PartnerID: p, Tier: 3, Quantity: 1})[0]
	for range 60 {
		h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 100})
	}
	page, err := h.licenses.Find(t.Context(), p, license.Find{Tier: 3}, 0, 50)
	if err != nil || len(page.Licenses) != 0 || page.Next != 1002 || page.SearchedTo.IsZero() {
		t.Fatalf("got %d, next %d, searched to %v, %v", len(page.Licenses), page.Next, page.SearchedTo, err)
	}
	page, err = h.licenses.Find(t.Context(), p, license.Find{Tier: 3}, page.Next, 50)
	if err != nil || len(page.Licenses) != 1 || page.Licenses[0].Key != rare.Key || page.Next != 0 {
		t.Errorf("then %+v, %v", page, err)
	}
}

// TestSuspectsPlan: the list reads its small table first, not all licenses.
func TestSuspectsPlan(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("PostgreSQL has statistics")
	}
	h := newHarness(t)
	plan, err := sqldb.All(t.Context(), h.db, func(r *sqldb.Row, step *string) error {
		var id, parent, unused int64
		return r.Scan(&id, &parent, &unused, step)
	}, `EXPLAIN QUERY PLAN `+license.SuspectsQuery, 10)
	if text := strings.Join(plan, "\n"); err != nil || !strings.Contains(text, "SCAN w") || strings.Contains(text, "SCAN l") {
		t.Errorf("it is read by\n%s\n%v", text, err)
	}
}

// TestFindPlans checks that an index serves every search, on both databases.
func TestFindPlans(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	for range 60 {
		h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 100})
	}
	if sqldbtest.Postgres() { // on SQLite the service has no statistics
		if err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error { tx.Queue(`ANALYZE`); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		find  license.Find
		index string
	}{
		"end": {license.Find{Key: "abcd"}, "licenses_key_end"}, "end and status": {license.Find{Key: "abcd", Status: event.Inactive}, "licenses_key_end"},
		"all": {license.Find{}, ""}, "tier": {license.Find{Tier: 2}, ""}, "status": {license.Find{Status: event.Deactivated}, "licenses_status"},
	} {
		sql, args := c.find.Query(p, 1, 6000, 51)
		scan, verb := sqldb.Value[string], `EXPLAIN `
		if !sqldbtest.Postgres() {
			verb = `EXPLAIN QUERY PLAN `
			scan = func(r *sqldb.Row, step *string) error {
				var id, parent, unused int64
				return r.Scan(&id, &parent, &unused, step)
			}
		}
		plan, err := sqldb.All(t.Context(), h.db, scan, verb+sql, args...)
		text := strings.Join(plan, "\n")
		if err != nil || !strings.Contains(text, c.index) || strings.Contains(text, "Seq Scan") || strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s is read by\n%s\n%v", name, text, err)
		}
	}
}
