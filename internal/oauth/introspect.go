package oauth

import (
	"errors"
	"net/http"

	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// introspection describes a client's own token (RFC 7662).
type introspection struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	TokenType string `json:"token_type,omitempty"`
	Expires   int64  `json:"exp,omitempty"`
	IssuedAt  int64  `json:"iat,omitempty"`
	Subject   string `json:"sub,omitempty"`
	Audience  string `json:"aud,omitempty"`
	Issuer    string `json:"iss,omitempty"`
}

// introspect reports whether a token is valid. Another client's token is as inactive as an unknown
// one.
func (s *Server) introspect(w http.ResponseWriter, r *http.Request) error {
	var in presented
	who, err := s.enter(w, r, &in, &in.credentials, nil)
	if err != nil {
		return err
	}
	if in.Token == "" {
		return missing("token")
	}
	t, err := byToken(r.Context(), s.DB, in.Token)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return err
	}
	inactive := err != nil || t.grant.partnerID != who.ID || !t.grant.revokedAt.IsZero() || !t.usedAt.IsZero() ||
		!s.Now().Before(t.expiresAt)
	if !inactive {
		_, valid, err := licenseOf(r.Context(), s.DB, t.grant)
		if err != nil {
			return err
		}
		inactive = !valid
	}
	if inactive {
		return wire.JSON(w, http.StatusOK, introspection{})
	}
	answer := introspection{
		Active: true, Scope: t.grant.scope, ClientID: who.ClientID, Audience: who.ClientID, Issuer: s.Issuer,
		Expires: t.expiresAt.Unix(), IssuedAt: t.createdAt.Unix(),
		Subject: s.subject(t.grant.partnerID, t.grant.userID),
	}
	if t.kind == accessKind {
		answer.TokenType = "bearer"
	}
	return wire.JSON(w, http.StatusOK, answer)
}
