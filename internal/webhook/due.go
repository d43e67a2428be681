package webhook

import (
	"context"
	"fmt"
	"slices"

	"claviger/internal/sqldb"
)

// DuePartners returns partners with a due delivery, and partners with an endpoint to probe or
// drain. It jumps from partner to partner in the index and skips the rows between.
func (s *Store) DuePartners(ctx context.Context) ([]int64, error) {
	ids, err := sqldb.All(ctx, s.DB, sqldb.Value[int64], `WITH RECURSIVE p (id) AS (
			SELECT min(partner_id) FROM outbox WHERE `+IsPending+`
			UNION ALL SELECT (SELECT min(o.partner_id) FROM outbox AS o WHERE o.`+IsPending+` AND o.partner_id > p.id)
			FROM p WHERE p.id IS NOT NULL)
		SELECT p.id FROM p LEFT JOIN endpoints AS e ON e.partner_id = p.id
		WHERE p.id IS NOT NULL AND coalesce(e.closed, FALSE) = FALSE AND (
			CASE WHEN coalesce(e.parked_at, 0) <> 0 THEN e.probe_at <= $1
			ELSE coalesce(e.draining, 0) <> 0 OR (SELECT min(o.due_at) FROM outbox AS o
			WHERE o.partner_id = p.id AND o.`+IsPending+`) <= $1 END)
		ORDER BY p.id`, s.Now())
	if err != nil {
		return nil, fmt.Errorf("look for due deliveries: %w", err)
	}
	return ids, nil
}

// Versions returns Health.Changed of each partner's endpoint.
func (s *Store) Versions(ctx context.Context, partners []int64) (map[int64]int64, error) {
	type version struct{ partnerID, changed int64 }
	versions := map[int64]int64{}
	for part := range slices.Chunk(partners, 1000) {
		found, err := sqldb.All(ctx, s.DB, func(r *sqldb.Row, v *version) error {
			return r.Scan(&v.partnerID, &v.changed)
		},
			`SELECT partner_id, changed FROM endpoints WHERE partner_id = ANY($1)`, part)
		if err != nil {
			return nil, fmt.Errorf("look for changed endpoints: %w", err)
		}
		for _, v := range found {
			versions[v.partnerID] = v.changed
		}
	}
	return versions, nil
}

// License is a license and its partner.
type License struct{ PartnerID, LicenseID int64 }

// RefusedLicenses returns licenses with a refused event that a newer one may supersede. The node
// that was notified of the newer event may have stopped before it acted.
func (s *Store) RefusedLicenses(ctx context.Context) ([]License, error) {
	p := s.Policy.Supersede
	if p.Attempts <= 0 {
		return nil, nil
	}
	list, err := sqldb.All(ctx, s.DB, func(r *sqldb.Row, v *License) error {
		return r.Scan(&v.PartnerID, &v.LicenseID)
	},
		`SELECT h.partner_id, h.license_id FROM outbox AS h WHERE h.`+IsPending+` AND h.refused_alone = TRUE
			AND h.refused_since <= $1 AND h.refusals >= $2
			AND EXISTS (SELECT 1 FROM outbox AS n WHERE n.license_id = h.license_id AND n.`+IsPending+`
			AND n.event_id > h.event_id)
		ORDER BY h.refused_since LIMIT 1000`, s.Now().Add(-p.After), p.Attempts)
	if err != nil {
		return nil, fmt.Errorf("look for refused events: %w", err)
	}
	return list, nil
}
