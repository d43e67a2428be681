package seed_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/bench/internal/seed"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestFill compares the bulk data with the service's reads: benchmarks are only valid on data that
// the service could have written.
func TestFill(t *testing.T) {
	const licenses = 10_000 // more than two blocks
	ctx := t.Context()
	at := sqldbtest.URL(t)
	if err := seed.Fill(ctx, at, licenses); err != nil {
		t.Fatal(err)
	}
	m, err := seed.Look(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	if m.Licenses != licenses || m.Events != licenses*seed.EventsPerLicense || m.Active < licenses/2 || m.Active > licenses*7/10 {
		t.Fatalf("seeded %+v", m)
	}
	db := sqldbtest.OpenWith(t, at, sqldb.Options{})
	sameByOffset(t, db, m)
	foldsToLicenses(t, db, m)
}

// sameByOffset compares pages of the service with those found by counting.
func sameByOffset(t *testing.T, db *sqldb.DB, m seed.Market) {
	t.Helper()
	for _, p := range []paging.Page{{Number: 1, Limit: 100}, {Number: 57, Limit: 100}, {Number: m.Active / 100, Limit: 100}} {
		list, err := (&license.Store{DB: db}).List(t.Context(), m.Partners[0], license.Filter{Status: event.Active}, p)
		if err != nil {
			t.Fatal(err)
		}
		want, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT license_key FROM licenses
			WHERE partner_id = $1 AND status = 2 ORDER BY ord DESC LIMIT $2 OFFSET $3`, m.Partners[0], p.Limit, p.Offset())
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, l := range list.Licenses {
			got = append(got, l.Key)
		}
		if diff := cmp.Diff(want, got); diff != "" || list.Total != m.Active {
			t.Errorf("page %d of %d active licenses (-counted +listed):\n%s", p.Number, list.Total, diff)
		}
	}
}

// foldsToLicenses compares the last event of each license with the license.
func foldsToLicenses(t *testing.T, db *sqldb.DB, m seed.Market) {
	t.Helper()
	wrong, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM licenses AS l JOIN events AS e ON e.license_id = l.id
		WHERE e.status <> l.status OR e.license_key <> l.license_key
			OR e.id = (SELECT max(id) FROM events WHERE license_id = l.id)
				AND (e.kind <> l.status OR e.tier <> l.tier OR e.created_at <> l.updated_at OR e.event_ms <> l.event_ms)`)
	if err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Errorf("%d of %d events do not fit their license", wrong, m.Events)
	}
}
