package oauth

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/go-jose/go-jose/v4"

	"claviger/internal/account"
	"claviger/internal/partner"
)

// hinted returns the subject of an id_token_hint, or "" without one. A token that we did not sign
// for this partner is refused, not ignored: an application that expects one user must not get
// another. An expired token is accepted.
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
		return "", deny(
			InvalidRequest,
			"id_token_hint is not an identity token that was signed here for this client_id "+
				"by a key that is still published; leave it out, or send a newer one",
		)
	}
	return t.Subject, nil
}

// verified returns the body of a token signed by a published key, or nil for any other text.
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
		return nil, nil //nolint:nilerr // no token, which is not our failure
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

// Expects reports whether a user matches the partner's id_token_hint, if any. The token may have been
// given to a user who was merged into this one.
func (s *Server) Expects(ctx context.Context, r Request, userID int64) (bool, error) {
	if r.Subject == "" || r.Subject == s.subject(r.Partner.ID, userID) {
		return true, nil
	}
	merged, err := account.Merged(ctx, s.DB, userID)
	is := func(id int64) bool { return r.Subject == s.subject(r.Partner.ID, id) }
	return slices.ContainsFunc(merged, is), err
}
