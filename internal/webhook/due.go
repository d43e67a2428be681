package webhook

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// pendingPartners returns partners with a pending delivery and an open endpoint e, narrowed by a
// condition; $1 is now. It jumps from partner to partner in the index and skips the rows between.
func (s *Store) pendingPartners(ctx context.Context, condition string) ([]int64, error) {
	ids, err := sqldb.All(ctx, s.DB, sqldb.Value[int64], `WITH RECURSIVE p (id) AS (
			SELECT min(partner_id) FROM outbox WHERE `+IsPending+`
			UNION ALL SELECT (SELECT min(o.partner_id) FROM outbox AS o WHERE o.`+IsPending+` AND o.partner_id > p.id)
			FROM p WHERE p.id IS NOT NULL)
		SELECT p.id FROM p LEFT JOIN endpoints AS e ON e.partner_id = p.id
		WHERE p.id IS NOT NULL AND coalesce(e.closed, FALSE) = FALSE AND (`+condition+`) ORDER BY p.id`, s.Now())
	if err != nil {
		return nil, fmt.Errorf("look for due deliveries: %w", err)
	}
	return ids, nil
}

// DuePartners returns partners with a due delivery, and partners with an endpoint to probe or
// drain.
func (s *Store) DuePartners(ctx context.Context) ([]int64, error) {
	return s.pendingPartners(ctx, `CASE WHEN coalesce(e.parked_at, 0) <> 0 THEN e.probe_at <= $1
		ELSE coalesce(e.draining, 0) <> 0 OR (SELECT min(o.due_at) FROM outbox AS o
			WHERE o.partner_id = p.id AND o.`+IsPending+`) <= $1 END`)
}

// Versions returns Health.Changed of each partner's endpoint.
func (s *Store) Versions(ctx context.Context, partners []int64) (map[int64]int64, error) {
	versions := make(map[int64]int64, len(partners))
	err := sqldb.Each(ctx, s.DB, func(r *sqldb.Row) error {
		var id, changed int64
		err := r.Scan(&id, &changed)
		versions[id] = changed
		return err
	}, `SELECT partner_id, changed FROM endpoints WHERE partner_id = ANY($1)`, partners)
	if err != nil {
		return nil, fmt.Errorf("look for changed endpoints: %w", err)
	}
	return versions, nil
}

// License is a license and its partner.
type License struct{ PartnerID, LicenseID int64 }

func scanLicense(r *sqldb.Row, v *License) error { return r.Scan(&v.PartnerID, &v.LicenseID) }

// RefusedLicenses returns licenses with a refused event that a newer one may supersede. The node
// that was notified of the newer event may have stopped before it acted.
func (s *Store) RefusedLicenses(ctx context.Context) ([]License, error) {
	p := s.Policy.Supersede
	if p.Attempts <= 0 {
		return nil, nil
	}
	list, err := sqldb.All(ctx, s.DB, scanLicense, `SELECT h.partner_id, h.license_id FROM outbox AS h
		WHERE h.`+IsPending+` AND h.refused_alone = TRUE AND h.refused_since <= $1 AND h.refusals >= $2
			AND EXISTS (SELECT 1 FROM outbox AS n
				WHERE n.license_id = h.license_id AND n.`+IsPending+` AND n.event_id > h.event_id)
		ORDER BY h.refused_since LIMIT 1000`, s.Now().Add(-p.After), p.Attempts)
	if err != nil {
		return nil, fmt.Errorf("look for refused events: %w", err)
	}
	return list, nil
}

// AheadLicenses returns licenses whose first open event was never tried and is due later only because
// the clock of another node was ahead. The node that was notified of the event may have stopped
// before it acted. Parked endpoints are left out, and so are those that asked to wait.
func (s *Store) AheadLicenses(ctx context.Context) ([]License, error) {
	partners, err := s.pendingPartners(ctx, `coalesce(e.parked_at, 0) = 0 AND (SELECT max(o.due_at) FROM outbox AS o
		WHERE o.partner_id = p.id AND o.`+IsPending+`) > $1`)
	if err != nil || len(partners) == 0 {
		return nil, err
	}
	list, err := sqldb.All(ctx, s.DB, scanLicense, `SELECT h.partner_id, h.license_id FROM outbox AS h
		WHERE h.partner_id = ANY($1) AND h.`+IsPending+` AND h.due_at > $2 AND h.attempts = 0 AND h.not_before <= $2
		AND `+isFirst+` LIMIT 1000`, partners, s.Now())
	if err != nil {
		return nil, fmt.Errorf("look for events that are due by another clock: %w", err)
	}
	return list, nil
}
