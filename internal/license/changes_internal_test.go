package license

import (
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/paging"
	"claviger/internal/sqldb/sqldbtest"
)

// TestChangesPlan checks that a page of changes begins at its cursor in the index, in both orders,
// with and without a status.
func TestChangesPlan(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.Fill(t, db, 1, `INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at) SELECT $1, '', '', '', FALSE, FALSE, 0, 0`)
	sqldbtest.Fill(t, db, 5000, `INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed, released, held,
			erased, epoch, event_ms, created_at, updated_at) `+sqldbtest.Numbers+`
		SELECT n, 1, n, 'key ' || n, 'redemption ' || n, 1 + n % 3, 1, 0, FALSE, FALSE, 0, FALSE, 0, 0, n, 10000 + n FROM numbers`)
	for _, order := range []paging.Order{paging.NewestFirst, paging.OldestFirst} {
		for status, index := range map[event.Status]string{0: "licenses_changed", event.Active: "licenses_status_changed"} {
			if !sqldbtest.Postgres() { // its plan shows the part of the index that is read
				index += map[bool]string{
					true:  " (partner_id=? AND (updated_at,ord)>(?,?) AND (updated_at,ord)<(?,?))",
					false: " (partner_id=? AND (status,updated_at,ord)>(?,?,?) AND (status,updated_at,ord)<(?,?,?))",
				}[status == 0]
			}
			f := Filter{Status: status, UpdatedSince: time.Unix(0, 10000), After: Position{time.Unix(0, 12345), 2345}}
			sql, args := changesQuery(1, f, paging.Page{Number: 1, Limit: 100, Order: order})
			sqldbtest.WantIndex(t, db, index, nil, sql, args...)
		}
	}
}
