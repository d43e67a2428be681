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

// idTokenLife is the lifetime of an identity token.
const idTokenLife = time.Hour

// Claims is the content of an identity token.
type Claims struct {
	Partner     partner.Partner
	Alg         Alg
	UserID      int64
	License     license.License
	Nonce       string    // "": none was sent
	AuthTime    time.Time // when the buyer signed in; zero: not known
	Now         time.Time
	AccessToken string
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

// IDToken makes the identity token of c.
func (s *Server) IDToken(ctx context.Context, c Claims) (string, error) {
	t := idToken{
		Issuer: s.Issuer, Subject: s.subject(c.Partner.ID, c.UserID), Audience: c.Partner.ClientID,
		Expires: c.Now.Add(idTokenLife).Unix(), IssuedAt: c.Now.Unix(), Nonce: c.Nonce,
		AccessHash: accessHash(c.AccessToken),
		LicenseKey: c.License.Key, Tier: c.License.Tier, LicenseStatus: c.License.Status.String(),
	}
	if !c.AuthTime.IsZero() {
		t.AuthTime = c.AuthTime.Unix()
	}
	return s.Keys.Sign(ctx, c.Alg, t)
}

// subject returns a user's identifier for a partner. It never changes, differs between partners,
// and reveals no internal ids.
func (s *Server) subject(partnerID, userID int64) string {
	return s.Sealer.Pepper(fmt.Sprintf("subject of user %d for partner %d", userID, partnerID))
}

// accessHash binds an identity token to its access token: the left half of its hash, as OpenID
// defines it for both of our algorithms.
func accessHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}
