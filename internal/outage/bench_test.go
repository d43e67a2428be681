package outage_test

import (
	"fmt"
	"testing"

	"claviger/internal/audit"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// BenchmarkNote measures the cost that notices of partners without a change add to a transaction:
// it is part of every batch of deliveries. Compare with none.
func BenchmarkNote(b *testing.B) {
	for _, partners := range []int{0, 1, 20} {
		for _, failed := range []bool{false, true} {
			b.Run(fmt.Sprintf("partners=%d/failed=%v", partners, failed), func(b *testing.B) {
				db := sqldbtest.Open(b)
				notices := make([]outage.Notice, partners)
				for i := range notices {
					notices[i] = outage.Notice{PartnerID: enrol(b, db), At: noon, Failed: failed, Cause: refused}
				}
				for b.Loop() {
					err := db.Write(b.Context(), func(tx *sqldb.Tx) error {
						outage.Note(tx, notices...)
						_, err := tx.Exec(b.Context(), `SELECT 1`)
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func enrol(b *testing.B, db *sqldb.DB) (id int64) {
	b.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		b.Fatal(err)
	}
	partners := &partner.Store{DB: db, Sealer: box, Now: noon.UTC}
	err = db.Write(b.Context(), func(tx *sqldb.Tx) error {
		p, _, err := partners.Create(b.Context(), tx, audit.System("bench"), partner.Draft{Name: "Acme"}, partner.Credentials{})
		id = p.ID
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return id
}
