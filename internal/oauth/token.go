package oauth

import (
	"context"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// The grant types.
const (
	codeGrant    = "authorization_code"
	refreshGrant = "refresh_token"
)

// tokenRequest is the body of a token request, of either grant type.
type tokenRequest struct {
	credentials
	GrantType    string `json:"grant_type"`
	Code         string `json:"code"`
	RedirectURI  string `json:"redirect_uri"`
	CodeVerifier string `json:"code_verifier"`
	RefreshToken string `json:"refresh_token"`
}

// token serves a token endpoint. With member, the answer to a code exchange has the empty error
// member of the specification, unless the partner turned it off. The other token endpoint never has
// it, because strict clients treat any error member as an error.
func (s *Server) token(member bool) func(http.ResponseWriter, *http.Request) error {
	return asOAuth(func(w http.ResponseWriter, r *http.Request) error {
		var in tokenRequest
		var h storedRefresh
		who, err := s.enter(w, r, &in, &in.credentials, func(ctx context.Context, tx *sqldb.Tx, who partner.Partner) {
			if in.GrantType == refreshGrant {
				h = loadRefresh(ctx, tx, who, in.RefreshToken)
			}
		})
		if err != nil {
			return err
		}
		var answer []byte
		switch in.GrantType {
		case codeGrant:
			answer, err = s.exchange(r.Context(), who, in, member)
		case refreshGrant:
			answer, err = s.refresh(r.Context(), who, in, h)
		case "":
			err = missing("grant_type")
		default:
			err = fault.New(
				fault.Invalid,
				unsupportedGrant,
				"This grant_type is not supported. Send %s or %s.",
				codeGrant,
				refreshGrant,
			)
		}
		if err != nil {
			return err
		}
		return wire.Raw(w, http.StatusOK, answer)
	})
}
