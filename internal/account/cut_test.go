package account_test

import (
	"errors"
	"strings"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// act is one thing that a test does. prepared are acts by their names, each with what has
// to be there before it.
type (
	act      func() error
	prepared map[string]func(*testing.T, *harness) act
)

// Each of these tests is about changes of one kind. See cutOff.

func TestCutOffPasswords(t *testing.T) { cutOff(t, passwordActs) }

func TestCutOffFactors(t *testing.T) { cutOff(t, factorActs) }

func TestCutOffPasskeys(t *testing.T) { cutOff(t, passkeyActs) }

func TestCutOffLinks(t *testing.T) { cutOff(t, linkActs) }

func TestCutOffTeam(t *testing.T) { cutOff(t, teamActs) }

func TestCutOffOthers(t *testing.T) { cutOff(t, otherActs) }

// cutOff checks that each act reports a database that went away, at any statement, as
// that and not as a fault of the sender: nobody is told that a right code was wrong.
// Nothing is changed then, and the same request works afterwards.
func cutOff(t *testing.T, list prepared) {
	t.Helper()
	for name, prepare := range list {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			left, away := -1, errors.New("cut off") // statements until the cut; negative: none
			d.DB = sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Cut: func(string) error {
				if left--; left == 0 {
					return away
				}
				return nil
			}})
			do := prepare(t, d)
			for n, cut := 1, true; cut; n++ {
				before := d.everything(t)
				left = n
				err := do()
				for fault.Is(err, idempotency.CodeIdempotencyKeyInUse) {
					left = n // the server is still ending the transaction that was cut
					err = do()
				}
				cut = left <= 0
				left = -1
				switch {
				case !cut && (err != nil || n < 2):
					t.Fatalf("after %d cuts: %v", n-1, err)
				case cut && (!errors.Is(err, away) || fault.Of(err) != nil):
					t.Errorf("cut off at statement %d: %v", n, err)
				case cut && d.everything(t) != before:
					t.Errorf("cut off at statement %d, it changed from\n%s\nto\n%s", n, before, d.everything(t))
				}
				d.exec(t, `DELETE FROM password_tries`)
			}
		})
	}
}

// everything is what the acts change, in one text.
func (d *harness) everything(t *testing.T) string {
	t.Helper()
	list, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `
		SELECT email || name || external_id || operator_role || password_hash ||
			CAST(session_epoch AS TEXT) || ' ' || CAST(staff_epoch AS TEXT) FROM users
		UNION ALL SELECT hash || CAST(used_at AS TEXT) || ' ' || CAST(expires_at AS TEXT) FROM login_links
		UNION ALL SELECT sealed || CAST(last_step AS TEXT) FROM totp_secrets
		UNION ALL SELECT name || CAST(sign_count AS TEXT) || ' ' || CAST(last_used_at AS TEXT) FROM passkeys
		UNION ALL SELECT hash || CAST(used_at AS TEXT) FROM recovery_codes
		UNION ALL SELECT hash FROM used_challenges
		UNION ALL SELECT hash || CAST(revoked_at AS TEXT) FROM operator_tokens
		UNION ALL SELECT hash || data FROM sessions
		UNION ALL SELECT hash || browser FROM signed_sessions
		UNION ALL SELECT action || subject FROM audit_entries
		UNION ALL SELECT cause FROM mails ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}
