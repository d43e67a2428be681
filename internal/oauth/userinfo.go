package oauth

import (
	"net/http"

	"claviger/internal/wire"
)

// userinfoAnswer is an application's view of its user. It does not include the email address.
type userinfoAnswer struct {
	Subject       string `json:"sub"`
	LicenseKey    string `json:"license_key"`
	Tier          int    `json:"tier"`
	LicenseStatus string `json:"license_status"`
}

// userinfo returns the user of an access token. OpenID requires GET and POST; with POST the token
// may be in the body.
func (s *Server) userinfo(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		AccessToken string `json:"access_token"`
	}
	if r.Method == http.MethodPost {
		if err := decodeForm(w, r, &in); err != nil {
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
