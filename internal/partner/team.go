package partner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
)

// MaxMembers is the maximum number of members of a partner.
const MaxMembers = 200

// member reads a member, also in a transaction that locked the partner.
func member(ctx context.Context, r sqldb.Reader, partnerID, userID int64) (Member, error) {
	m, err := sqldb.One(ctx, r, scanMember,
		`SELECT `+memberColumns+` FROM members WHERE partner_id = $1 AND user_id = $2`, partnerID, userID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Member{}, fault.New(
			fault.Missing,
			codeUnknownMember,
			"No member of the team has this id; the person may have left it.",
		)
	case err != nil:
		return Member{}, fmt.Errorf("read a member: %w", err)
	}
	return m, nil
}

// Member returns the membership of a user.
func (r *Store) Member(ctx context.Context, partnerID, userID int64) (Member, error) {
	return member(ctx, r.DB, partnerID, userID)
}

// lockTeam locks the partner for a change of its team. If a member makes the change, they must be
// an admin now: their role may have changed since the request was authorized.
func lockTeam(ctx context.Context, tx *sqldb.Tx, by audit.Actor, partnerID int64) (Partner, error) {
	p, err := lock(ctx, tx, partnerID)
	if err != nil || by.ActingFor == 0 {
		return p, err
	}
	switch m, err := member(ctx, tx, partnerID, by.ID); {
	case err != nil && !fault.Is(err, codeUnknownMember):
		return Partner{}, err
	case err != nil, by.ActingFor != partnerID, m.Role != Admin:
		return Partner{}, Unknown()
	}
	return p, nil
}

// dispensable refuses to remove the role of the last admin. The partner is locked, so that one
// admin stays if two remove each other concurrently.
func (m Member) dispensable(ctx context.Context, tx *sqldb.Tx) error {
	if m.Role != Admin {
		return nil
	}
	others, err := sqldb.One(
		ctx,
		tx,
		sqldb.Value[int64],
		`SELECT count(*) FROM members WHERE partner_id = $1 AND role = $2 AND user_id <> $3`,
		m.PartnerID,
		Admin,
		m.UserID,
	)
	if err != nil {
		return fmt.Errorf("count the other admins: %w", err)
	}
	if others == 0 {
		return fault.New(fault.Conflict, CodeLastAdmin,
			"The team needs an admin, and no one else is one. Make another member an admin first, then do this again.")
	}
	return nil
}

// ChangeRole gives a member another role. was is the role that the sender saw: if the role has
// changed since, ChangeRole refuses. A new right signs the member out everywhere; a loss of rights,
// out of the console and the portal.
func (r *Store) ChangeRole(
	ctx context.Context,
	by audit.Actor,
	partnerID, userID int64,
	was, role Role,
) (Member, error) {
	if err := role.valid(); err != nil {
		return Member{}, err
	}
	var m Member
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := account.Present(ctx, tx, userID); err != nil {
			return err
		}
		if _, err := lockTeam(ctx, tx, by, partnerID); err != nil {
			return err
		}
		old, err := member(ctx, tx, partnerID, userID)
		if err != nil {
			return err
		}
		if old.Role != was {
			return fault.New(
				fault.Conflict,
				codeMemberChanged,
				"This person's role has been changed from %s to %s since the page was shown. Nothing was changed; "+
					"look at the team as it is now.",
				was,
				old.Role,
			)
		}
		old.Role = role
		m, err = r.setRole(ctx, tx, by, old)
		return err
	})
	if err != nil {
		return Member{}, fmt.Errorf("change a member's role: %w", err)
	}
	return m, nil
}

// RemoveMember ends a person's membership, the invitations that they sent, and their sessions in
// the console and the portal. Members can remove themselves with any role.
func (r *Store) RemoveMember(ctx context.Context, by audit.Actor, partnerID, userID int64) error {
	leaves := by.Kind == audit.ByUser && by.ID == userID
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if err := account.Present(ctx, tx, userID); err != nil {
			return err
		}
		if leaves {
			_, err = lock(ctx, tx, partnerID)
		} else {
			_, err = lockTeam(ctx, tx, by, partnerID)
		}
		if err != nil {
			return err
		}
		m, err := member(ctx, tx, partnerID, userID)
		if err != nil {
			return err
		}
		if err := m.dispensable(ctx, tx); err != nil {
			return err
		}
		m.remove(tx, r.Now())
		if _, err := r.ranked(ctx, tx, userID, m.Role, ""); err != nil {
			return err
		}
		action := "partner.member_remove"
		if leaves {
			action = "partner.member_leave"
		}
		audit.Record(tx, r.Now(), by, action, subject(partnerID), m.facts(), nil)
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove a member: %w", err)
	}
	return nil
}

// remove queues the end of a membership and of the invitations that the member sent.
func (m Member) remove(tx *sqldb.Tx, at time.Time) {
	tx.Queue(`DELETE FROM members WHERE partner_id = $1 AND user_id = $2`, m.PartnerID, m.UserID)
	invitation.EndOf(tx, m.PartnerID, m.UserID, at)
}

// SoleAdminOf returns the partners that have a user as their only admin.
func (r *Store) SoleAdminOf(ctx context.Context, userID int64) ([]Partner, error) {
	list, err := sqldb.All(
		ctx,
		r.DB,
		scan,
		`SELECT `+columns+` FROM members JOIN partners ON partners.id = members.partner_id
		WHERE members.user_id = $1 AND members.role = $2 AND NOT EXISTS (SELECT 1 FROM members AS others
			WHERE others.partner_id = members.partner_id AND others.role = $2 AND others.user_id <> $1)
		ORDER BY partners.name, partners.id`,
		userID,
		Admin,
	)
	if err != nil {
		return nil, fmt.Errorf("list whose last admin a user is: %w", err)
	}
	return list, nil
}
