// Package invitation stores the invitations to a team by email: to a partner's team, or to the
// marketplace's own. An invitation is for one address, works once within seven days, and a new one
// ends the old. It owns the table invitations.
//
// The packages with teams, partner and account, check the right to invite and define the
// membership.
package invitation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/prune"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of invitations.
const (
	Life   = 7 * 24 * time.Hour
	Most   = 20 // emails for one team in Window
	Window = time.Hour
	listed = 100
	kept   = 30 * 24 * time.Hour // after it expired; it contains personal data
)

// Invitation asks the person with an address to join a team. Its secret is only in the email.
type Invitation struct {
	ID        int64
	Team      int64 // the partner, or Marketplace
	Email     string
	Role      string
	InvitedBy int64 // user
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Marketplace is the team of operators.
const Marketplace int64 = 0

const columns = `id, partner_id, email, role, invited_by, created_at, expires_at`

func scan(r *sqldb.Row, n *Invitation) error {
	return r.Scan(&n.ID, &n.Team, &n.Email, &n.Role, &n.InvitedBy, &n.CreatedAt, &n.ExpiresAt)
}

// Team is the inviting team.
type Team struct {
	ID      int64
	Subject string // of audit entries, such as "partner:1"
	Action  string // of audit entries, such as "partner.invite"
	Path    string // of the page that shows an invitation; its parameter is token

	// Lock locks the team for the rest of the transaction. It refuses an actor that may no longer
	// invite.
	Lock func(ctx context.Context, tx *sqldb.Tx) error
	// CheckSize refuses another member if the team is full.
	CheckSize func(ctx context.Context, tx *sqldb.Tx) error
	// Content returns the email, without its link. It contains neither text nor the name of the
	// inviter: they must not reach people in our name.
	Content func(n Invitation) mail.Content
}

// Store stores invitations.
type Store struct {
	DB        *sqldb.DB
	Now       func() time.Time
	Mail      *mail.Outbox
	PublicURL string // without a trailing slash
}

// Invite emails an invitation to an address. It replaces an open one and ends its link. The caller
// checks the role.
func (b *Store) Invite(ctx context.Context, by audit.Actor, t Team, email, role string) (Invitation, error) {
	email, err := validate.Email("email", email)
	if err != nil {
		return Invitation{}, err
	}
	token := secret.Make("")
	var n Invitation
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := t.Lock(ctx, tx); err != nil {
			return err
		}
		now := b.Now()
		key := validate.EmailKey(email)
		if err := mayInvite(ctx, tx, t, now); err != nil {
			return err
		}
		tx.Queue(
			`UPDATE invitations SET ended_at = $3 WHERE partner_id = $1 AND email_key = $2 AND ended_at = 0`,
			t.ID,
			key,
			now,
		)
		n, err = sqldb.One(
			ctx,
			tx,
			scan,
			`INSERT INTO invitations (partner_id, email, email_key, role, hash, invited_by, created_at, expires_at,
				ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0) RETURNING `+columns,
			t.ID,
			email,
			key,
			role,
			secret.Hash(token),
			by.ID,
			now,
			now.Add(Life),
		)
		if err != nil {
			return err
		}
		b.Mail.Put(tx, b.message(t, n, token), now)
		audit.Record(tx, now, by, t.Action, t.Subject, nil, n.facts())
		return nil
	})
	if err != nil {
		return Invitation{}, fmt.Errorf("invite a person: %w", err)
	}
	return n, nil
}

// mayInvite limits the number of emails and members of a team.
func mayInvite(ctx context.Context, tx *sqldb.Tx, t Team, now time.Time) error {
	sent, err := sqldb.All(ctx, tx, sqldb.Value[time.Time], `SELECT created_at FROM invitations
		WHERE partner_id = $1 AND created_at > $2 ORDER BY created_at LIMIT $3`, t.ID, now.Add(-Window), Most)
	if err != nil {
		return fmt.Errorf("count invitations: %w", err)
	}
	if len(sent) >= Most {
		f := fault.New(
			fault.Throttled,
			CodeTooManyInvitations,
			"%d invitations were mailed in the last hour, which is the limit. Wait a while, then send this one again.",
			Most,
		)
		f.After = sent[0].Add(Window).Sub(now)
		return f
	}
	return t.CheckSize(ctx, tx)
}

// message returns the email with its link.
func (b *Store) message(t Team, n Invitation, token string) mail.Message {
	c := t.Content(n)
	c.Hello = "Hello,"
	c.Closing = []string{
		"Open the link, sign in with this email address or make an account with it, and accept. The link works for " +
			"seven days; a newer invitation ends it.",
		"If you do not know the team, you need not do anything.",
	}
	c.Button = mail.Link{Name: "Look at the invitation", URL: b.PublicURL + t.Path + "?token=" + token}
	text, html := c.Render()
	return mail.Message{
		Cause:   fmt.Sprintf("invitation %d", n.ID),
		To:      n.Email,
		Subject: c.Title,
		Text:    text,
		HTML:    html,
	}
}

// List returns the open and the recently expired invitations of a team, newest first.
func (b *Store) List(ctx context.Context, team int64) ([]Invitation, error) {
	list, err := sqldb.All(ctx, b.DB, scan, `SELECT `+columns+` FROM invitations
		WHERE partner_id = $1 AND ended_at = 0 ORDER BY id DESC LIMIT $2`, team, listed)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return list, nil
}

// Get returns an open invitation of a team.
func (b *Store) Get(ctx context.Context, team, id int64) (Invitation, error) {
	n, err := sqldb.One(ctx, b.DB, scan, `SELECT `+columns+` FROM invitations
		WHERE id = $1 AND partner_id = $2 AND ended_at = 0`, id, team)
	if errors.Is(err, sqldb.ErrNone) {
		return Invitation{}, unknownInvitation()
	}
	if err != nil {
		return Invitation{}, fmt.Errorf("read an invitation: %w", err)
	}
	return n, nil
}

func unknownInvitation() error {
	return fault.New(
		fault.Missing,
		codeUnknownInvitation,
		"There is no such invitation, or it was accepted or withdrawn.",
	)
}

// Withdraw ends an open invitation.
func (b *Store) Withdraw(ctx context.Context, by audit.Actor, t Team, id int64) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := t.Lock(ctx, tx); err != nil {
			return err
		}
		now := b.Now()
		n, err := sqldb.One(ctx, tx, scan, `UPDATE invitations SET ended_at = $3
			WHERE id = $1 AND partner_id = $2 AND ended_at = 0 RETURNING `+columns, id, t.ID, now)
		if errors.Is(err, sqldb.ErrNone) {
			return unknownInvitation()
		}
		if err != nil {
			return err
		}
		audit.Record(tx, now, by, t.Action+"_withdraw", t.Subject, n.facts(), nil)
		return nil
	})
	if err != nil {
		return fmt.Errorf("withdraw an invitation: %w", err)
	}
	return nil
}

// EndOf queues the end of a user's invitations after the user lost the right to invite.
func EndOf(tx *sqldb.Tx, team, userID int64, at time.Time) {
	tx.Queue(
		`UPDATE invitations SET ended_at = $3 WHERE partner_id = $1 AND invited_by = $2 AND ended_at = 0`,
		team,
		userID,
		at,
	)
}

// Waits reports whether an invitation for an address, to any team, can be accepted at a time.
func Waits(ctx context.Context, r sqldb.Reader, email string, at time.Time) (bool, error) {
	if email == "" {
		return false, nil
	}
	waits, err := sqldb.One(ctx, r, sqldb.Value[bool], `SELECT EXISTS (SELECT 1 FROM invitations
		WHERE email_key = $1 AND ended_at = 0 AND expires_at > $2)`, validate.EmailKey(email), at)
	if err != nil {
		return false, fmt.Errorf("look for an open invitation: %w", err)
	}
	return waits, nil
}

// Remove queues the deletion of a team's invitations.
func Remove(tx *sqldb.Tx, team int64) {
	tx.Queue(`DELETE FROM invitations WHERE partner_id = $1`, team)
}

// Erase removes the invitations of an address, in the caller's transaction.
func Erase(tx *sqldb.Tx, email string) {
	if email != "" {
		tx.Queue(`DELETE FROM invitations WHERE email_key = $1`, validate.EmailKey(email))
	}
}

// Expiring lists the rows that expire: invitations.
func Expiring() []prune.Rule {
	return []prune.Rule{{Table: "invitations", At: "expires_at", Keep: kept}}
}

// facts has no address: audit entries are never deleted, and the person can demand to be erased.
func (n Invitation) facts() audit.Facts {
	return audit.Facts{"invitation_id": n.ID, "role": n.Role}
}
