package oauth

import (
	"net/http"

	"claviger/internal/wire"
)

// userinfoAnswer is what an application learns about its user. The email address is
// not part of it.
type userinfoAnswer struct {
	Subject       string `json:"sub"`
	LicenseKey    string `json:"license_key"`
	Tier          int    `json:"tier"`
	LicenseStatus string `json:"license_status"`
}

// userinfo answers whose an access token is. OpenID demands it by GET and by
// POST, where the token may be in the body.
func (s *Server) userinfo(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		AccessToken string `json:"access_token"`
	}
	if r.Method == http.MethodPost {
		if err := read(w, r, &in); err != nil {
			return err
		}
	}
	u, err := s.bearer(w, r, in.AccessToken, "in the header Authorization: Bearer <token>")
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, userinfoAnswer{
		Subject:    s.subject(u.grant.partnerID, u.grant.userID),
		LicenseKey: u.license.Key, Tier: u.license.Tier, LicenseStatus: u.license.Status.String(),
	})
}
