package partner

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Opened is what the holder of an invitation's link learns.
type Opened struct {
	Invitation
	Partner Partner
}

// Open returns the invitation of a token, and leaves it as it is: mail scanners open
// links, too.
func (v *Inviter) Open(ctx context.Context, token string) (Opened, error) {
	var o Opened
	err := v.Partners.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		if o.Invitation, err = v.open(ctx, tx, token); err != nil {
			return err
		}
		o.Partner, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM partners WHERE id = $1`, o.PartnerID)
		return err
	})
	if err != nil {
		return Opened{}, fmt.Errorf("look at an invitation: %w", err)
	}
	return o, nil
}

// open returns the invitation of a token if it can be accepted.
func (v *Inviter) open(ctx context.Context, tx *sqldb.Tx, token string) (Invitation, error) {
	n, err := sqldb.One(ctx, tx, scanInvitation, `SELECT `+invitationColumns+` FROM invitations WHERE hash = $1 AND ended_at = 0`, secret.Hash(token))
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Invitation{}, fault.New(fault.Missing, CodeInvalidInvitation,
			"This invitation is not valid: it was accepted or withdrawn, a newer one was sent, or the link was not copied whole. Ask for a new one.")
	case err != nil:
		return Invitation{}, err
	case !n.ExpiresAt.After(v.Partners.Now()):
		return Invitation{}, fault.New(fault.Missing, CodeInvitationExpired, "This invitation has expired: it worked for seven days. Ask for a new one.")
	}
	return n, nil
}

// IsFor reports whether an invitation is for the person with that address.
func (n Invitation) IsFor(email string) bool {
	return email != "" && validate.EmailKey(n.Email) == validate.EmailKey(email)
}

// Accept makes a user a member, once. email is the address that the user has proven; the
// invitation must be for it. Somebody who is a member already keeps their role.
func (v *Inviter) Accept(ctx context.Context, by audit.Actor, userID int64, email, token string) (Opened, error) {
	var o Opened
	err := v.Partners.DB.Write(ctx, func(tx *sqldb.Tx) error {
		// The row of the user is locked before that of the partner, as everywhere.
		if err := v.Present(ctx, tx, userID); err != nil {
			return err
		}
		n, err := v.open(ctx, tx, token)
		if err != nil {
			return err
		}
		if o.Partner, err = lock(ctx, tx, n.PartnerID); err != nil {
			return err
		}
		if n, err = v.open(ctx, tx, token); err != nil { // as it is now
			return err
		}
		o.Invitation = n
		if !n.IsFor(email) {
			return fault.New(fault.Forbidden, CodeInvitationNotYours,
				"This invitation is for another email address. Sign in with the address that it was mailed to.")
		}
		by.ActingFor = n.PartnerID
		return v.accept(ctx, tx, by, userID, n)
	})
	if err != nil {
		return Opened{}, fmt.Errorf("accept an invitation: %w", err)
	}
	return o, nil
}

// accept writes the membership, under the partner's lock.
func (v *Inviter) accept(ctx context.Context, tx *sqldb.Tx, by audit.Actor, userID int64, n Invitation) error {
	now := v.Partners.Now()
	_, err := member(ctx, tx, n.PartnerID, userID)
	isNew := fault.Is(err, codeUnknownMember)
	if err != nil && !isNew {
		return err
	}
	tx.Queue(`UPDATE invitations SET ended_at = $2 WHERE id = $1`, n.ID, now)
	if !isNew {
		return nil
	}
	if err := checkTeamSize(ctx, tx, n.PartnerID); err != nil {
		return err
	}
	m := Member{PartnerID: n.PartnerID, UserID: userID, Role: n.Role, CreatedAt: now}
	tx.Queue(`INSERT INTO members (`+memberColumns+`) VALUES ($1, $2, $3, $4)`, m.PartnerID, m.UserID, m.Role, m.CreatedAt)
	audit.Record(tx, now, by, "partner.invite_accept", subject(n.PartnerID), nil, m.facts())
	return nil
}
