package account

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Users with a second factor sign in in two steps: by password or link, then by a one-time code, a
// recovery code or a passkey. A passkey alone is enough, because it is on a device that verified
// its user.

// FirstStep is the result of the first step of a sign-in.
type FirstStep struct {
	UserID int64
	Epoch  int64 // the user's epoch then; another one ends the sign-in
}

// plainCode removes the separators that people type to group a code, and lowers its case.
func plainCode(typed string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "\t", "", "\u00a0", "").Replace(typed))
}

func wrongCode() error {
	return fault.New(
		fault.Unknown,
		CodeInvalidCode,
		"The code is not right, or it was used already; each works once. Wait for the next one.",
	)
}

func stepOver() error {
	return fault.New(fault.Unknown, CodeStepOver, "Your account changed while you signed in. Sign in again.")
}

// codeTries limits the wrong codes of an account. It is lower than for passwords: there are only a
// million codes, and an attacker here already has the password or the mailbox.
var codeTries = bound{
	most: 10,
	text: "Too many wrong codes were entered for this account. Use a passkey, or try again in an hour.",
}

// SecondStep completes a sign-in by a one-time code or a recovery code.
func (b *Store) SecondStep(ctx context.Context, first FirstStep, typed string, c Client) (User, error) {
	return b.proveCode(
		ctx,
		self(first.UserID, c.Address),
		first.UserID,
		typed,
		"sign in by code",
		func(tx *sqldb.Tx, l *login, kind string, now time.Time) error {
			if l.SessionEpoch != first.Epoch {
				return stepOver()
			}
			audit.Record(tx, now, self(l.ID, c.Address), "user.sign_in", subject(l.ID), nil, audit.Facts{"by": kind})
			return nil
		},
	)
}

// ConfirmCode checks a one-time code or a recovery code, to confirm that the signed-in user is
// still the one at the browser.
func (b *Store) ConfirmCode(ctx context.Context, by audit.Actor, userID int64, typed string) error {
	_, err := b.proveCode(
		ctx,
		by,
		userID,
		typed,
		"confirm by code",
		func(tx *sqldb.Tx, _ *login, kind string, now time.Time) error {
			audit.Record(tx, now, by, "user.confirm", subject(userID), nil, audit.Facts{"by": kind})
			return nil
		},
	)
	return err
}

// recoveryKind is the audit's name of a recovery code.
const recoveryKind = "recovery code"

// proveCode accepts a code of a user once, and calls done in the same transaction.
func (b *Store) proveCode(
	ctx context.Context,
	by audit.Actor,
	userID int64,
	typed, doing string,
	done func(*sqldb.Tx, *login, string, time.Time) error,
) (User, error) {
	key := triesKey("codes of user " + strconv.FormatInt(userID, 10))
	if err := b.countTry(ctx, key, codeTries); err != nil {
		return User{}, err
	}
	return b.changeLogin(ctx, userID, doing, func(tx *sqldb.Tx, l *login, now time.Time) error {
		kind := "code"
		plain := plainCode(typed)
		var right bool
		var err error
		if len(plain) <= totpDigits {
			right, err = b.useTOTP(ctx, tx, userID, plain, now)
		} else {
			kind = recoveryKind
			right, err = useRecoveryCode(ctx, tx, userID, plain, now)
		}
		if err == nil && !right {
			err = wrongCode()
		}
		if err != nil {
			return err
		}
		giveBack(tx, key)
		if kind == recoveryKind {
			b.tell(tx, l.User, by, toldRecoveryUsed, now)
		}
		return done(tx, l, kind, now)
	})
}

// ConfirmPassword checks the password, to confirm that the signed-in user is still the one at the
// browser.
func (b *Store) ConfirmPassword(ctx context.Context, by audit.Actor, userID int64, typed string) error {
	seen, key, err := b.checkPassword(ctx, userID, typed)
	if err != nil {
		return err
	}
	_, err = b.changeLogin(ctx, userID, "confirm by password", func(tx *sqldb.Tx, l *login, now time.Time) error {
		if l.password != seen || seen == "" {
			return wrongPassword()
		}
		giveBack(tx, key)
		audit.Record(tx, now, by, "user.confirm", subject(userID), nil, audit.Facts{"by": "password"})
		return nil
	})
	return err
}

// checkPassword compares typed text with the password of a signed-in user. It returns the stored
// password, "" if there is none, and the key that counts the try.
func (b *Store) checkPassword(ctx context.Context, userID int64, typed string) (seen Password, key string, err error) {
	l, err := b.login(ctx, userID)
	if err != nil {
		return "", "", err
	}
	key = triesKey("user " + strconv.FormatInt(userID, 10))
	if l.password == "" {
		return "", key, nil
	}
	right, err := hashed(ctx, hashing, Client{Known: true}, func() (bool, error) {
		if err := b.countTry(ctx, key, passwordTries); err != nil {
			return false, err
		}
		return l.password.matches(typed)
	})
	if err != nil {
		return "", "", fmt.Errorf("check a password: %w", err)
	}
	if !right {
		return "", "", wrongPassword()
	}
	return l.password, key, nil
}

func wrongPassword() error {
	return fault.Field(
		"current_password",
		"is not right; type the password that you sign in with now, or have a link mailed to choose a new one.",
	)
}
