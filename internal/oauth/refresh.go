package oauth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// repeatTime is the time in which a used refresh token gets the same answer again: the first one
// may have been lost, and the client would be locked out. Later use means that two parties have the
// token, and revokes all tokens of the grant.
const repeatTime = 30 * time.Second

// storedRefresh is the stored state of a refresh token that a client sent. The license is read only
// if the token is the client's own.
type storedRefresh struct {
	token
	license license.License
	valid   bool // the license has the epoch of the grant
	alg     Alg  // of the client's identity tokens
	err     error
}

// loadRefresh looks up a refresh token. Its error is part of the result, because faults of the
// request are answered first.
func loadRefresh(ctx context.Context, tx *sqldb.Tx, who partner.Partner, value string) (h storedRefresh) {
	asked := profile.QueueRead(tx, who.ID)
	if h.token, h.err = byToken(ctx, tx, value); h.err != nil || h.grant.partnerID != who.ID {
		return h
	}
	if h.license, h.valid, h.err = licenseOf(ctx, tx, h.grant); h.err != nil {
		return h
	}
	p, err := asked(ctx)
	h.alg = Alg(p.IDTokenAlg)
	h.err = err
	return h
}

// refresh returns new tokens for a refresh token.
func (s *Server) refresh(ctx context.Context, who partner.Partner, in tokenRequest, h storedRefresh) ([]byte, error) {
	if in.RefreshToken == "" {
		return nil, missing("refresh_token")
	}
	t := h.token
	err := h.err
	if errors.Is(err, sqldb.ErrNone) || err == nil && t.kind != refreshKind {
		return nil, badGrant(
			causeRefreshUnknown,
			"The refresh token is not known. Send the refresh_token of the last answer, or let the user connect again.",
		)
	}
	if err != nil {
		return nil, err
	}
	if t.grant.partnerID != who.ID {
		return nil, s.refuseForeign(ctx, who, t.grant, "refresh token", causeRefreshForeign)
	}
	wire.RequestLogOf(ctx).LicenseID = t.grant.licenseID
	if !t.grant.revokedAt.IsZero() {
		return nil, badGrant(causeRefreshRevoked, "The refresh token was revoked. Let the user connect again.")
	}
	now := s.Now()
	switch {
	case !h.valid:
		return nil, errEnded("refresh token")
	case !t.usedAt.IsZero():
		return s.repeat(ctx, who, t, now)
	case !now.Before(t.expiresAt):
		return nil, badGrant(causeRefreshExpired, "The refresh token has expired. Let the user connect again.")
	}
	// OpenID requires no nonce here: it belongs to the answer to the authorization request. The
	// scope is the one that the client knows from its code.
	tokens, answer, err := s.prepare(ctx, Claims{
		Partner: who, Alg: h.alg, UserID: t.grant.userID, License: h.license, AuthTime: t.grant.authTime, Now: now,
	}, "")
	if err != nil {
		return nil, err
	}
	won, err := s.rotate(ctx, t, tokens, answer, now)
	if err != nil || won {
		return answer, err
	}
	// Another request used the token meanwhile: repeat its answer.
	if t, err = byToken(ctx, s.DB, in.RefreshToken); err != nil {
		return nil, err
	}
	return s.repeat(ctx, who, t, now)
}

// rotate marks a refresh token as used, stores its sealed answer, and stores the new tokens. It
// returns false and changes nothing if another request used the token first.
func (s *Server) rotate(ctx context.Context, t token, tokens pair, answer []byte, now time.Time) (won bool, err error) {
	sealed := s.Sealer.Seal(answerLabel(t.hash), string(answer))
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE oauth_tokens SET used_at = $2 WHERE hash = $1 AND used_at = 0`, t.hash, now)
		if won = n > 0; won {
			tx.Queue(`INSERT INTO oauth_answers (used_at, hash, answer) VALUES ($1, $2, $3)`, now, t.hash, sealed)
			s.queueTokens(tx, tokens, t.grant.id, now)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("rotate a refresh token: %w", err)
	}
	return won, nil
}

// repeat handles a used refresh token.
func (s *Server) repeat(ctx context.Context, who partner.Partner, t token, now time.Time) ([]byte, error) {
	if now.Sub(t.usedAt) < repeatTime {
		answer, err := s.answered(ctx, t)
		if err == nil || !errors.Is(err, sqldb.ErrNone) {
			return answer, err
		}
	}
	if err := s.revokeFamily(ctx, who, t.grant, "refresh token used again"); err != nil {
		return nil, err
	}
	return nil, badGrant(
		causeRefreshUsed,
		"The refresh token was used already, so another party may have it. All tokens of this connection are "+
			"revoked. "+
			"Store only the newest refresh_token; let the user connect again.",
	)
}

// answered returns the stored answer to the use of a refresh token, or sqldb.ErrNone
// if it was pruned.
func (s *Server) answered(ctx context.Context, t token) ([]byte, error) {
	sealed, err := sqldb.One(
		ctx,
		s.DB,
		sqldb.Value[string],
		`SELECT answer FROM oauth_answers WHERE used_at = $1 AND hash = $2`,
		t.usedAt,
		t.hash,
	)
	if err != nil {
		return nil, fmt.Errorf("look up a stored answer: %w", err)
	}
	answer, err := s.Sealer.Open(answerLabel(t.hash), sealed)
	if err != nil {
		return nil, fmt.Errorf("open a stored answer: %w", err)
	}
	return []byte(answer), nil
}

// answerLabel binds a sealed answer to its refresh token: it does not open in another
// row.
func answerLabel(hash string) string { return "answer of refresh token " + hash }
