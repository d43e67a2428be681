package oauth

import (
	"context"
	"time"

	"claviger/internal/license"
	"claviger/internal/partner"
)

// IDToken is sign for tests.
func (s *Server) IDToken(ctx context.Context, p partner.Partner, alg Alg, who Authentication, l license.License, nonce string, now time.Time, accessToken string) (string, error) {
	return s.sign(ctx, claims{
		partner: p, alg: alg, userID: who.UserID, license: l, nonce: nonce, authTime: who.At, now: now, accessToken: accessToken,
	})
}
