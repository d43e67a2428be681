package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"claviger/internal/license"
	"claviger/internal/partner"
)

// idTokenLife is how long an identity token is valid.
const idTokenLife = time.Hour

// claims is what an identity token is made of.
type claims struct {
	partner     partner.Partner
	alg         Alg
	userID      int64
	license     license.License
	nonce       string    // "": none was sent
	authTime    time.Time // when the buyer signed in; zero: not known
	now         time.Time
	accessToken string
}

// idToken is the body of an identity token. Partners never get the buyer's email
// address.
type idToken struct {
	Issuer        string `json:"iss"`
	Subject       string `json:"sub"`
	Audience      string `json:"aud"`
	Expires       int64  `json:"exp"`
	IssuedAt      int64  `json:"iat"`
	AuthTime      int64  `json:"auth_time,omitempty"`
	Nonce         string `json:"nonce,omitempty"`
	AccessHash    string `json:"at_hash"`
	LicenseKey    string `json:"license_key"`
	Tier          int    `json:"tier"`
	LicenseStatus string `json:"license_status"`
}

// claimsSupported names the members of an identity token, for discovery.
var claimsSupported = []string{
	"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "license_key", "tier", "license_status",
}

// sign makes the identity token of c.
func (s *Server) sign(ctx context.Context, c claims) (string, error) {
	t := idToken{
		Issuer: s.Issuer, Subject: s.subject(c.partner.ID, c.userID), Audience: c.partner.ClientID,
		Expires: c.now.Add(idTokenLife).Unix(), IssuedAt: c.now.Unix(), Nonce: c.nonce,
		AccessHash: accessHash(c.accessToken),
		LicenseKey: c.license.Key, Tier: c.license.Tier, LicenseStatus: c.license.Status.String(),
	}
	if !c.authTime.IsZero() {
		t.AuthTime = c.authTime.Unix()
	}
	return s.Keys.Sign(ctx, c.alg, t)
}

// subject is who a user is to a partner: always the same, another for each
// partner, and nothing that our ids could be read from.
func (s *Server) subject(partnerID, userID int64) string {
	return s.Sealer.Pepper(fmt.Sprintf("subject of user %d for partner %d", userID, partnerID))
}

// accessHash binds an identity token to the access token given with it: the left
// half of its hash, as OpenID has it for both of our algorithms.
func accessHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}
