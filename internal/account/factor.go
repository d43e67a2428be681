package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Requirement defines the users that must have a second factor to use the console.
type Requirement string

// Requirements.
const (
	RequireNone      Requirement = "none"
	RequireAdmins    Requirement = "admins"
	RequireOperators Requirement = "operators"
)

// Of reports whether the user must have a second factor.
func (r Requirement) Of(u User) bool {
	switch r {
	case RequireAdmins:
		return u.Role == RoleAdmin
	case RequireOperators:
		return u.Operator()
	case RequireNone:
	}
	return false
}

// Factors are the ways to sign in that a user has besides the password.
type Factors struct {
	TOTP          bool      // one-time codes
	TOTPSince     time.Time // zero without them
	TOTPUsed      time.Time // zero: never, or without them
	Passkeys      []Passkey // oldest first
	RecoveryCodes int       // unused ones
}

// Any reports whether there is a second factor.
func (f Factors) Any() bool { return f.TOTP || len(f.Passkeys) > 0 }

// Factors returns the second factors of a user.
func (b *Store) Factors(ctx context.Context, userID int64) (Factors, error) {
	var f Factors
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		f, err = factors(ctx, tx, userID)
		return err
	})
	if err != nil {
		return Factors{}, fmt.Errorf("read second factors: %w", err)
	}
	return f, nil
}

func factors(ctx context.Context, tx *sqldb.Tx, userID int64) (Factors, error) {
	var f Factors
	t, err := sqldb.One(ctx, tx, scanTOTP, `SELECT `+totpColumns+` FROM totp_secrets WHERE user_id = $1`, userID)
	switch {
	case err == nil:
		f.TOTP = true
		f.TOTPSince = t.createdAt
		f.TOTPUsed = t.usedAt
	case !errors.Is(err, sqldb.ErrNone):
		return Factors{}, err
	}
	if f.Passkeys, err = passkeys(ctx, tx, userID); err != nil {
		return Factors{}, err
	}
	f.RecoveryCodes, err = sqldb.One(
		ctx,
		tx,
		sqldb.Value[int],
		`SELECT count(*) FROM recovery_codes WHERE user_id = $1 AND used_at = 0`,
		userID,
	)
	return f, err
}

// gainFactor finishes adding a second factor: sessions begun without it end. The first factor comes
// with recovery codes, which it returns.
func (b *Store) gainFactor(
	tx *sqldb.Tx,
	l *login,
	by audit.Actor,
	action string,
	told notice,
	at time.Time,
) (codes []string) {
	if !l.SecondFactor {
		codes = makeRecoveryCodes(tx, l.ID)
	}
	l.SecondFactor = true
	l.endSessions(tx, at)
	l.save(tx, at)
	audit.Record(tx, at, by, action, subject(l.ID), nil, nil)
	b.tell(tx, l.User, by, told, at)
	return codes
}

// lostFactor describes the loss of a factor for the audit and the email.
type lostFactor struct {
	action string
	facts  audit.Facts
	told   notice
}

// loseFactor finishes the removal of one of a user's second factors. Users that must have a factor
// cannot remove their last one. Recovery codes are deleted with the last factor.
func (b *Store) loseFactor(
	ctx context.Context,
	tx *sqldb.Tx,
	l *login,
	by audit.Actor,
	act lostFactor,
	at time.Time,
) error {
	left, err := factors(ctx, tx, l.ID)
	if err != nil {
		return err
	}
	if !left.Any() {
		if b.Require.Of(l.User) {
			return fault.New(fault.Conflict, CodeFactorRequired,
				"Your role needs a second factor. Add another one before you remove the last.")
		}
		deleteFactors(tx, l.ID)
	}
	l.SecondFactor = left.Any()
	l.endSessions(tx, at)
	l.save(tx, at)
	audit.Record(tx, at, by, act.action, subject(l.ID), act.facts, nil)
	b.tell(tx, l.User, by, act.told, at)
	return nil
}

// RemoveFactors removes a user's second factors and recovery codes, and ends all sessions and
// unused links, in the caller's transaction. It is for lost factors, after the operator has checked
// the user's identity.
func (b *Store) RemoveFactors(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, at time.Time) (User, error) {
	l, err := lockLogin(ctx, tx, id)
	if err != nil {
		return User{}, err
	}
	had := l.SecondFactor
	deleteFactors(tx, id)
	l.SecondFactor = false
	l.endSessions(tx, at)
	l.save(tx, at)
	audit.Record(
		tx,
		at,
		by,
		"user.factors_remove",
		subject(id),
		audit.Facts{"second_factor": had},
		audit.Facts{"second_factor": false},
	)
	if had {
		b.tell(tx, l.User, by, toldFactorsRemoved, at)
	}
	return l.User, nil
}

// deleteFactors queues the deletion of a user's second factors and recovery codes.
func deleteFactors(tx *sqldb.Tx, userID int64) {
	tx.Queue(`DELETE FROM totp_secrets WHERE user_id = $1`, userID)
	tx.Queue(`DELETE FROM passkeys WHERE user_id = $1`, userID)
	tx.Queue(`DELETE FROM recovery_codes WHERE user_id = $1`, userID)
}
