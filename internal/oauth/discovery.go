package oauth

import (
	"net/http"
	"strconv"
	"time"

	"claviger/internal/wire"
)

// metadata is the server configuration of OpenID Connect Discovery and RFC 8414. Every member
// describes an existing feature.
type metadata struct {
	Issuer                string   `json:"issuer"`
	Authorization         string   `json:"authorization_endpoint"`
	Token                 string   `json:"token_endpoint"`
	Userinfo              string   `json:"userinfo_endpoint"`
	JWKS                  string   `json:"jwks_uri"`
	Revocation            string   `json:"revocation_endpoint"`
	Introspection         string   `json:"introspection_endpoint"`
	Scopes                []string `json:"scopes_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	SubjectTypes          []string `json:"subject_types_supported"`
	SigningAlgs           []Alg    `json:"id_token_signing_alg_values_supported"`
	TokenAuth             []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuth        []string `json:"revocation_endpoint_auth_methods_supported"`
	IntrospectionAuth     []string `json:"introspection_endpoint_auth_methods_supported"`
	Challenges            []string `json:"code_challenge_methods_supported"`
	Prompts               []string `json:"prompt_values_supported"`
	ClaimTypes            []string `json:"claim_types_supported"`
	Claims                []string `json:"claims_supported"`
	ClaimsParameter       bool     `json:"claims_parameter_supported"`
	RequestParameter      bool     `json:"request_parameter_supported"`
	RequestURIParameter   bool     `json:"request_uri_parameter_supported"`
	IssInTheAnswer        bool     `json:"authorization_response_iss_parameter_supported"`
	RequestURIsRegistered bool     `json:"require_request_uri_registration"`
}

func (s *Server) metadata() metadata {
	auth := []string{"client_secret_basic", "client_secret_post"}
	return metadata{
		Issuer:        s.Issuer,
		Authorization: s.Issuer + AuthorizePath,
		// The variant of /openid/token without the empty error member: strict clients use
		// discovery, and they refuse that member.
		Token:         s.Issuer + "/openid/oauth2/token",
		Userinfo:      s.Issuer + "/openid/userinfo",
		JWKS:          s.Issuer + "/openid/jwks",
		Revocation:    s.Issuer + "/openid/revoke",
		Introspection: s.Issuer + "/openid/introspect",
		Scopes:        []string{scopeOpenID, scopeLicense},
		ResponseTypes: []string{"code"}, ResponseModes: []string{"query"},
		GrantTypes:   []string{"authorization_code", "refresh_token"},
		SubjectTypes: []string{"pairwise"}, SigningAlgs: algs,
		TokenAuth: auth, RevocationAuth: auth, IntrospectionAuth: auth,
		Challenges: []string{"S256"}, Prompts: promptsSupported,
		ClaimTypes: []string{"normal"}, Claims: claimsSupported,
		IssInTheAnswer: true,
	}
}

// discovery answers the metadata.
func (s *Server) discovery(w http.ResponseWriter, _ *http.Request) error {
	shared(w)
	return wire.JSON(w, http.StatusOK, s.metadata())
}

// jwks answers the keys that verify identity tokens.
func (s *Server) jwks(w http.ResponseWriter, r *http.Request) error {
	set, err := s.Keys.Published(r.Context())
	if err != nil {
		return err
	}
	shared(w)
	return wire.JSON(w, http.StatusOK, set)
}

// shared allows caches to store the answer and every site to read it: it is the same for all and
// has no secret.
func shared(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "public, max-age="+strconv.Itoa(int(jwksAge/time.Second)))
	w.Header().Set("Access-Control-Allow-Origin", "*")
}
