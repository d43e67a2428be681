package account

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// recoveryCodes is the number of recovery codes that a user gets, and recoveryBytes the number of
// random bytes in each: too many to find a code by its hash.
const (
	recoveryCodes = 10
	recoveryBytes = 10
)

// recoveryHash returns the stored form of a code, which is bound to its user.
func recoveryHash(userID int64, plain string) string {
	return secret.Hash("recovery code " + strconv.FormatInt(userID, 10) + " " + plain)
}

// makeRecoveryCodes replaces a user's recovery codes and returns the new ones. Only their hashes
// are stored.
func makeRecoveryCodes(tx *sqldb.Tx, userID int64) []string {
	tx.Queue(`DELETE FROM recovery_codes WHERE user_id = $1`, userID)
	codes := make([]string, recoveryCodes)
	for i := range codes {
		raw := make([]byte, recoveryBytes)
		_, _ = rand.Read(raw) // never fails
		plain := strings.ToLower(totpText.EncodeToString(raw))
		tx.Queue(
			`INSERT INTO recovery_codes (user_id, hash, used_at) VALUES ($1, $2, 0)`,
			userID,
			recoveryHash(userID, plain),
		)
		codes[i] = strings.Join([]string{plain[:4], plain[4:8], plain[8:12], plain[12:]}, "-")
	}
	return codes
}

// NewRecoveryCodes replaces the recovery codes of a user with a second factor. It ends all sessions
// except those begun with the returned user.
func (b *Store) NewRecoveryCodes(
	ctx context.Context, by audit.Actor, userID int64,
) (u User, codes []string, err error) {
	u, err = b.changeLogin(ctx, userID, "make recovery codes", func(tx *sqldb.Tx, l *login, now time.Time) error {
		if !l.SecondFactor {
			return fault.New(
				fault.Conflict,
				CodeNoFactor,
				"Recovery codes replace a second factor, and you have none. Add one first.",
			)
		}
		codes = makeRecoveryCodes(tx, userID)
		l.endSessions(tx, now)
		l.save(tx, now)
		audit.Record(tx, now, by, "user.recovery_codes", subject(userID), nil, nil)
		b.tell(tx, l.User, by, toldRecoveryMade, now)
		return nil
	})
	return u, codes, err
}

// useRecoveryCode accepts a code once. Of several concurrent uses, one succeeds.
func useRecoveryCode(ctx context.Context, tx *sqldb.Tx, userID int64, plain string, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND hash = $2 AND used_at = 0`,
		userID, recoveryHash(userID, plain), now)
	return n == 1, err
}
