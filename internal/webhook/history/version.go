package history

import (
	"context"
	"fmt"

	"claviger/internal/sqldb"
)

// deliveryVersion selects columns that change with every change of a delivery.
const deliveryVersion = `coalesce(o.state, 0), coalesce(o.attempts, 0), coalesce(o.due_at, 0),
	coalesce(o.generation, 0),
	coalesce((SELECT max(r.id) FROM webhook_responses AS r WHERE r.event_id = d.event_id), 0)`

// Versions returns a string per event that changes with its delivery: with each attempt, and when
// it is queued again.
func (r Reader) Versions(ctx context.Context, eventIDs []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(ctx, r.DB, eventIDs, 5, `SELECT d.event_id, `+deliveryVersion+`
		FROM deliveries AS d LEFT JOIN outbox AS o ON o.event_id = d.event_id WHERE d.event_id = ANY($1)`)
	if err != nil {
		return nil, fmt.Errorf("read the versions of deliveries: %w", err)
	}
	return found, nil
}

// LicenseVersions returns a string per license that changes with each new event and with each
// change of its 50 newest deliveries.
func (r Reader) LicenseVersions(ctx context.Context, licenseIDs []int64) (map[int64]string, error) {
	found, err := sqldb.VersionsOfEach(ctx, r.DB, licenseIDs, 6, `SELECT d.license_id, d.event_id, `+deliveryVersion+`
		FROM (SELECT license_id, event_id FROM deliveries WHERE license_id = $1 ORDER BY event_id DESC LIMIT 50) AS d
		LEFT JOIN outbox AS o ON o.event_id = d.event_id ORDER BY d.event_id`)
	if err != nil {
		return nil, fmt.Errorf("read the versions of licenses' deliveries: %w", err)
	}
	return found, nil
}

// NewestVersions returns a string per partner that changes with each new event.
func (r Reader) NewestVersions(ctx context.Context, partnerIDs []int64) (map[int64]string, error) {
	found, err := sqldb.VersionsOfEach(ctx, r.DB, partnerIDs, 1, `SELECT partner_id, event_id FROM deliveries
		WHERE partner_id = $1 ORDER BY created_at DESC, event_id DESC LIMIT 1`)
	if err != nil {
		return nil, fmt.Errorf("read the newest events of partners: %w", err)
	}
	return found, nil
}
