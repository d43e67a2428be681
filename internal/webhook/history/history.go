// Package history reports the deliveries to partners and their results: deliveries by filter, and
// the attempts of each. It reads the tables of webhook and writes none.
package history

import "claviger/internal/sqldb"

// Reader lists deliveries and attempts.
type Reader struct {
	DB *sqldb.DB
}
