package license

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// Suspect is a license that still worked although the money for its plan had been returned, when
// links were first compared with the money kept. A refund of its free links ends it.
type Suspect struct {
	PartnerID int64
	Key       string
}

// suspects is ordered by the small table, so that SQLite does not walk through all licenses.
const suspects = `SELECT l.partner_id, l.license_key FROM refunded_but_working AS w
	JOIN licenses AS l ON l.id = w.license_id WHERE NOT l.ended ORDER BY w.license_id LIMIT $1`

// Suspects returns licenses that were refunded but still work, oldest first.
func Suspects(ctx context.Context, from sqldb.Reader, most int) ([]Suspect, error) {
	list, err := sqldb.All(ctx, from, func(r *sqldb.Row, s *Suspect) error { return r.Scan(&s.PartnerID, &s.Key) },
		suspects, most)
	if err != nil {
		return nil, fmt.Errorf("list licenses that were refunded but still work: %w", err)
	}
	return list, nil
}

// dealtWith queues the removal of a license from Suspects.
func dealtWith(tx *sqldb.Tx, licenseID int64) {
	tx.Queue(`DELETE FROM refunded_but_working WHERE license_id = $1`, licenseID)
}
