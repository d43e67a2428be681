package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// grant is a stored authorization.
type grant struct {
	id            int64
	partnerID     int64
	licenseID     int64
	userID        int64
	licenseEpoch  int64
	redirectURL   string
	redirectEpoch int64
	challenge     string // "": without PKCE
	nonce         string
	scope         string
	namedScope    string // by the answer to the code; "": none
	authTime      time.Time
	expiresAt     time.Time // of the code
	usedAt        time.Time // of the code; zero: not used
	burned        string    // the wrong parameter that used the code up
	revokedAt     time.Time // of all its tokens; zero: not revoked
}

const grantColumns = `g.id, g.partner_id, g.license_id, g.user_id, g.license_epoch, g.redirect_url, g.redirect_epoch,
	g.challenge,
	g.nonce, g.scope, g.named_scope, g.auth_time, g.expires_at, g.used_at, g.burned, g.revoked_at`

// columns returns the scan targets of a grant's columns.
func (g *grant) columns() []any {
	return []any{
		&g.id, &g.partnerID, &g.licenseID, &g.userID, &g.licenseEpoch, &g.redirectURL, &g.redirectEpoch, &g.challenge,
		&g.nonce, &g.scope, &g.namedScope, &g.authTime, &g.expiresAt, &g.usedAt, &g.burned, &g.revokedAt,
	}
}

func scanGrant(r *sqldb.Row, g *grant) error { return r.Scan(g.columns()...) }

// byCode returns the grant with that code, or sqldb.ErrNone.
func (s *Server) byCode(ctx context.Context, code string) (grant, error) {
	g, err := sqldb.One(
		ctx,
		s.DB,
		scanGrant,
		`SELECT `+grantColumns+` FROM oauth_grants g WHERE g.code_hash = $1`,
		secret.Hash(code),
	)
	if err != nil {
		return grant{}, fmt.Errorf("look up a code: %w", err)
	}
	return g, nil
}

// kind is the type of a token.
type kind int

const (
	accessKind  kind = 1
	refreshKind kind = 2
)

// token is a stored token with its grant.
type token struct {
	hash      string
	kind      kind
	createdAt time.Time
	expiresAt time.Time
	usedAt    time.Time // of a refresh token; zero: not used
	grant     grant
}

func scanToken(r *sqldb.Row, t *token) error {
	return r.Scan(
		append([]any{&t.hash, (*int)(&t.kind), &t.createdAt, &t.expiresAt, &t.usedAt}, t.grant.columns()...)...)
}

// A token consists of its creation time, which is no secret, and 256 random bits, in lower-case
// hex.
const (
	stampLen = 12
	tokenLen = stampLen + 64
)

// newToken returns a new token.
func newToken(now time.Time) string {
	return secret.Make(fmt.Sprintf("%0*x", stampLen, now.UnixMilli()))
}

// keyOf returns the primary key of a token: its time and its hash. The time comes first so that new
// rows are neighbors. With the hash alone each row would change another page of the table, and a
// refresh would cost a quarter more.
func keyOf(value string) string { return value[:stampLen] + secret.Hash(value) }

// byToken returns the stored token of a value, or sqldb.ErrNone. The lookup is by hash,
// so its duration reveals nothing about other tokens.
func byToken(ctx context.Context, r sqldb.Reader, value string) (token, error) {
	if len(value) != tokenLen || strings.Trim(value, "0123456789abcdef") != "" {
		return token{}, sqldb.ErrNone
	}
	t, err := sqldb.One(
		ctx,
		r,
		scanToken,
		`SELECT t.hash, t.kind, t.created_at, t.expires_at, t.used_at, `+grantColumns+`
		FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.grant_id WHERE t.hash = $1`,
		keyOf(value),
	)
	if err != nil {
		return token{}, fmt.Errorf("look up a token: %w", err)
	}
	return t, nil
}

// pair is a new access token and a new refresh token. They are stored hashed.
type pair struct{ access, refresh string }

// queueTokens queues the rows of a new pair.
func (s *Server) queueTokens(tx *sqldb.Tx, p pair, grantID int64, now time.Time) {
	tx.Queue(`INSERT INTO oauth_tokens (hash, grant_id, kind, created_at, expires_at, used_at)
		VALUES ($1, $2, $7, $3, $4, 0), ($5, $2, $8, $3, $6, 0)`,
		keyOf(p.access), grantID, now, now.Add(s.Life.Access), keyOf(p.refresh), now.Add(s.Life.Refresh),
		accessKind, refreshKind)
}

// prepare makes a new pair and the answer that contains it, with scope unless empty. It signs,
// which is slow, so it runs before the transaction that stores the pair. Signing inside would delay
// other writers, and a failure after it would lose a rotated token.
func (s *Server) prepare(ctx context.Context, c Claims, scope string) (pair, []byte, error) {
	p := pair{access: newToken(c.Now), refresh: newToken(c.Now)}
	c.AccessToken = p.access
	id, err := s.IDToken(ctx, c)
	if err != nil {
		return pair{}, nil, fmt.Errorf("sign an identity token: %w", err)
	}
	b := make([]byte, 0, 320+len(id))
	b = append(b, `{"access_token":"`...)
	b = append(b, p.access...)
	b = append(b, `","token_type":"bearer","expires_in":`...)
	b = strconv.AppendInt(b, int64(s.Life.Access/time.Second), 10)
	b = append(b, `,"refresh_token":"`...)
	b = append(b, p.refresh...)
	b = append(b, `","id_token":"`...)
	b = append(b, id...)
	if scope != "" { // one of our constants; needs no escaping
		b = append(b, `","scope":"`...)
		b = append(b, scope...)
	}
	return p, append(b, `"}`...), nil
}

// errEnded returns the fault for a connection that ended because its license was released,
// transferred or lost its owner.
func errEnded(what string) error {
	return badGrant(
		causeLicenseEnded,
		"The %s is no longer valid: the license was since released, transferred or lost its owner. Let the user "+
			"connect again.",
		what,
	)
}

// licenseOf returns the license of a grant, and whether the grant is still valid for it. After a
// hold or a refund it still is: the license is then shown as deactivated.
func licenseOf(ctx context.Context, r sqldb.Reader, g grant) (l license.License, valid bool, err error) {
	l, err = license.Get(ctx, r, g.licenseID)
	if err != nil {
		return license.License{}, false, fmt.Errorf("read the license of a grant: %w", err)
	}
	return l, l.Epoch == g.licenseEpoch, nil
}

// revokeFamily revokes all tokens of a grant in its own transaction, because the request that
// caused it is refused.
func (s *Server) revokeFamily(ctx context.Context, who partner.Partner, g grant, why string) error {
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := s.Now()
		n, err := tx.Exec(ctx, `UPDATE oauth_grants SET revoked_at = $2 WHERE id = $1 AND revoked_at = 0`, g.id, now)
		if n > 0 {
			audit.Record(
				tx,
				now,
				actor(who),
				"oauth.revoke",
				g.name(),
				nil,
				audit.Facts{"why": why, "partner_id": g.partnerID},
			)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke the tokens of a grant: %w", err)
	}
	return nil
}

// refuseForeign audits that a client sent another client's code or token, and returns the fault. It
// revokes nothing: a thief must not be able to disconnect the owner.
func (s *Server) refuseForeign(ctx context.Context, who partner.Partner, g grant, what, cause string) error {
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		audit.Record(
			tx,
			s.Now(),
			actor(who),
			"oauth.foreign",
			g.name(),
			nil,
			audit.Facts{"what": what, "partner_id": g.partnerID},
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("audit a foreign %s: %w", what, err)
	}
	return badGrant(
		cause,
		"The %s was issued to another client_id. Exchange it with the credentials of the application that it was "+
			"sent to.",
		what,
	)
}

// name returns the grant's name in the audit.
func (g grant) name() string { return "grant:" + strconv.FormatInt(g.id, 10) }

// use is a valid access token and its license.
type use struct {
	token
	license license.License
}

// serving returns the license of an access token, or a fault if it is not valid.
func (s *Server) serving(ctx context.Context, value string) (use, error) {
	t, err := byToken(ctx, s.DB, value)
	if errors.Is(err, sqldb.ErrNone) || err == nil && t.kind != accessKind {
		return use{}, badToken("", cmp.Or(secret.Mistaken(value, secret.AccessToken),
			"The access token is not known. It may have been revoked; get a new one by a refresh."))
	}
	if err != nil {
		return use{}, err
	}
	note := wire.RequestLogOf(ctx)
	note.Named = t.grant.partnerID
	note.LicenseID = t.grant.licenseID
	switch {
	case !t.grant.revokedAt.IsZero():
		return use{}, badToken(causeTokenRevoked, "The access token was revoked. Let the user connect again.")
	case !s.Now().Before(t.expiresAt):
		return use{}, badToken(causeTokenExpired, "The access token has expired. Get a new one by a refresh.")
	}
	l, valid, err := licenseOf(ctx, s.DB, t.grant)
	if err == nil && !valid {
		err = badToken(
			causeLicenseEnded,
			"The access token is no longer valid: the license was since released, transferred or lost its owner. "+
				"Let the user connect again.",
		)
	}
	if err == nil {
		note.Partner = t.grant.partnerID
	}
	return use{t, l}, err
}
