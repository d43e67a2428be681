// Package history answers what was sent to partners and what came of it: their deliveries
// by a filter, and the attempts of each. It reads the tables of webhook, and writes none.
package history

import "claviger/internal/sqldb"

// Reader lists deliveries and attempts.
type Reader struct {
	DB *sqldb.DB
}
