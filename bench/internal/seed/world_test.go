package seed_test

import (
	"testing"

	"claviger/bench/internal/seed"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestFillWorld checks the bulk data against the invariants of the service.
func TestFillWorld(t *testing.T) {
	const licenses = 10_000
	ctx := t.Context()
	at := sqldbtest.URL(t)
	if err := seed.FillWorld(ctx, at, licenses, func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	w, err := seed.LookAtWorld(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	if w.Licenses != licenses || w.Events != licenses*seed.EventsPerLicense || w.Failing == 0 || len(w.Members) != seed.WorldMembers {
		t.Fatalf("seeded %+v", w)
	}
	db := sqldbtest.OpenWith(t, at, sqldb.Options{})
	foldsToLicenses(t, db, seed.Market{Events: w.Events})
	err = db.Read(ctx, func(tx *sqldb.Tx) error {
		for _, partner := range []int64{1, 2, seed.WorldPartners} {
			n, err := seed.Check(ctx, tx, "license", partner)
			if err != nil {
				return err
			}
			if many := n == licenses*7/10; many != (partner == 1) {
				t.Errorf("partner %d has %d licenses", partner, n)
			}
			if _, err := seed.Check(ctx, tx, "event", partner); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	states, err := sqldb.One(ctx, db, sqldb.Value[int64], `SELECT count(*) FROM (SELECT DISTINCT partner_id = 1, state FROM outbox) AS s`)
	if err != nil || states != 6 {
		t.Errorf("%d of open, exhausted and superseded of the first partner and of others, %v", states, err)
	}
	for _, sql := range []string{
		`SELECT count(*) FROM events AS e LEFT JOIN deliveries AS d ON d.event_id = e.id AND d.partner_id = e.partner_id AND d.license_key = e.license_key
			WHERE d.event_id IS NULL`,
		`SELECT count(*) FROM licenses AS l LEFT JOIN purchases AS p ON p.id = l.id AND p.partner_id = l.partner_id WHERE p.id IS NULL`,
		`SELECT count(*) FROM purchases WHERE posted = FALSE AND amount_cents <> 0`, // the service would post them
		`SELECT count(*) FROM licenses AS l LEFT JOIN users AS u ON u.id = l.owner_id WHERE l.owner_id <> 0 AND u.id IS NULL`,
		// Delivered events were accepted at their last attempt, open or given-up ones were not.
		`SELECT count(*) FROM deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id
			LEFT JOIN (SELECT event_id, max(id) AS id FROM webhook_responses GROUP BY event_id) AS n ON n.event_id = d.event_id
			LEFT JOIN webhook_responses AS r ON r.id = n.id
			WHERE r.id IS NULL OR r.success <> (o.event_id IS NULL)`,
	} {
		n, err := sqldb.One(ctx, db, sqldb.Value[int64], sql)
		if err != nil || n != 0 {
			t.Errorf("%d, %v: %s", n, err, sql)
		}
	}
}
