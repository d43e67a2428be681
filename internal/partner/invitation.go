package partner

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
)

// Limits of invitations.
const (
	InvitationLife   = invitation.Life
	MaxInvitations   = invitation.Most
	InvitationWindow = invitation.Window
)

// Invitation asks the person with an address to act for a partner. Its secret is only in the email.
type Invitation struct {
	ID        int64
	PartnerID int64
	Email     string
	Role      Role
	InvitedBy int64 // user
	CreatedAt time.Time
	ExpiresAt time.Time
}

func invited(n invitation.Invitation) Invitation {
	return Invitation{
		ID: n.ID, PartnerID: n.Team, Email: n.Email, Role: Role(n.Role), InvitedBy: n.InvitedBy,
		CreatedAt: n.CreatedAt, ExpiresAt: n.ExpiresAt,
	}
}

// IsFor reports whether the invitation is for the person with the address.
func (n Invitation) IsFor(email string) bool {
	return invitation.Invitation{Email: n.Email}.IsFor(email)
}

// Inviter invites people to the teams of partners. Package invitation does most of the work.
type Inviter struct {
	Partners    *Store
	Mail        *mail.Outbox
	PublicURL   string // without a trailing slash
	Marketplace string // name of the marketplace in the email
}

// InvitationPath is the page that an invitation opens. Its parameter is token.
const InvitationPath = "/portal/invitation"

func (v *Inviter) book() *invitation.Store {
	return &invitation.Store{DB: v.Partners.DB, Now: v.Partners.Now, Mail: v.Mail, PublicURL: v.PublicURL}
}

// isPartner reports whether the team of an invitation is a partner's.
func isPartner(team int64) bool { return team != invitation.Marketplace }

// team returns the team of a partner, for changes by the actor.
func (v *Inviter) team(by audit.Actor, partnerID int64) invitation.Team {
	var p Partner
	return invitation.Team{
		ID: partnerID, Subject: subject(partnerID), Action: "partner.invite", Path: InvitationPath,
		Lock: func(ctx context.Context, tx *sqldb.Tx) (err error) {
			p, err = lockTeam(ctx, tx, by, partnerID)
			return err
		},
		CheckSize: func(ctx context.Context, tx *sqldb.Tx) error { return checkTeamSize(ctx, tx, partnerID) },
		Content:   func(n invitation.Invitation) mail.Content { return v.content(p, Role(n.Role)) },
	}
}

// content returns the email.
func (v *Inviter) content(p Partner, role Role) mail.Content {
	return mail.Content{
		Title: fmt.Sprintf("You are invited to the team of %s", p.Name),
		Opening: []string{
			fmt.Sprintf(
				"The team of %s at %s invites you to its partner portal, as %s. %s",
				p.Name,
				v.Marketplace,
				role,
				role.Sentence(),
			),
		},
		Foot: fmt.Sprintf(
			"You get this mail because an admin of %s typed this address at %s.",
			p.Name,
			v.Marketplace,
		),
	}
}

// Invite emails an invitation to an address. It replaces an open one and ends its link.
func (v *Inviter) Invite(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	email string,
	role Role,
) (Invitation, error) {
	if err := role.valid(); err != nil {
		return Invitation{}, err
	}
	n, err := v.book().Invite(ctx, by, v.team(by, partnerID), email, string(role))
	return invited(n), err
}

// checkTeamSize refuses another member if the team has MaxMembers.
func checkTeamSize(ctx context.Context, tx *sqldb.Tx, partnerID int64) error {
	n, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM members WHERE partner_id = $1`, partnerID)
	if err != nil {
		return fmt.Errorf("count members: %w", err)
	}
	if n >= MaxMembers {
		return fault.New(
			fault.Conflict,
			invitation.CodeTooManyInvitations,
			"A team has at most %d members. Remove one first.",
			MaxMembers,
		)
	}
	return nil
}

// Sentence describes the role's rights.
func (r Role) Sentence() string {
	switch r {
	case Admin:
		return "An admin does everything, and also manages the team, the contacts and the settings."
	case Developer:
		return "A developer sees everything, and changes URLs and credentials, runs checks and sends events again."
	case Viewer:
		return "A viewer sees everything and changes nothing."
	default:
		return ""
	}
}

// List returns the open and the recently expired invitations of a partner, newest first.
func (v *Inviter) List(ctx context.Context, partnerID int64) ([]Invitation, error) {
	found, err := v.book().List(ctx, partnerID)
	list := make([]Invitation, len(found))
	for i, n := range found {
		list[i] = invited(n)
	}
	return list, err
}

// Get returns an open invitation of a partner.
func (v *Inviter) Get(ctx context.Context, partnerID, id int64) (Invitation, error) {
	n, err := v.book().Get(ctx, partnerID, id)
	return invited(n), err
}

// Withdraw ends an open invitation.
func (v *Inviter) Withdraw(ctx context.Context, by audit.Actor, partnerID, id int64) error {
	return v.book().Withdraw(ctx, by, v.team(by, partnerID), id)
}

// EraseInvitations removes the invitations of an address, in the caller's transaction.
func EraseInvitations(tx *sqldb.Tx, email string) { invitation.Erase(tx, email) }
