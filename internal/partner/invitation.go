package partner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// The bounds of invitations.
const (
	InvitationLife    = 7 * 24 * time.Hour
	MaxInvitations    = 20 // mailed for one partner in InvitationWindow
	InvitationWindow  = time.Hour
	invitationsListed = 100
	invitationKept    = 30 * 24 * time.Hour // after it expired; it names somebody
)

// Invitation asks the person with an address to act for a partner. Its secret is in the
// mail alone.
type Invitation struct {
	ID        int64
	PartnerID int64
	Email     string
	Role      Role
	InvitedBy int64 // user
	CreatedAt time.Time
	ExpiresAt time.Time
}

const invitationColumns = `id, partner_id, email, role, invited_by, created_at, expires_at`

func scanInvitation(r *sqldb.Row, n *Invitation) error {
	return r.Scan(&n.ID, &n.PartnerID, &n.Email, &n.Role, &n.InvitedBy, &n.CreatedAt, &n.ExpiresAt)
}

// Inviter invites people to the teams of partners.
type Inviter struct {
	Partners    *Registry
	Mail        *mail.Outbox
	PublicURL   string // without a slash at its end
	Marketplace string // what the mail calls the marketplace

	// Present locks a user for the rest of the transaction and refuses one who was
	// erased: account.Present.
	Present func(ctx context.Context, tx *sqldb.Tx, userID int64) error
}

// InvitationPath is the page that an invitation opens. Its parameter is token.
const InvitationPath = "/portal/invitation"

// Invite mails an invitation to an address. It replaces one that is open: the older link
// ends.
func (v *Inviter) Invite(ctx context.Context, by audit.Actor, partnerID int64, email string, role Role) (Invitation, error) {
	email, err := validate.Email("email", email)
	if err != nil {
		return Invitation{}, err
	}
	if err := role.valid(); err != nil {
		return Invitation{}, err
	}
	token := secret.Make("")
	var n Invitation
	err = v.Partners.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, err := lockTeam(ctx, tx, by, partnerID)
		if err != nil {
			return err
		}
		now, key := v.Partners.Now(), validate.EmailKey(email)
		if err := mayInvite(ctx, tx, partnerID, now); err != nil {
			return err
		}
		tx.Queue(`UPDATE invitations SET ended_at = $3 WHERE partner_id = $1 AND email_key = $2 AND ended_at = 0`, partnerID, key, now)
		n, err = sqldb.One(ctx, tx, scanInvitation, `INSERT INTO invitations (partner_id, email, email_key, role, hash, invited_by, created_at, expires_at, ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0) RETURNING `+invitationColumns,
			partnerID, email, key, role, secret.Hash(token), by.ID, now, now.Add(InvitationLife))
		if err != nil {
			return err
		}
		v.Mail.Put(tx, v.message(p, n, token), now)
		audit.Record(tx, now, by, "partner.invite", subject(partnerID), nil, n.facts())
		return nil
	})
	if err != nil {
		return Invitation{}, fmt.Errorf("invite a person: %w", err)
	}
	return n, nil
}

// mayInvite bounds how many mails a partner has sent and how many people act for it.
func mayInvite(ctx context.Context, tx *sqldb.Tx, partnerID int64, now time.Time) error {
	sent, err := sqldb.All(ctx, tx, sqldb.Value[time.Time], `SELECT created_at FROM invitations
		WHERE partner_id = $1 AND created_at > $2 ORDER BY created_at LIMIT $3`, partnerID, now.Add(-InvitationWindow), MaxInvitations)
	if err != nil {
		return fmt.Errorf("count invitations: %w", err)
	}
	if len(sent) >= MaxInvitations {
		f := fault.New(fault.Throttled, codeTooManyInvitations,
			"%d invitations were mailed in the last hour, which is the limit. Wait a while, then send this one again.", MaxInvitations)
		f.After = sent[0].Add(InvitationWindow).Sub(now)
		return f
	}
	return checkTeamSize(ctx, tx, partnerID)
}

// checkTeamSize refuses one more member than a team may have.
func checkTeamSize(ctx context.Context, tx *sqldb.Tx, partnerID int64) error {
	n, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM members WHERE partner_id = $1`, partnerID)
	if err != nil {
		return fmt.Errorf("count members: %w", err)
	}
	if n >= MaxMembers {
		return fault.New(fault.Conflict, codeTooManyInvitations, "A team has at most %d members; remove somebody first.", MaxMembers)
	}
	return nil
}

// message is the mail. What the inviter typed or is called is not in it: nothing of that
// may reach people in our name.
func (v *Inviter) message(p Partner, n Invitation, token string) mail.Message {
	c := mail.Content{
		Title: fmt.Sprintf("You are invited to the team of %s", p.Name),
		Hello: "Hello,",
		Opening: []string{fmt.Sprintf("The team of %s at %s invites you to its partner portal, as %s. %s",
			p.Name, v.Marketplace, n.Role, n.Role.Sentence())},
		Closing: []string{
			"Open the link, sign in with this email address or make an account with it, and accept. The link works for seven days; a newer invitation ends it.",
			"If you do not know the team, you need not do anything.",
		},
		Links: []mail.Link{{Name: "Look at the invitation", URL: v.PublicURL + InvitationPath + "?token=" + token}},
		Foot:  fmt.Sprintf("You get this mail because an admin of %s typed this address at %s.", p.Name, v.Marketplace),
	}
	text, html := c.Render()
	return mail.Message{Cause: fmt.Sprintf("invitation %d", n.ID), To: n.Email, Subject: c.Title, Text: text, HTML: html}
}

// Sentence says what the role may do.
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

// List returns the invitations of a partner that are open, newest first; those that
// expired lately, too.
func (v *Inviter) List(ctx context.Context, partnerID int64) ([]Invitation, error) {
	list, err := sqldb.All(ctx, v.Partners.DB, scanInvitation, `SELECT `+invitationColumns+` FROM invitations
		WHERE partner_id = $1 AND ended_at = 0 ORDER BY id DESC LIMIT $2`, partnerID, invitationsListed)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return list, nil
}

// Get returns an open invitation of a partner.
func (v *Inviter) Get(ctx context.Context, partnerID, id int64) (Invitation, error) {
	n, err := sqldb.One(ctx, v.Partners.DB, scanInvitation, `SELECT `+invitationColumns+` FROM invitations
		WHERE id = $1 AND partner_id = $2 AND ended_at = 0`, id, partnerID)
	if errors.Is(err, sqldb.ErrNone) {
		return Invitation{}, unknownInvitation()
	}
	if err != nil {
		return Invitation{}, fmt.Errorf("read an invitation: %w", err)
	}
	return n, nil
}

func unknownInvitation() error {
	return fault.New(fault.Missing, codeUnknownInvitation, "There is no such invitation, or it was accepted or withdrawn.")
}

// Withdraw ends an invitation that is open.
func (v *Inviter) Withdraw(ctx context.Context, by audit.Actor, partnerID, id int64) error {
	err := v.Partners.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := lockTeam(ctx, tx, by, partnerID); err != nil {
			return err
		}
		now := v.Partners.Now()
		n, err := sqldb.One(ctx, tx, scanInvitation, `UPDATE invitations SET ended_at = $3
			WHERE id = $1 AND partner_id = $2 AND ended_at = 0 RETURNING `+invitationColumns, id, partnerID, now)
		if errors.Is(err, sqldb.ErrNone) {
			return unknownInvitation()
		}
		if err != nil {
			return err
		}
		audit.Record(tx, now, by, "partner.invite_withdraw", subject(partnerID), n.facts(), nil)
		return nil
	})
	if err != nil {
		return fmt.Errorf("withdraw an invitation: %w", err)
	}
	return nil
}

// endInvitations queues the end of the invitations that somebody sent who is no longer
// an admin.
func endInvitations(tx *sqldb.Tx, m Member, at time.Time) {
	tx.Queue(`UPDATE invitations SET ended_at = $3 WHERE partner_id = $1 AND invited_by = $2 AND ended_at = 0`, m.PartnerID, m.UserID, at)
}

// EraseInvitations removes the invitations of an address, in the caller's transaction.
func EraseInvitations(tx *sqldb.Tx, email string) {
	if email != "" {
		tx.Queue(`DELETE FROM invitations WHERE email_key = $1`, validate.EmailKey(email))
	}
}

// Prune removes invitations that expired some time ago, and returns how many there were.
func (v *Inviter) Prune(ctx context.Context) (int64, error) {
	n, err := v.Partners.DB.DeleteInBatches(ctx, v.Partners.Now().Add(-invitationKept), `DELETE FROM invitations WHERE id IN (
		SELECT id FROM invitations WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("prune invitations: %w", err)
	}
	return n, nil
}

// facts has no address: audit entries are never deleted, and the person can demand to be
// erased.
func (n Invitation) facts() audit.Facts {
	return audit.Facts{"invitation_id": n.ID, "role": string(n.Role)}
}
