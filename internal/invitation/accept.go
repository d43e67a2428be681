package invitation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Open returns the invitation of a token if it can be accepted and mine accepts its team. It does
// not use it: email scanners open links, too.
func (b *Store) Open(
	ctx context.Context,
	from sqldb.Reader,
	token string,
	mine func(team int64) bool,
) (Invitation, error) {
	n, err := sqldb.One(
		ctx,
		from,
		scan,
		`SELECT `+columns+` FROM invitations WHERE hash = $1 AND ended_at = 0`,
		secret.Hash(token),
	)
	switch {
	case err == nil && !mine(n.Team), errors.Is(err, sqldb.ErrNone):
		return Invitation{}, fault.New(
			fault.Missing,
			CodeInvalidInvitation,
			"This invitation is not valid: it was accepted or withdrawn, a newer one was sent, or the link was not "+
				"copied whole. Ask for a new one.",
		)
	case err != nil:
		return Invitation{}, fmt.Errorf("look at an invitation: %w", err)
	case !n.ExpiresAt.After(b.Now()):
		return Invitation{}, fault.New(
			fault.Missing,
			CodeInvitationExpired,
			"This invitation has expired: it worked for seven days. Ask for a new one.",
		)
	}
	return n, nil
}

// IsFor reports whether an invitation is for the person with the address.
func (n Invitation) IsFor(email string) bool {
	return email != "" && validate.EmailKey(n.Email) == validate.EmailKey(email)
}

// FreshSignIn is the maximum age of the sign-in of a person that accepts an invitation.
const FreshSignIn = 10 * time.Minute

// Proof is the proof of identity of a person that accepts an invitation.
type Proof struct {
	Email    string    // the proven address; "": none
	SignedIn time.Time // when they signed in
	Assisted bool      // by a link that the team or one of its programs made
}

// Suffices reports whether the person signed in recently, and without help: someone else can have
// an older session, and the link of an assisted one.
func (p Proof) Suffices(now time.Time) bool {
	return !p.Assisted && now.Sub(p.SignedIn) <= FreshSignIn
}

// Accept uses an invitation, once, for a person with its proven address. lock locks the team; after
// that, the invitation is read again. The caller writes the membership and its audit entry in the
// same transaction.
func (b *Store) Accept(
	ctx context.Context,
	tx *sqldb.Tx,
	proof Proof,
	token string,
	mine func(team int64) bool,
	lock func(n Invitation) error,
) (Invitation, error) {
	n, err := b.Open(ctx, tx, token, mine)
	if err != nil {
		return Invitation{}, err
	}
	if err := lock(n); err != nil {
		return Invitation{}, err
	}
	if n, err = b.Open(ctx, tx, token, mine); err != nil { // its current state
		return Invitation{}, err
	}
	if !proof.Suffices(b.Now()) {
		return Invitation{}, fault.New(fault.Forbidden, CodeSignInAgain, "Sign in again, then accept the invitation.")
	}
	if !n.IsFor(proof.Email) {
		return Invitation{}, fault.New(fault.Forbidden, CodeInvitationNotYours,
			"This invitation is for another email address. Sign in with the address that it was mailed to.")
	}
	tx.Queue(`UPDATE invitations SET ended_at = $2 WHERE id = $1`, n.ID, b.Now())
	return n, nil
}
