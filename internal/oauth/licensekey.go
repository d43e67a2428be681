package oauth

import (
	"net/http"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/wire"
)

// licenseAnswer is a user's license (specification 2.2). It has the tier, because several clients
// assume tier 1 without it.
type licenseAnswer struct {
	LicenseKey string   `json:"license_key"`
	Status     string   `json:"status"`
	Scopes     []string `json:"scopes"`
	Tier       int      `json:"tier"`
}

// licenseKey returns the license of an access token. It is the only endpoint that reads the token
// from the query, as the specification demands.
func (s *Server) licenseKey(w http.ResponseWriter, r *http.Request) error {
	q, err := wire.LenientQuery(r, "access_token")
	if err != nil {
		return asRequest(err)
	}
	u, err := s.bearer(
		w,
		r,
		q.Get("access_token"),
		"as the query parameter access_token or in the header Authorization: Bearer <token>",
	)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, licenseAnswer{
		LicenseKey: u.license.Key, Status: u.license.Status.String(), Scopes: []string{scopeLicense},
		Tier: u.license.Tier,
	})
}

// bearer returns the license of the request's access token. The token comes from the header, or
// from elsewhere as other; a token in both places is refused. where explains how to send one.
func (s *Server) bearer(w http.ResponseWriter, r *http.Request, other, where string) (use, error) {
	var inHeader string
	headers := r.Header["Authorization"]
	if len(headers) > 0 {
		scheme, value, _ := strings.Cut(headers[0], " ")
		if strings.EqualFold(scheme, "Bearer") {
			inHeader = strings.TrimSpace(value)
		}
	}
	if len(headers) > 1 || inHeader != "" && other != "" {
		challenge(w, InvalidRequest)
		return use{}, badRequest("The request carries an access token in more than one place. Send it once, %s.", where)
	}
	value := inHeader + other
	if value == "" {
		// RFC 6750: a request without a token gets no error code.
		challenge(w, "")
		lacks := "The request carries no access token."
		if text := wire.Misplaced(r, secret.IsKind); text != "" {
			lacks = text
		}
		return use{}, badToken("", lacks+" Send the access token "+where+".")
	}
	u, err := s.serving(r.Context(), value)
	if fault.Of(err) != nil {
		challenge(w, invalidToken)
	}
	return u, err
}

// challenge sets the header for a refused access token.
func challenge(w http.ResponseWriter, code string) {
	text := "Bearer"
	if code != "" {
		text += ` error="` + code + `"`
	}
	w.Header().Set("WWW-Authenticate", text)
}
