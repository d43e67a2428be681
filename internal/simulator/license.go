package simulator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/prune"
	"claviger/internal/scenario"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// LicenseKept is how long a test license exists after its last event.
const LicenseKept = time.Hour

// TestLicense is a license that exists only for scenarios and test events.
type TestLicense struct {
	scenario.License
	RedemptionID string
}

// putLicense stores a test license as the next event leaves it.
func (s *Simulator) putLicense(ctx context.Context, partnerID int64, l scenario.License) error {
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(
			`INSERT INTO test_licenses (partner_id, license_key, redemption_id, status, tier, created_at, updated_at,
				expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (partner_id, license_key) DO UPDATE SET status = excluded.status, tier = excluded.tier,
				updated_at = excluded.updated_at, expires_at = excluded.expires_at`,
			partnerID,
			l.Key,
			secret.UUID(),
			l.Status,
			l.Tier,
			l.CreatedAt,
			l.UpdatedAt,
			s.Now().Add(LicenseKept),
		)
		tx.Queue(`DELETE FROM test_licenses WHERE partner_id = $1 AND license_key IN (
			SELECT license_key FROM test_licenses WHERE partner_id = $1 ORDER BY expires_at DESC
			LIMIT 100 OFFSET $2)`, partnerID, MaxTestLicenses)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store a test license: %w", err)
	}
	return nil
}

// License returns a test license of a partner, until LicenseKept after its last event.
func (s *Simulator) License(ctx context.Context, partnerID int64, key string) (TestLicense, error) {
	if strings.Trim(key, "0123456789abcdef-") != "" {
		return TestLicense{}, errUnknownLicense() // also rejects text that the database cannot store
	}
	l, err := sqldb.One(ctx, s.DB, func(r *sqldb.Row, l *TestLicense) error {
		return r.Scan(&l.Key, &l.RedemptionID, &l.Status, &l.Tier, &l.CreatedAt, &l.UpdatedAt)
	}, `SELECT license_key, redemption_id, status, tier, created_at, updated_at FROM test_licenses
		WHERE partner_id = $1 AND license_key = $2 AND expires_at > $3`, partnerID, key, s.Now())
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return TestLicense{}, errUnknownLicense()
	case err != nil:
		return TestLicense{}, fmt.Errorf("read a test license: %w", err)
	}
	return l, nil
}

// Expiring lists the rows that expire: test licenses, and runs that began longer than keep ago.
func Expiring(keep time.Duration) []prune.Rule {
	return []prune.Rule{
		{Table: "test_licenses", Key: "partner_id, license_key", At: "expires_at"},
		{Table: "scenario_runs", At: "started_at", Keep: keep},
	}
}

func errUnknownLicense() error {
	return fault.New(fault.Missing, CodeUnknownTestLicense, "There is no such test license, or its hour is over.")
}
