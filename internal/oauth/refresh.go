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
)

// repeatTime is how long a used refresh token repeats its answer: the first may
// have been lost on the way, and the client would be locked out. Later its use
// means that two parties hold it, and ends the family.
const repeatTime = 30 * time.Second

// held is all that is stored of a refresh token that a client presents. What the
// token stands for is read only if it is the client's own.
type held struct {
	token
	license license.License
	stands  bool // for the license as it is now
	alg     Alg  // by which the client wants identity tokens signed
	err     error
}

// hold looks a refresh token up. Its error waits with what was found, since what is
// wrong with the request comes first.
func hold(ctx context.Context, tx *sqldb.Tx, who partner.Partner, value string) (h held) {
	asked := profile.QueueRead(tx, who.ID)
	if h.token, h.err = byToken(ctx, tx, value); h.err != nil || h.grant.partnerID != who.ID {
		return h
	}
	if h.license, h.stands, h.err = standing(ctx, tx, h.grant); h.err != nil {
		return h
	}
	p, err := asked(ctx)
	h.alg, h.err = Alg(p.IDTokenAlg), err
	return h
}

// refresh gives new tokens for a refresh token.
func (s *Server) refresh(ctx context.Context, who partner.Partner, in tokenRequest, h held) ([]byte, error) {
	if in.RefreshToken == "" {
		return nil, missing("refresh_token")
	}
	t, err := h.token, h.err
	if errors.Is(err, sqldb.ErrNone) || err == nil && t.kind != refreshKind {
		return nil, badGrant("The refresh token is not known. Send the refresh_token of the last answer, or let the user connect again.")
	}
	if err != nil {
		return nil, err
	}
	if t.grant.partnerID != who.ID {
		return nil, s.foreign(ctx, who, t.grant, "refresh token")
	}
	if !t.grant.revokedAt.IsZero() {
		return nil, badGrant("The refresh token was revoked. Let the user connect again.")
	}
	now := s.Now()
	switch {
	case !h.stands:
		return nil, errEnded("refresh token")
	case !t.usedAt.IsZero():
		return s.repeat(ctx, who, t, now)
	case !now.Before(t.expiresAt):
		return nil, badGrant("The refresh token has expired. Let the user connect again.")
	}
	// OpenID wants no nonce here: it belongs to the answer that the browser waits for.
	// The scope is the one that the client knows from its code.
	tokens, answer, err := s.prepare(ctx, claims{
		partner: who, alg: h.alg, userID: t.grant.userID, license: h.license, authTime: t.grant.authTime, now: now,
	}, "")
	if err != nil {
		return nil, err
	}
	won, err := s.rotate(ctx, t, tokens, answer, now)
	if err != nil || won {
		return answer, err
	}
	// Somebody else used it in the meantime: theirs is the answer for all.
	if t, err = byToken(ctx, s.DB, in.RefreshToken); err != nil {
		return nil, err
	}
	return s.repeat(ctx, who, t, now)
}

// rotate uses a refresh token up, keeps the answer to its use sealed, and stores
// the new tokens; or does nothing when another use came first.
func (s *Server) rotate(ctx context.Context, t token, tokens pair, answer []byte, now time.Time) (won bool, err error) {
	sealed := s.Sealer.Seal(sealLabel(t), string(answer))
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE oauth_tokens SET used_at = $2 WHERE hash = $1 AND used_at = 0`, t.hash, now)
		if won = n > 0; won {
			tx.Queue(`INSERT INTO oauth_answers (used_at, hash, answer) VALUES ($1, $2, $3)`, now, t.hash, sealed)
			s.keep(tx, tokens, t.grant.id, now)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("rotate a refresh token: %w", err)
	}
	return won, nil
}

// repeat answers the use of a used refresh token.
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
	return nil, badGrant("The refresh token was used already, so somebody else may hold it, and all tokens of this connection are revoked. " +
		"Keep the newest refresh_token only; let the user connect again.")
}

// answered is what the use of a refresh token was answered, or sqldb.ErrNone when
// that is forgotten.
func (s *Server) answered(ctx context.Context, t token) ([]byte, error) {
	sealed, err := sqldb.One(ctx, s.DB, sqldb.Value[string], `SELECT answer FROM oauth_answers WHERE used_at = $1 AND hash = $2`, t.usedAt, t.hash)
	if err != nil {
		return nil, fmt.Errorf("look up a kept answer: %w", err)
	}
	answer, err := s.Sealer.Open(sealLabel(t), sealed)
	if err != nil {
		return nil, fmt.Errorf("open a kept answer: %w", err)
	}
	return []byte(answer), nil
}

// sealLabel ties a kept answer to its refresh token: it does not open in another's
// row.
func sealLabel(t token) string { return "answer of refresh token " + t.hash }
