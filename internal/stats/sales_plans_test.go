package stats_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/stats"
)

// TestSalesPlans: for one partner or all, an index finds the days, on both databases: neither old
// days nor the number of licenses make it slower.
func TestSalesPlans(t *testing.T) {
	const partners, days, span = 100, 400, 30
	db := sqldbtest.Open(t)
	if err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		const numbers = `WITH RECURSIVE p(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM p WHERE i < $1),
			d(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM d WHERE i < $2) `
		for _, sql := range []string{
			`INSERT INTO stats_days (partner_id, day, sold, activated, deactivated, refunded, activated_soon) ` + numbers + `SELECT p.i, d.i, 3, 2, 1, 1, 2 FROM p, d`,
			`INSERT INTO stats_refunds (partner_id, day, refunded) ` + numbers + `SELECT p.i, d.i, 1 FROM p, d`,
		} {
			if _, err := tx.Exec(t.Context(), sql, partners, days-1); err != nil {
				return err
			}
		}
		if sqldbtest.Postgres() { // on SQLite the service runs without statistics
			tx.Queue(`ANALYZE stats_days`)
			tx.Queue(`ANALYZE stats_refunds`)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{0, 7} {
		sold, refunded, args := stats.SalesQueries(id, days-span, days-1)
		for _, sql := range append(sold[:], refunded[:]...) {
			scan, verb := sqldb.Value[string], `EXPLAIN `
			if !sqldbtest.Postgres() {
				verb = `EXPLAIN QUERY PLAN `
				scan = func(r *sqldb.Row, step *string) error {
					var id, parent, unused int64
					return r.Scan(&id, &parent, &unused, step)
				}
			}
			plan, err := sqldb.All(t.Context(), db, scan, verb+sql, args...)
			if text := strings.Join(plan, "\n"); err != nil || strings.Contains(text, "Seq Scan") || strings.Contains(text, "SCAN stats") {
				t.Errorf("%s is read by\n%s\n%v", sql, text, err)
			}
		}
		b := &stats.Store{DB: db, Now: func() time.Time { return time.Unix(86400*days-1, 0) }}
		n, err := b.Sales(t.Context(), id, span)
		want := stats.Sales{Sold: 3 * span, ActivatedSoon: 2 * span, Refunded: span}
		if id == 0 {
			want = stats.Sales{Sold: 3 * span * partners, ActivatedSoon: 2 * span * partners, Refunded: span * partners}
		}
		if err != nil || n.Total != want || len(n.Days) != span || n.Partners[0].Sold != 3*span {
			t.Errorf("of partner %d: %+v, %v", id, n.Total, err)
		}
	}
}
