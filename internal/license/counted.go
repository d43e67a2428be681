package license

import (
	"context"
	"fmt"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// Counted returns the number of licenses of a partner, or of all partners (0), with a status or in
// total. It reads counters.
func (r *Store) Counted(ctx context.Context, partnerID int64, s event.Status) (int64, error) {
	n, err := sqldb.One(ctx, r.DB, sqldb.Value[int64], `SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM license_blocks
		WHERE (partner_id = $1 OR $1 = 0) AND (status = $2 OR $2 = 0)`, partnerID, int(s))
	if err != nil {
		return 0, fmt.Errorf("count licenses: %w", err)
	}
	return n, nil
}

// SalesCounted returns the number of purchases of one partner, or the approximate number for all
// partners (0). For one partner, counting stops at most.
func (r *Store) SalesCounted(ctx context.Context, partnerID int64, most int64) (n int64, more bool, err error) {
	if partnerID == 0 {
		n, err = sqldb.One(ctx, r.DB, sqldb.Value[int64], `SELECT coalesce(max(id), 0) FROM purchases`)
	} else {
		n, err = sqldb.One(ctx, r.DB, sqldb.Value[int64], `SELECT count(*) FROM (SELECT 1 FROM purchases
			WHERE partner_id = $1 LIMIT $2) AS found`, partnerID, most+1)
		n, more = min(n, most), n > most
	}
	if err != nil {
		return 0, false, fmt.Errorf("count purchases: %w", err)
	}
	return n, more, nil
}
