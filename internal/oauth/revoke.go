package oauth

import (
	"errors"
	"fmt"
	"net/http"

	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// presented is the body of a request about a token. It has no token_type_hint,
// because one lookup finds tokens of every type.
type presented struct {
	credentials
	Token string `json:"token"`
}

// revoke revokes a token by RFC 7009: a refresh token with all tokens of its grant, an access token
// alone. Unknown tokens and those of other clients get the same answer, because the client could
// not act on another.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) error {
	var in presented
	who, err := s.enter(w, r, &in, &in.credentials, nil)
	if err != nil {
		return err
	}
	if in.Token == "" {
		return missing("token")
	}
	ctx := r.Context()
	t, err := byToken(ctx, s.DB, in.Token)
	switch {
	case err != nil && !errors.Is(err, sqldb.ErrNone):
		return err
	case err != nil || t.grant.partnerID != who.ID:
	case t.kind == refreshKind:
		if err := s.revokeFamily(ctx, who, t.grant, "asked for by the partner"); err != nil {
			return err
		}
	default:
		err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM oauth_tokens WHERE hash = $1`, t.hash)
			return err
		})
		if err != nil {
			return fmt.Errorf("revoke an access token: %w", err)
		}
	}
	return wire.Raw(w, http.StatusOK, []byte("{}"))
}
