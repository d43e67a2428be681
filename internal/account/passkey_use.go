package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// BeginPasskeySignIn makes the challenge of a sign-in by passkey, for any user.
func (b *Store) BeginPasskeySignIn() (Ceremony, error) {
	w, err := b.relyingParty()
	if err != nil {
		return Ceremony{}, err
	}
	options, session, err := w.BeginDiscoverableLogin()
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin a sign-in by passkey: %w", err)
	}
	return b.ceremony(options, session)
}

// BeginPasskeyProof makes a challenge for the passkeys of one user: for the second step, or to
// confirm that the user is still present.
func (b *Store) BeginPasskeyProof(ctx context.Context, userID int64) (Ceremony, error) {
	w, err := b.relyingParty()
	if err != nil {
		return Ceremony{}, err
	}
	h, err := b.holder(ctx, userID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(h.keys) == 0 {
		return Ceremony{}, unknownPasskey()
	}
	options, session, err := w.BeginLogin(h)
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin a proof by passkey: %w", err)
	}
	return b.ceremony(options, session)
}

func (b *Store) holder(ctx context.Context, userID int64) (holder, error) {
	u, err := b.Get(ctx, userID)
	if err != nil {
		return holder{}, err
	}
	keys, err := passkeys(ctx, b.DB, userID)
	if err != nil {
		return holder{}, fmt.Errorf("read passkeys: %w", err)
	}
	return holder{User: u, keys: keys}, nil
}

// PasskeySignIn checks the answer to the challenge of BeginPasskeySignIn and signs in the user of
// its passkey. It needs no second step, because the device verified its user.
func (b *Store) PasskeySignIn(ctx context.Context, state string, answer []byte, c Client) (User, error) {
	return b.provePasskey(
		ctx,
		0,
		state,
		answer,
		"sign in by passkey",
		func(tx *sqldb.Tx, l *login, now time.Time) error {
			audit.Record(
				tx,
				now,
				self(l.ID, c.Address),
				"user.sign_in",
				subject(l.ID),
				nil,
				audit.Facts{"by": "passkey"},
			)
			return nil
		},
	)
}

// PasskeyStep completes a sign-in by the answer to a challenge of BeginPasskeyProof.
func (b *Store) PasskeyStep(ctx context.Context, first FirstStep, state string, answer []byte, c Client) (User, error) {
	return b.provePasskey(
		ctx,
		first.UserID,
		state,
		answer,
		"sign in by passkey",
		func(tx *sqldb.Tx, l *login, now time.Time) error {
			if l.SessionEpoch != first.Epoch {
				return stepOver()
			}
			audit.Record(
				tx,
				now,
				self(l.ID, c.Address),
				"user.sign_in",
				subject(l.ID),
				nil,
				audit.Facts{"by": "passkey"},
			)
			return nil
		},
	)
}

// ConfirmPasskey checks the answer to a challenge of BeginPasskeyProof, to confirm that the
// signed-in user is still the one at the browser.
func (b *Store) ConfirmPasskey(ctx context.Context, by audit.Actor, userID int64, state string, answer []byte) error {
	_, err := b.provePasskey(
		ctx,
		userID,
		state,
		answer,
		"confirm by passkey",
		func(tx *sqldb.Tx, _ *login, now time.Time) error {
			audit.Record(tx, now, by, "user.confirm", subject(userID), nil, audit.Facts{"by": "passkey"})
			return nil
		},
	)
	return err
}

// provePasskey verifies the answer of a passkey of the user; 0 is any user. It calls done in the
// transaction that uses up the challenge.
func (b *Store) provePasskey(
	ctx context.Context,
	userID int64,
	state string,
	answer []byte,
	doing string,
	done func(*sqldb.Tx, *login, time.Time) error,
) (User, error) {
	session, err := b.openCeremony(state)
	if err != nil {
		return User{}, err
	}
	key, counted, err := b.verify(ctx, userID, session, answer)
	if err != nil {
		return User{}, err
	}
	u, err := b.changeLogin(ctx, key.userID, doing, func(tx *sqldb.Tx, l *login, now time.Time) error {
		if err := useChallenge(ctx, tx, session, now); err != nil {
			return err
		}
		// Devices with a counter must count up; the others always send 0.
		n, err := tx.Exec(ctx, `UPDATE passkeys SET sign_count = $3, last_used_at = $4 WHERE id = $1 AND user_id = $2
			AND (sign_count < $3 OR sign_count = 0 AND $3 = 0)`, key.ID, key.userID, counted, now)
		if err != nil {
			return err
		}
		if n == 0 {
			return clonedPasskey()
		}
		return done(tx, l, now)
	})
	if fault.Is(err, CodePasskeyCloned) {
		err = errors.Join(err, b.DB.Write(ctx, func(tx *sqldb.Tx) error {
			audit.Record(
				tx,
				b.Now(),
				audit.System("passkeys"),
				"user.passkey_refused",
				subject(key.userID),
				nil,
				audit.Facts{"passkey": key.ID},
			)
			return nil
		}))
	}
	return u, err
}

func clonedPasskey() error {
	return fault.New(
		fault.Unknown,
		CodePasskeyCloned,
		"This passkey was not accepted: there seems to be a copy of it. Sign in another way, and remove it from "+
			"your account.",
	)
}

// verify checks the signature of an answer and returns the passkey that made it, with its
// new count.
func (b *Store) verify(
	ctx context.Context,
	userID int64,
	session webauthn.SessionData,
	answer []byte,
) (Passkey, int64, error) {
	w, err := b.relyingParty()
	if err != nil {
		return Passkey{}, 0, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return Passkey{}, 0, refusedPasskey(err)
	}
	key, err := sqldb.One(
		ctx,
		b.DB,
		scanPasskey,
		`SELECT `+passkeyColumns+` FROM passkeys WHERE credential_id = $1`,
		credentialID(parsed.RawID),
	)
	if errors.Is(err, sqldb.ErrNone) {
		return Passkey{}, 0, refusedPasskey(errors.New("no account has this passkey"))
	}
	if err != nil {
		return Passkey{}, 0, fmt.Errorf("find a passkey: %w", err)
	}
	if userID != 0 && key.userID != userID {
		return Passkey{}, 0, refusedPasskey(errors.New("the passkey is of another account"))
	}
	h, err := b.holder(ctx, key.userID)
	if err != nil {
		return Passkey{}, 0, err
	}
	if userID == 0 {
		_, err = w.ValidateDiscoverableLogin(
			func([]byte, []byte) (webauthn.User, error) { return h, nil },
			session,
			parsed,
		)
	} else {
		_, err = w.ValidateLogin(h, session, parsed)
	}
	if err != nil {
		return Passkey{}, 0, refusedPasskey(err)
	}
	return key, int64(parsed.Response.AuthenticatorData.Counter), nil
}
