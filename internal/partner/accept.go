package partner

import (
	"context"
	"fmt"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
)

// Opened is the content of an invitation for the holder of its link.
type Opened struct {
	Invitation
	Partner Partner
	Epoch   int64 // of the user's sessions that may continue after Accept; 0: no session ended
}

// Open returns the invitation of a token without using it: email scanners open links, too.
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

// Accept makes a user a member, once. The invitation must be for the user's proven address. An
// existing member keeps their role. Accept ends all sessions except those with the returned epoch.
func (v *Inviter) Accept(
	ctx context.Context,
	by audit.Actor,
	userID int64,
	proof invitation.Proof,
	token string,
) (Opened, error) {
	var o Opened
	err := v.Partners.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := account.Present(ctx, tx, userID); err != nil {
			return err
		}
		n, err := v.book().Accept(ctx, tx, proof, token, isPartner, func(n invitation.Invitation) (err error) {
			o.Partner, err = lock(ctx, tx, n.Team)
			return err
		})
		if err != nil {
			return err
		}
		o.Invitation = invited(n)
		by.ActingFor = n.Team
		o.Epoch, err = v.accept(ctx, tx, by, userID, o.Invitation)
		return err
	})
	if err != nil {
		return Opened{}, fmt.Errorf("accept an invitation: %w", err)
	}
	return o, nil
}

// accept writes the membership, under the locks of the user and the partner, and returns the epoch
// of sessions that may continue.
func (v *Inviter) accept(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	userID int64,
	n Invitation,
) (epoch int64, err error) {
	now := v.Partners.Now()
	_, err = member(ctx, tx, n.PartnerID, userID)
	if !fault.Is(err, codeUnknownMember) {
		return 0, err
	}
	if err := checkTeamSize(ctx, tx, n.PartnerID); err != nil {
		return 0, err
	}
	m := Member{PartnerID: n.PartnerID, UserID: userID, Role: n.Role, CreatedAt: now}
	tx.Queue(
		`INSERT INTO members (`+memberColumns+`) VALUES ($1, $2, $3, $4)`,
		m.PartnerID,
		m.UserID,
		m.Role,
		m.CreatedAt,
	)
	audit.Record(tx, now, by, "partner.invite_accept", subject(n.PartnerID), nil, m.facts())
	return v.Partners.ranked(ctx, tx, userID, "", m.Role)
}
