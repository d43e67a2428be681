package oauth

import (
	"context"
	"encoding/json"

	"github.com/go-jose/go-jose/v4"

	"claviger/internal/partner"
)

// hinted returns the subject of an id_token_hint, "" when none was sent. A token that
// we did not sign for this partner is refused rather than ignored: an application that
// says whom it expects must not get somebody else. An expired token is accepted.
func (s *Server) hinted(ctx context.Context, hint string, p partner.Partner) (string, error) {
	if hint == "" {
		return "", nil
	}
	body, err := s.Keys.verified(ctx, hint)
	if err != nil {
		return "", err
	}
	var t idToken
	if json.Unmarshal(body, &t) != nil || t.Issuer != s.Issuer || t.Audience != p.ClientID || t.Subject == "" {
		// The message does not quote it, because it may be another user's token.
		return "", deny(InvalidRequest, "id_token_hint is not an identity token that was signed here for this client_id "+
			"by a key that is still published; leave it out, or send a newer one")
	}
	return t.Subject, nil
}

// verified is the body of a token that a published key has signed, nil for any other
// text.
func (k *Keys) verified(ctx context.Context, token string) ([]byte, error) {
	r, err := k.current(ctx)
	if err != nil {
		return nil, err
	}
	known := make([]jose.SignatureAlgorithm, len(algs))
	for i, alg := range algs {
		known[i] = jose.SignatureAlgorithm(alg)
	}
	parsed, err := jose.ParseSignedCompact(token, known)
	if err != nil {
		return nil, nil //nolint:nilerr // it is no token, which is no failure of ours
	}
	now := k.Now()
	for i, key := range r.rows {
		if key.kid != parsed.Signatures[0].Header.KeyID {
			continue
		}
		if state, until := k.state(r.rows, i, now); state == Previous && !now.Before(until) {
			continue
		}
		if body, err := parsed.Verify(r.opened[key.kid].public); err == nil {
			return body, nil
		}
	}
	return nil, nil
}

// Expects reports whether a user is the one that the partner's id_token_hint names, if
// it sent one.
func (s *Server) Expects(r Request, userID int64) bool {
	return r.Subject == "" || r.Subject == s.subject(r.Partner.ID, userID)
}
