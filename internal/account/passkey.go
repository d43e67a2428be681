package account

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

const (
	maxPasskeys    = 20              // of one user
	ceremonyLife   = 5 * time.Minute // time for a passkey to answer a challenge
	maxPasskeyName = 60
)

// Passkey is a key on a user's device or in their password manager.
type Passkey struct {
	ID         int64
	Name       string
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never

	userID     int64
	credential webauthn.Credential
}

const passkeyColumns = `id, user_id, credential, name, created_at, last_used_at`

func scanPasskey(r *sqldb.Row, p *Passkey) error {
	var text string
	if err := r.Scan(&p.ID, &p.userID, &text, &p.Name, &p.CreatedAt, &p.LastUsedAt); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &p.credential); err != nil {
		return fmt.Errorf("read a passkey: %w", err)
	}
	return nil
}

func passkeys(ctx context.Context, q sqldb.Reader, userID int64) ([]Passkey, error) {
	return sqldb.All(
		ctx,
		q,
		scanPasskey,
		`SELECT `+passkeyColumns+` FROM passkeys WHERE user_id = $1 ORDER BY id`,
		userID,
	)
}

// holder implements webauthn.User.
type holder struct {
	User
	keys []Passkey
}

// WebAuthnID returns the id that devices store with the key. It does not identify the person.
func (h holder) WebAuthnID() []byte { return []byte(strconv.FormatInt(h.ID, 10)) }

// WebAuthnName returns the account name that devices show.
func (h holder) WebAuthnName() string {
	if h.Email == "" {
		return "user " + strconv.FormatInt(h.ID, 10)
	}
	return h.Email
}

// WebAuthnDisplayName returns the person's name that devices show.
func (h holder) WebAuthnDisplayName() string {
	if h.Name == "" {
		return h.WebAuthnName()
	}
	return h.Name
}

// WebAuthnCredentials returns the user's passkeys.
func (h holder) WebAuthnCredentials() []webauthn.Credential {
	list := make([]webauthn.Credential, len(h.keys))
	for i, k := range h.keys {
		list[i] = k.credential
	}
	return list
}

// PasskeyOrigin returns the host that passkeys are for and the origin of the pages that use them.
// Browsers accept host names with https, and localhost, but no IP addresses. "" means that there
// are no passkeys here.
func (b *Store) PasskeyOrigin() (host, origin string) {
	u, err := url.Parse(b.PublicURL)
	if err != nil {
		return "", ""
	}
	host = u.Hostname()
	if addr, err := netip.ParseAddr(host); err == nil {
		if !addr.IsLoopback() {
			return "", ""
		}
		host = "localhost"
	}
	if u.Scheme != "https" && host != "localhost" {
		return "", ""
	}
	origin = u.Scheme + "://" + host
	if port := u.Port(); port != "" {
		origin += ":" + port
	}
	return host, origin
}

func (b *Store) relyingParty() (*webauthn.WebAuthn, error) {
	host, origin := b.PasskeyOrigin()
	if host == "" {
		return nil, fault.New(
			fault.Conflict,
			CodeInvalidPasskey,
			"Passkeys need a public URL with https and a host name.",
		)
	}
	key := protocol.ResidentKeyRequired()
	w, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: b.marketplace(), RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: key, ResidentKey: protocol.ResidentKeyRequirementRequired,
			UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare passkeys: %w", err)
	}
	return w, nil
}

// Ceremony is a challenge for a passkey.
type Ceremony struct {
	Options json.RawMessage // for the browser
	// State belongs in the session and is passed back with the answer, so that no other session can
	// answer the challenge.
	State string
}

// ceremonyState is the content of Ceremony.State.
type ceremonyState struct {
	At      time.Time            `json:"at"`
	Session webauthn.SessionData `json:"session"`
}

func (b *Store) ceremony(options any, session *webauthn.SessionData) (Ceremony, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fmt.Errorf("write the options of a passkey: %w", err)
	}
	state, err := json.Marshal(ceremonyState{At: b.Now(), Session: *session})
	if err != nil {
		return Ceremony{}, fmt.Errorf("write the state of a passkey: %w", err)
	}
	return Ceremony{Options: text, State: string(state)}, nil
}

// refusedPasskey returns the fault for an answer that is not accepted, with its reason for the log.
func refusedPasskey(reason error) error {
	f := fault.New(fault.Unknown, CodeInvalidPasskey, "The passkey was not accepted. Try again.")
	return fmt.Errorf("%w (%w)", f, reason)
}

func (b *Store) openCeremony(state string) (webauthn.SessionData, error) {
	var s ceremonyState
	if err := json.Unmarshal([]byte(state), &s); err != nil {
		return webauthn.SessionData{}, refusedPasskey(errors.New("no challenge was sent"))
	}
	if age := b.Now().Sub(s.At); age > ceremonyLife || age < -ceremonyLife {
		return webauthn.SessionData{}, refusedPasskey(errors.New("the challenge is too old"))
	}
	return s.Session, nil
}

// useChallenge records that a challenge was answered. Of several answers to one challenge, one
// counts.
func useChallenge(ctx context.Context, tx *sqldb.Tx, s webauthn.SessionData, now time.Time) error {
	n, err := tx.Exec(ctx, `INSERT INTO used_challenges (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		secret.Hash(s.Challenge), now.Add(2*ceremonyLife))
	if err == nil && n == 0 {
		return refusedPasskey(errors.New("the challenge was answered before"))
	}
	return err
}

// BeginPasskey makes the challenge that registers a passkey of a signed-in user.
func (b *Store) BeginPasskey(ctx context.Context, u User) (Ceremony, error) {
	w, err := b.relyingParty()
	if err != nil {
		return Ceremony{}, err
	}
	keys, err := passkeys(ctx, b.DB, u.ID)
	if err != nil {
		return Ceremony{}, fmt.Errorf("read passkeys: %w", err)
	}
	h := holder{User: u, keys: keys}
	options, session, err := w.BeginRegistration(
		h,
		webauthn.WithExclusions(webauthn.Credentials(h.WebAuthnCredentials()).CredentialDescriptors()),
	)
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin a passkey: %w", err)
	}
	return b.ceremony(options, session)
}

// AddPasskey stores the passkey that answered the challenge of BeginPasskey. It ends all sessions
// except those begun with the returned user. The first second factor comes with recovery codes.
func (b *Store) AddPasskey(
	ctx context.Context,
	by audit.Actor,
	u User,
	state string,
	answer []byte,
	name string,
) (after User, codes []string, err error) {
	if name, err = validate.Name("name", name, 1, maxPasskeyName); err != nil {
		return User{}, nil, err
	}
	session, text, id, err := b.newCredential(u, state, answer)
	if err != nil {
		return User{}, nil, err
	}
	after, err = b.changeLogin(ctx, u.ID, "add a passkey", func(tx *sqldb.Tx, l *login, now time.Time) error {
		if l.SessionEpoch != u.SessionEpoch {
			return stepOver()
		}
		if err := useChallenge(ctx, tx, session, now); err != nil {
			return err
		}
		have, err := passkeys(ctx, tx, u.ID)
		if err != nil {
			return err
		}
		if len(have) >= maxPasskeys {
			return fault.New(
				fault.Conflict,
				codeTooManyPasskeys,
				"You have %d passkeys, which is the most. Remove one first.",
				maxPasskeys,
			)
		}
		n, err := tx.Exec(
			ctx,
			`INSERT INTO passkeys (user_id, credential_id, credential, sign_count, name, created_at, last_used_at)
			VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT DO NOTHING`,
			u.ID,
			credentialID(id.ID),
			text,
			int64(id.Authenticator.SignCount),
			name,
			now,
		)
		if err != nil {
			return err
		}
		if n == 0 {
			return refusedPasskey(errors.New("the passkey is registered already"))
		}
		codes = b.gainFactor(tx, l, by, "user.passkey_add", toldPasskeyAdded, now)
		return nil
	})
	return after, codes, err
}

// newCredential verifies the answer to the challenge of a registration.
func (b *Store) newCredential(
	u User,
	state string,
	answer []byte,
) (s webauthn.SessionData, text string, c *webauthn.Credential, err error) {
	w, err := b.relyingParty()
	if err != nil {
		return s, "", nil, err
	}
	if s, err = b.openCeremony(state); err != nil {
		return s, "", nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return s, "", nil, refusedPasskey(err)
	}
	if c, err = w.CreateCredential(holder{User: u}, s, parsed); err != nil {
		return s, "", nil, refusedPasskey(err)
	}
	c.Attestation = webauthn.CredentialAttestation{} // not requested
	b2, err := json.Marshal(c)
	if err != nil {
		return s, "", nil, fmt.Errorf("write a passkey: %w", err)
	}
	return s, string(b2), c, nil
}

func credentialID(id []byte) string { return base64.RawURLEncoding.EncodeToString(id) }

// RenamePasskey gives a passkey another name.
func (b *Store) RenamePasskey(ctx context.Context, by audit.Actor, userID, id int64, name string) error {
	name, err := validate.Name("name", name, 1, maxPasskeyName)
	if err != nil {
		return err
	}
	_, err = b.changeLogin(ctx, userID, "rename a passkey", func(tx *sqldb.Tx, _ *login, now time.Time) error {
		n, err := tx.Exec(ctx, `UPDATE passkeys SET name = $3 WHERE user_id = $1 AND id = $2`, userID, id, name)
		if err == nil && n == 0 {
			return unknownPasskey()
		}
		audit.Record(tx, now, by, "user.passkey_rename", subject(userID), nil, audit.Facts{"passkey": id})
		return err
	})
	return err
}

// RemovePasskey removes a passkey. It ends all sessions except those begun with the returned user.
func (b *Store) RemovePasskey(ctx context.Context, by audit.Actor, userID, id int64) (User, error) {
	return b.changeLogin(ctx, userID, "remove a passkey", func(tx *sqldb.Tx, l *login, now time.Time) error {
		n, err := tx.Exec(ctx, `DELETE FROM passkeys WHERE user_id = $1 AND id = $2`, userID, id)
		if err == nil && n == 0 {
			return unknownPasskey()
		}
		if err != nil {
			return err
		}
		return b.loseFactor(
			ctx,
			tx,
			l,
			by,
			lostFactor{"user.passkey_remove", audit.Facts{"passkey": id}, toldPasskeyRemoved},
			now,
		)
	})
}

func unknownPasskey() error {
	return fault.New(fault.Missing, CodeUnknownPasskey, "There is no such passkey; it may have been removed meanwhile.")
}
