package profile

import (
	"context"

	"claviger/internal/audit"
	"claviger/internal/fault"
)

// Algorithms for signing identity tokens.
const (
	RS256 = "RS256" // the default
	ES256 = "ES256"
)

// Connection has a partner's choices for connecting buyers with its application; nil leaves a field
// unchanged.
type Connection struct {
	InitiateLoginURI *string // empty unsets it
	IDTokenAlg       *string
	NoErrorMember    *bool
}

// NewConnection converts the members of a request. The request has error_member; Connection has its
// opposite.
func NewConnection(initiateLoginURI, idTokenAlg *string, errorMember *bool) Connection {
	c := Connection{InitiateLoginURI: initiateLoginURI, IDTokenAlg: idTokenAlg}
	if errorMember != nil {
		c.NoErrorMember = new(!*errorMember)
	}
	return c
}

// Connect does the same as SetURLs, only for the connection. It calls no server.
func (b *Store) Connect(
	ctx context.Context, by audit.Actor, partnerID int64, c Connection,
) (Profile, []Contact, error) {
	p, contacts, _, err := b.SetURLs(ctx, by, partnerID, URLChange{Connection: c})
	return p, contacts, err
}

// readConnection validates the form of a connection.
func (c Checker) readConnection(n Connection) (Connection, error) {
	if a := n.IDTokenAlg; a != nil && *a != RS256 && *a != ES256 {
		return n, fault.Field("id_token_alg", "must be %s or %s.", RS256, ES256)
	}
	var err error
	n.InitiateLoginURI, err = c.read("initiate_login_uri", n.InitiateLoginURI)
	return n, err
}

// on returns the profile with the new connection.
func (c Connection) on(p Profile) Profile {
	if c.InitiateLoginURI != nil {
		p.InitiateLoginURI = *c.InitiateLoginURI
	}
	if c.IDTokenAlg != nil {
		p.IDTokenAlg = *c.IDTokenAlg
	}
	if c.NoErrorMember != nil {
		p.NoErrorMember = *c.NoErrorMember
	}
	return p
}

func (p Profile) connection() audit.Facts {
	return audit.Facts{
		"initiate_login_uri": p.InitiateLoginURI,
		"id_token_alg":       p.IDTokenAlg,
		"error_member":       !p.NoErrorMember,
	}
}
