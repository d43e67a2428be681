package account

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what RFC 6238 and every authenticator app use; as an HMAC it is sound
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sealing"
	"claviger/internal/sqldb"
)

// One-time codes follow RFC 6238 in the form that every authenticator app supports: HMAC-SHA-1, six
// digits, 30 seconds. The codes of one step before and after are accepted, too, because clocks
// differ.
const (
	totpStep   = 30 // seconds
	totpSkew   = 1  // steps
	totpKey    = 20 // bytes
	totpDigits = 6
)

// enrolmentLife is the time to complete the page that shows a new secret.
const enrolmentLife = 30 * time.Minute

// totp is a row of totp_secrets.
type totp struct {
	userID            int64
	sealed            string
	lastStep          int64
	createdAt, usedAt time.Time
}

const totpColumns = `user_id, sealed, last_step, created_at, last_used_at`

func scanTOTP(r *sqldb.Row, t *totp) error {
	return r.Scan(&t.userID, &t.sealed, &t.lastStep, &t.createdAt, &t.usedAt)
}

// totpLabel binds a sealed secret to its user.
func totpLabel(userID int64) string { return totpLabelOf(strconv.FormatInt(userID, 10)) }

func totpLabelOf(userID string) string { return "totp of user " + userID }

// Sealed returns the column with the sealed secrets of one-time codes.
func Sealed() sealing.Column {
	return sealing.Column{
		Name: "secrets of one-time codes", First: "0",
		Page: `SELECT CAST(user_id AS text), CAST(user_id AS text), sealed FROM totp_secrets
			WHERE user_id > CAST(CAST($1 AS text) AS bigint) ORDER BY totp_secrets.user_id LIMIT $2`,
		Save:  `UPDATE totp_secrets SET sealed = $3 WHERE user_id = CAST(CAST($1 AS text) AS bigint) AND sealed = $2`,
		Label: totpLabelOf,
	}
}

// enrolmentLabel binds the sealed text of an enrolment to this use.
const enrolmentLabel = "totp enrolment"

var totpText = base32.StdEncoding.WithPadding(base32.NoPadding)

// totpCode returns the code of a step.
func totpCode(key []byte, step int64) string {
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash never fails
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}

// matchTOTP returns the step of a code, if it is after the last used one.
func matchTOTP(key []byte, typed string, now time.Time, last int64) (step int64, ok bool) {
	current := now.Unix() / totpStep
	for s := current - totpSkew; s <= current+totpSkew; s++ {
		if subtle.ConstantTimeCompare([]byte(totpCode(key, s)), []byte(typed)) == 1 && s > last {
			step = s
			ok = true
		}
	}
	return step, ok
}

// Enrolment is a new secret for one-time codes, to be confirmed by a code.
type Enrolment struct {
	Secret string // to type into an app
	URI    string // to show as a QR code
	Sealed string // for the form: see AddTOTP
}

// EnrolTOTP makes a new secret for a user. Nothing is stored until AddTOTP.
func (b *Store) EnrolTOTP(u User) Enrolment {
	key := make([]byte, totpKey)
	_, _ = rand.Read(key) // never fails
	secret := totpText.EncodeToString(key)
	return b.enrolment(u, secret, b.Sealer.Seal(enrolmentLabel, strings.Join([]string{
		strconv.FormatInt(
			u.ID,
			10,
		), strconv.FormatInt(u.SessionEpoch, 10), strconv.FormatInt(b.Now().Unix(), 10), secret,
	}, " ")))
}

func (b *Store) enrolment(u User, secret, sealed string) Enrolment {
	issuer := b.marketplace()
	name := u.Email
	if name == "" {
		name = "user " + strconv.FormatInt(u.ID, 10)
	}
	// Apps do not read a plus sign as a space.
	values := "secret=" + secret + "&issuer=" + url.PathEscape(issuer)
	uri := "otpauth://totp/" + url.PathEscape(issuer+":"+name) + "?" + values
	return Enrolment{Secret: secret, URI: uri, Sealed: sealed}
}

// OpenEnrolment returns the enrolment that EnrolTOTP made for the same user in the same state,
// until it expires.
func (b *Store) OpenEnrolment(u User, sealed string) (Enrolment, error) {
	text, err := b.Sealer.Open(enrolmentLabel, sealed)
	words := strings.Fields(text)
	over := fault.New(
		fault.Conflict,
		CodeEnrolmentOver,
		"This page was open for too long, or your account changed meanwhile. Begin again.",
	)
	if err != nil || len(words) != 4 || words[0] != strconv.FormatInt(u.ID, 10) ||
		words[1] != strconv.FormatInt(u.SessionEpoch, 10) {
		return Enrolment{}, over
	}
	made, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil || b.Now().Sub(time.Unix(made, 0)) > enrolmentLife {
		return Enrolment{}, over
	}
	return b.enrolment(u, words[3], sealed), nil
}

// AddTOTP gives a user one-time codes, and replaces earlier ones. A code proves that their app has
// the secret; it is not accepted again. AddTOTP ends all sessions except those begun with the
// returned user. The first second factor comes with recovery codes.
func (b *Store) AddTOTP(
	ctx context.Context,
	by audit.Actor,
	userID int64,
	sealed, typed string,
) (u User, codes []string, err error) {
	u, err = b.changeLogin(ctx, userID, "add one-time codes", func(tx *sqldb.Tx, l *login, now time.Time) error {
		e, err := b.OpenEnrolment(l.User, sealed)
		if err != nil {
			return err
		}
		key, err := totpText.DecodeString(e.Secret)
		if err != nil {
			return err
		}
		step, ok := matchTOTP(key, plainCode(typed), now, 0)
		if !ok {
			return fault.Field(
				"code",
				"is not right; enter the six digits that the app shows now, and check the clock of your device.",
			)
		}
		tx.Queue(
			`INSERT INTO totp_secrets (user_id, sealed, last_step, created_at, last_used_at) VALUES ($1, $2, $3, $4, 0)
			ON CONFLICT (user_id)
			DO UPDATE SET sealed = excluded.sealed, last_step = excluded.last_step, created_at = excluded.created_at,
			last_used_at = 0`,
			userID,
			b.Sealer.Seal(totpLabel(userID), e.Secret),
			step,
			now,
		)
		codes = b.gainFactor(tx, l, by, "user.totp_add", toldCodesAdded, now)
		return nil
	})
	return u, codes, err
}

// RemoveTOTP removes a user's one-time codes. It ends all sessions except those begun with the
// returned user.
func (b *Store) RemoveTOTP(ctx context.Context, by audit.Actor, userID int64) (User, error) {
	return b.changeLogin(ctx, userID, "remove one-time codes", func(tx *sqldb.Tx, l *login, now time.Time) error {
		n, err := tx.Exec(ctx, `DELETE FROM totp_secrets WHERE user_id = $1`, userID)
		if err != nil || n == 0 {
			return err
		}
		return b.loseFactor(ctx, tx, l, by, lostFactor{"user.totp_remove", nil, toldCodesRemoved}, now)
	})
}

// useTOTP accepts a code once. Of several concurrent uses, one succeeds.
func (b *Store) useTOTP(ctx context.Context, tx *sqldb.Tx, userID int64, typed string, now time.Time) (bool, error) {
	t, err := sqldb.One(ctx, tx, scanTOTP, `SELECT `+totpColumns+` FROM totp_secrets WHERE user_id = $1`, userID)
	if errors.Is(err, sqldb.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text, err := b.Sealer.Open(totpLabel(userID), t.sealed)
	if err != nil {
		return false, err
	}
	key, err := totpText.DecodeString(text)
	if err != nil {
		return false, err
	}
	step, ok := matchTOTP(key, typed, now, t.lastStep)
	if !ok {
		return false, nil
	}
	n, err := tx.Exec(
		ctx,
		`UPDATE totp_secrets SET last_step = $2, last_used_at = $3 WHERE user_id = $1 AND last_step < $2`,
		userID,
		step,
		now,
	)
	return n == 1, err
}
