// Package oauth connects a partner's application to a buyer's license: it decides
// about authorization requests and consent, and serves the OAuth 2.0 and OpenID
// Connect endpoints (token, license_key, userinfo, revoke, introspect, keys,
// discovery) with their description, openapi.yaml. It owns the tables oauth_keys,
// oauth_grants, oauth_tokens, oauth_answers and oauth_consents.
//
// One authorization is a grant: its code, and all tokens given for it. Codes and
// tokens are opaque and stored hashed. Releasing or transferring a license does not
// change its grants: every use compares the epoch of the license with the one at
// which the grant was made.
//
// The pages of the flow are in package shop, the rules of a license in package
// license, and the credentials of clients in package partner.
package oauth

import (
	_ "embed"
	"net/http"
	"time"

	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// Server is the authorization server. All fields except Guard are required.
type Server struct {
	DB       *sqldb.DB
	Sealer   *secret.Sealer
	Now      func() time.Time
	Partners *partner.Store
	Profiles *profile.Store
	Licenses *license.Store
	Keys     *Keys

	Issuer string // the public URL, without a trailing slash
	Life   Lifetimes

	// Guard limits wrong client credentials per client address and per client id. Above the limit
	// the sender is told to wait. Right credentials always pass, so guessing cannot lock out a
	// partner; 256 bits cannot be guessed. Nil: no limit.
	Guard *wire.Guard
}

// Lifetimes are the lifetimes of codes and tokens.
type Lifetimes struct{ Code, Access, Refresh time.Duration }

// description is openapi.yaml as JSON; a test compares them.
//
//go:embed openapi.json
var description []byte

// Description returns the OpenAPI description of the endpoints, as JSON.
func Description() []byte { return description }

// Routes returns the table of the endpoints. A test compares its paths with openapi.yaml.
func (s *Server) Routes() []wire.Route {
	routes := []wire.Route{
		wire.Public("POST", "/openid/token", s.token(true)),
		wire.Public("POST", "/openid/oauth2/token", s.token(false)),
		wire.Public("GET", "/openid/license_key", asOAuth(s.licenseKey)),
		wire.Public("GET", "/openid/userinfo", asOAuth(s.userinfo)),
		wire.Public("POST", "/openid/userinfo", asOAuth(s.userinfo)),
		wire.Public("POST", "/openid/revoke", asOAuth(s.revoke)),
		wire.Public("POST", "/openid/introspect", asOAuth(s.introspect)),
		wire.Public("GET", "/openid/jwks", s.jwks),
		wire.Public("GET", "/openid/.well-known/openid-configuration", s.discovery),
		wire.Public("GET", "/.well-known/openid-configuration", s.discovery),
		wire.Public("GET", "/.well-known/oauth-authorization-server", s.discovery),
		wire.Public("GET", "/openid/openapi.json", s.describe),
	}
	for i := range routes {
		routes[i].Other = wrongMethod
	}
	return routes
}

// describe serves the description of these endpoints.
func (s *Server) describe(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return wire.Raw(w, http.StatusOK, description)
}
