package invitation

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Open returns the invitation of a token if it can be accepted and its team is one that
// mine reports, and leaves it as it is: mail scanners open links, too.
func (b *Book) Open(ctx context.Context, from sqldb.Reader, token string, mine func(team int64) bool) (Invitation, error) {
	n, err := sqldb.One(ctx, from, scan, `SELECT `+columns+` FROM invitations WHERE hash = $1 AND ended_at = 0`, secret.Hash(token))
	switch {
	case err == nil && !mine(n.Team), errors.Is(err, sqldb.ErrNone):
		return Invitation{}, fault.New(fault.Missing, CodeInvalidInvitation,
			"This invitation is not valid: it was accepted or withdrawn, a newer one was sent, or the link was not copied whole. Ask for a new one.")
	case err != nil:
		return Invitation{}, fmt.Errorf("look at an invitation: %w", err)
	case !n.ExpiresAt.After(b.Now()):
		return Invitation{}, fault.New(fault.Missing, CodeInvitationExpired, "This invitation has expired: it worked for seven days. Ask for a new one.")
	}
	return n, nil
}

// IsFor reports whether an invitation is for the person with that address.
func (n Invitation) IsFor(email string) bool {
	return email != "" && validate.EmailKey(n.Email) == validate.EmailKey(email)
}

// Accept takes an invitation, once, for the person who has proven the address email. lock
// locks the team; after it, the invitation is looked at again. The caller writes the
// membership and its audit entry in the same transaction.
func (b *Book) Accept(ctx context.Context, tx *sqldb.Tx, email, token string, mine func(team int64) bool, lock func(n Invitation) error) (Invitation, error) {
	n, err := b.Open(ctx, tx, token, mine)
	if err != nil {
		return Invitation{}, err
	}
	if err := lock(n); err != nil {
		return Invitation{}, err
	}
	if n, err = b.Open(ctx, tx, token, mine); err != nil { // as it is now
		return Invitation{}, err
	}
	if !n.IsFor(email) {
		return Invitation{}, fault.New(fault.Forbidden, CodeInvitationNotYours,
			"This invitation is for another email address. Sign in with the address that it was mailed to.")
	}
	tx.Queue(`UPDATE invitations SET ended_at = $2 WHERE id = $1`, n.ID, b.Now())
	return n, nil
}
