package partner

import (
	"context"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
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
	err := v.Partners.DB.Read(ctx, func(tx *sqldb.Tx) error {
		n, err := v.book().Open(ctx, tx, token, isPartner)
		if err != nil {
			return err
		}
		o.Invitation = invited(n)
		o.Partner, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM partners WHERE id = $1`, o.PartnerID)
		return err
	})
	if err != nil {
		return Opened{}, fmt.Errorf("look at an invitation: %w", err)
	}
	return o, nil
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
		n, err := v.book().Accept(ctx, tx, email, token, isPartner, func(n invitation.Invitation) (err error) {
			o.Partner, err = lock(ctx, tx, n.Team)
			return err
		})
		if err != nil {
			return err
		}
		o.Invitation = invited(n)
		by.ActingFor = n.Team
		return v.accept(ctx, tx, by, userID, o.Invitation)
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
