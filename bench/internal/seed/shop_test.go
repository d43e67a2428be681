package seed_test

import (
	"testing"

	"claviger/bench/internal/seed"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestShop: each license has its purchase, and none is left for the service to post.
func TestShop(t *testing.T) {
	at := sqldbtest.URL(t)
	if err := seed.Shop(t.Context(), at, 3, 600); err != nil {
		t.Fatal(err)
	}
	db := sqldbtest.OpenWith(t, at, sqldb.Options{})
	n, err := sqldb.One(t.Context(), db, sqldb.Value[int64], `SELECT count(*) FROM licenses AS l
		JOIN purchase_links AS k ON k.license_id = l.id JOIN purchases AS p ON p.id = k.purchase_id
		WHERE p.posted AND p.amount_cents = 4900`)
	if err != nil || n != 600 {
		t.Errorf("%d of 600 licenses have a posted purchase, %v", n, err)
	}
}
