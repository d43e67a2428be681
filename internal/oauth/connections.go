package oauth

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Authorization is a connection of a license with its application that a buyer agreed to, with the
// state of its code.
type Authorization struct {
	At        time.Time
	ExpiresAt time.Time // of the code
	UsedAt    time.Time // when the application exchanged the code; zero: never
	Burned    string    // the wrong parameter that used the code up; "": none
	RevokedAt time.Time // of its tokens; zero: not revoked
}

// OfLicense returns the newest stored authorizations of a license, newest first. They are stored as
// long as their tokens may be valid.
func (s *Server) OfLicense(ctx context.Context, licenseID int64, limit int) ([]Authorization, error) {
	list, err := sqldb.All(ctx, s.DB, func(r *sqldb.Row, a *Authorization) error {
		return r.Scan(&a.At, &a.ExpiresAt, &a.UsedAt, &a.Burned, &a.RevokedAt)
	}, `SELECT created_at, expires_at, used_at, burned, revoked_at FROM oauth_grants WHERE license_id = $1
		ORDER BY id DESC LIMIT $2`, licenseID, limit)
	if err != nil {
		return nil, fmt.Errorf("list the authorizations of a license: %w", err)
	}
	return list, nil
}
