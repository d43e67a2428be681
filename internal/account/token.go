package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/lastuse"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Scope is a right of an operator token.
type Scope string

// Scopes. Admin includes the others, and each includes Read.
const (
	Read    Scope = "read"    // see everything
	Sell    Scope = "sell"    // purchases, plan changes, refunds
	Support Scope = "support" // hold, reinstate, release, redeliver, sign-in links
	Admin   Scope = "admin"   // partners, users, tokens
)

// scopes lists every scope, in the order in which a token lists its own.
var scopes = []Scope{Read, Sell, Support, Admin}

// Token is the right of one of the marketplace's programs to use the operator API. The secret is
// shown once and stored only as a hash.
type Token struct {
	ID        int64
	Name      string
	Scopes    []Scope
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	LastUsed  time.Time // zero: never; written at most once a minute
	Recalled  bool      // it worked before; not looked up again since
}

// May reports whether the token includes the scope.
func (t Token) May(s Scope) bool {
	return s == Read && len(t.Scopes) > 0 || slices.Contains(t.Scopes, s) || slices.Contains(t.Scopes, Admin)
}

const tokenColumns = `id, name, scopes, created_at, expires_at, revoked_at, last_used_at`

func scanToken(r *sqldb.Row, t *Token) error {
	var list string
	err := r.Scan(&t.ID, &t.Name, &list, &t.CreatedAt, &t.ExpiresAt, &t.RevokedAt, &t.LastUsed)
	for s := range strings.FieldsSeq(list) {
		t.Scopes = append(t.Scopes, Scope(s))
	}
	return err
}

// AddToken makes a token and returns it with its secret, which cannot be read again. If given is
// not empty, it is the secret. A zero expires means never.
func (b *Store) AddToken(
	ctx context.Context,
	by audit.Actor,
	name string,
	allow []Scope,
	expires time.Time,
	given string,
) (Token, string, error) {
	t, given, _, err := b.AddTokenOnce(ctx, by, name, allow, expires, given, nil)
	return t, given, err
}

// AddTokenOnce does the same as AddToken, for a form that may be sent twice: then sent is true and
// no token is made. The form is recorded in the transaction that makes the token.
func (b *Store) AddTokenOnce(
	ctx context.Context,
	by audit.Actor,
	name string,
	allow []Scope,
	expires time.Time,
	given string,
	form *idempotency.Request,
) (made Token, value string, sent bool, err error) {
	t := Token{CreatedAt: b.Now(), ExpiresAt: expires}
	if t.Name, err = validate.Name("name", name, 1, maxName); err != nil {
		return Token{}, "", false, err
	}
	if t.Scopes, err = ordered(allow); err != nil {
		return Token{}, "", false, err
	}
	if !expires.IsZero() && !expires.After(t.CreatedAt) {
		return Token{}, "", false, fault.Field(
			"expires_at",
			"is in the past; send a time to come, or leave it out for a token that does not expire.",
		)
	}
	if given == "" {
		given = secret.Make(string(secret.OperatorToken))
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if form != nil {
			if sent, err = idempotency.Lookup(ctx, tx, *form, &struct{}{}); err != nil || sent {
				return err
			}
			if err := idempotency.Store(tx, *form, struct{}{}, t.CreatedAt); err != nil {
				return err
			}
		}
		t.ID, err = sqldb.One(
			ctx,
			tx,
			sqldb.Value[int64],
			`INSERT INTO operator_tokens (name, hash, scopes, created_at, expires_at, revoked_at, last_used_at)
			VALUES ($1, $2, $3, $4, $5, 0, 0) RETURNING id`,
			t.Name,
			secret.Hash(given),
			joined(t.Scopes),
			t.CreatedAt,
			t.ExpiresAt,
		)
		audit.Record(tx, t.CreatedAt, by, "token.create", tokenSubject(t.ID), nil, t.facts())
		return err
	})
	if err != nil || sent {
		if err != nil {
			err = fmt.Errorf("add a token: %w", err)
		}
		return Token{}, "", sent, err
	}
	return t, given, false, nil
}

// ordered checks scopes and returns them in their order, each once.
func ordered(allow []Scope) ([]Scope, error) {
	for _, s := range allow {
		if !slices.Contains(scopes, s) {
			return nil, fault.Field("scopes", "has %q, which is not a scope; choose from %s.", s, joined(scopes))
		}
	}
	if len(allow) == 0 {
		return nil, fault.Field("scopes", "is missing or empty; choose from %s.", joined(scopes))
	}
	var list []Scope
	for _, s := range scopes {
		if slices.Contains(allow, s) {
			list = append(list, s)
		}
	}
	return list, nil
}

func joined(list []Scope) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, " ")
}

// Tokens returns every token, newest first, including those that no longer work.
func (b *Store) Tokens(ctx context.Context) ([]Token, error) {
	list, err := sqldb.All(ctx, b.DB, scanToken, `SELECT `+tokenColumns+` FROM operator_tokens ORDER BY id DESC`)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return list, nil
}

// RevokeToken ends a token immediately. Revoking it again changes nothing.
func (b *Store) RevokeToken(ctx context.Context, by audit.Actor, id int64) (Token, error) {
	var t Token
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		n, err := tx.Exec(ctx, `UPDATE operator_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at = 0`, id, now)
		if err != nil {
			return err
		}
		t, err = sqldb.One(ctx, tx, scanToken, `SELECT `+tokenColumns+` FROM operator_tokens WHERE id = $1`, id)
		if errors.Is(err, sqldb.ErrNone) {
			return fault.New(
				fault.Missing,
				codeUnknownToken,
				"There is no such token; list the tokens to see their ids.",
			)
		}
		if err == nil && n > 0 {
			audit.Record(tx, now, by, "token.revoke", tokenSubject(id), t.facts(), nil)
		}
		return err
	})
	if err != nil {
		return Token{}, fmt.Errorf("revoke a token: %w", err)
	}
	return t, nil
}

// ByToken returns the token with the secret, if it still works.
func (b *Store) ByToken(ctx context.Context, value string) (Token, error) {
	t, err := sqldb.One(ctx, b.DB, scanToken, `SELECT `+tokenColumns+` FROM operator_tokens
		WHERE hash = $1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)`, secret.Hash(value), b.Now())
	if errors.Is(err, sqldb.ErrNone) {
		return Token{}, errInvalidToken(secret.Mistaken(value, secret.OperatorToken))
	}
	if err != nil {
		return Token{}, fmt.Errorf("look up a token: %w", err)
	}
	b.NoteUse(t)
	return t, nil
}

// NoteUse records that a token was used.
func (b *Store) NoteUse(t Token) { b.TokenUses.Note(t.ID, b.Now()) }

// errInvalidToken returns the fault for a token that does not work; text is the reason, if known.
func errInvalidToken(text string) error {
	return fault.New(fault.Unknown, CodeInvalidToken, "%s", cmp.Or(
		text,
		"The operator token is not valid, has expired or was revoked; send a working one as Authorization: Bearer "+
			"<token>.",
	))
}

// TokenCheck is a queued query for the tokens that still work.
type TokenCheck struct {
	queued *sqldb.Result[int64] // nil: no ids to check
}

// QueueTokenCheck queues the query for those of the tokens that work at a time, so that it shares a
// round trip with other queued queries.
func QueueTokenCheck(tx *sqldb.Tx, ids []int64, at time.Time) *TokenCheck {
	if len(ids) == 0 {
		return &TokenCheck{}
	}
	return &TokenCheck{sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT id FROM operator_tokens
		WHERE id = ANY($1) AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)`, ids, at)}
}

// Check refuses a token that does not work, like ByToken.
func (c *TokenCheck) Check(ctx context.Context, id int64) error {
	works, err := c.queued.All(ctx)
	if err != nil {
		return fmt.Errorf("look up tokens: %w", err)
	}
	if !slices.Contains(works, id) {
		return errInvalidToken("")
	}
	return nil
}

// NewTokenUses returns the recorder of the last uses of operator tokens.
func NewTokenUses(db *sqldb.DB, log *slog.Logger) *lastuse.Uses {
	return &lastuse.Uses{DB: db, Log: log, Write: func(tx *sqldb.Tx, id int64, at, unless time.Time) {
		tx.Queue(`UPDATE operator_tokens SET last_used_at = $2 WHERE id = $1 AND last_used_at <= $3`, id, at, unless)
	}}
}

// MayStill reports whether an actor has a scope now, according to the database. It is for work that
// continues after the request that began it.
func (b *Store) MayStill(ctx context.Context, by audit.Actor, s Scope) (bool, error) {
	switch by.Kind {
	case audit.ByToken:
		t, err := sqldb.One(ctx, b.DB, scanToken, `SELECT `+tokenColumns+` FROM operator_tokens
			WHERE id = $1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)`, by.ID, b.Now())
		if errors.Is(err, sqldb.ErrNone) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("look up a token: %w", err)
		}
		return t.May(s), nil
	case audit.ByUser:
		u, err := b.Get(ctx, by.ID)
		if fault.Is(err, CodeUnknownUser) {
			return false, nil
		}
		return u.ErasedAt.IsZero() && u.Role.May(s), err
	}
	return by.Kind == audit.BySystem, nil
}

func tokenSubject(id int64) string { return "token:" + strconv.FormatInt(id, 10) }

func (t Token) facts() audit.Facts {
	facts := audit.Facts{"name": t.Name, "scopes": t.Scopes}
	if !t.ExpiresAt.IsZero() {
		facts["expires_at"] = t.ExpiresAt.Format(time.RFC3339)
	}
	return facts
}
