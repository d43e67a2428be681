package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// reloadTime is the time in which a repeated code counts as a callback that was loaded twice. Later
// it counts as stolen, and its tokens are revoked.
const reloadTime = 10 * time.Second

// The parameters that invalidate a code when they are wrong.
const (
	byRedirect = "redirect_uri"
	byVerifier = "code_verifier"
)

// exchange returns tokens for a code.
func (s *Server) exchange(ctx context.Context, who partner.Partner, in tokenRequest, member bool) ([]byte, error) {
	switch {
	case in.Code == "":
		return nil, missing("code")
	case in.RedirectURI == "":
		return nil, missing("redirect_uri")
	}
	g, err := s.byCode(ctx, in.Code)
	if errors.Is(err, sqldb.ErrNone) {
		return nil, badGrant(
			causeCodeUnknown,
			"The code is not known. Send the code of the redirect as it came, or let the user connect again.",
		)
	}
	if err != nil {
		return nil, err
	}
	if g.partnerID != who.ID {
		return nil, s.refuseForeign(ctx, who, g, "code", causeCodeForeign)
	}
	wire.RequestLogOf(ctx).LicenseID = g.licenseID
	p, err := s.Profiles.Read(ctx, s.DB, who.ID)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	if err := s.checkCode(ctx, who, g, p, now); err != nil {
		return nil, err
	}
	l, valid, err := licenseOf(ctx, s.DB, g)
	if err != nil {
		return nil, err
	}
	if !valid {
		return nil, errEnded("code")
	}
	if err := s.matches(ctx, g, in, now); err != nil {
		return nil, err
	}
	tokens, answer, err := s.prepare(ctx, Claims{
		Partner: who, Alg: Alg(p.IDTokenAlg), UserID: g.userID, License: l, Nonce: g.nonce,
		AuthTime: g.authTime, Now: now,
	}, g.namedScope)
	if err != nil {
		return nil, err
	}
	if err := s.consumeCode(ctx, g, tokens, now); err != nil {
		return nil, err
	}
	if member && !p.NoErrorMember {
		answer = append(answer[:len(answer)-1], `,"error":""}`...)
	}
	return answer, nil
}

func errUsed() error {
	return badGrant(
		causeCodeUsed,
		"The code was used already. Each code works once; let the user connect again for a new one.",
	)
}

// checkCode returns why a code can no longer be exchanged, or nil. A code sent again after
// reloadTime revokes the tokens of its first use.
func (s *Server) checkCode(ctx context.Context, who partner.Partner, g grant, p profile.Profile, now time.Time) error {
	switch {
	case g.burned != "":
		return badGrant(
			causeCodeBurned,
			"The code was used up by an exchange that failed, because its %s was wrong. Let the user connect again "+
				"for a new one.",
			g.burned,
		)
	case !g.usedAt.IsZero():
		if now.Sub(g.usedAt) > reloadTime {
			if err := s.revokeFamily(ctx, who, g, "code used again"); err != nil {
				return err
			}
		}
		return errUsed()
	case !now.Before(g.expiresAt):
		return badGrant(
			causeCodeExpired,
			"The code has expired. Exchange a code immediately when it arrives; let the user connect again for a "+
				"new one.",
		)
	case g.redirectEpoch != p.RedirectEpoch:
		return badGrant(
			causeRedirectChanged,
			"The code is no longer valid: the redirect URL of the application was since changed. Let the user "+
				"connect again.",
		)
	}
	return nil
}

// matches compares the request with the grant. A wrong parameter uses the code up; a
// missing one does not.
func (s *Server) matches(ctx context.Context, g grant, in tokenRequest, now time.Time) error {
	sum := sha256.Sum256([]byte(in.CodeVerifier))
	var burned string
	var err error
	switch {
	case in.RedirectURI != g.redirectURL:
		burned = byRedirect
		err = badGrant(
			causeRedirect,
			"redirect_uri is not the redirect URL that the code was sent to. %s Send exactly %s and let the user "+
				"connect again; this code is used up.",
			difference(in.RedirectURI, g.redirectURL),
			g.redirectURL,
		)
	case g.challenge != "" && in.CodeVerifier == "":
		return badGrant(
			causeVerifierMissing,
			"The parameter code_verifier is missing: the code was requested with a code_challenge. Send the "+
				"verifier that belongs to it.",
		)
	case g.challenge == "" && in.CodeVerifier != "":
		burned = byVerifier
		err = badGrant(
			causeVerifierExtra,
			"There is a code_verifier, but the code was requested without a code_challenge. Send the challenge with "+
				"the authorization request; this code is used up.",
		)
	case g.challenge != "" && !secret.Equal(base64.RawURLEncoding.EncodeToString(sum[:]), g.challenge):
		burned = byVerifier
		err = badGrant(
			causeVerifier,
			"code_verifier does not match the code_challenge (S256) of the authorization request. Let the user "+
				"connect again; this code is used up.",
		)
	default:
		return nil
	}
	if failed := s.burn(ctx, g, burned, now); failed != nil {
		return failed
	}
	return err
}

// burn marks a code as used without issuing tokens.
func (s *Server) burn(ctx context.Context, g grant, by string, now time.Time) error {
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(
			ctx,
			`UPDATE oauth_grants SET used_at = $2, burned = $3 WHERE id = $1 AND used_at = 0`,
			g.id,
			now,
			by,
		)
		return err
	})
	if err != nil {
		return fmt.Errorf("burn a code: %w", err)
	}
	return nil
}

// consumeCode marks a code as used and stores its tokens. The conditional update makes a code
// single-use across all nodes: only the request whose update succeeds stores tokens.
func (s *Server) consumeCode(ctx context.Context, g grant, tokens pair, now time.Time) error {
	var won bool
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE oauth_grants SET used_at = $2 WHERE id = $1 AND used_at = 0`, g.id, now)
		if won = n > 0; won {
			s.queueTokens(tx, tokens, g.id, now)
			profile.SignedIn(tx, g.partnerID, now)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("exchange a code: %w", err)
	}
	if !won {
		return errUsed()
	}
	return nil
}
