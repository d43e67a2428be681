package partner

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
)

// Role defines the rights of a member in the partner's portal.
type Role string

// Roles, from the most rights to the least.
const (
	Admin     Role = "admin"
	Developer Role = "developer"
	Viewer    Role = "viewer"
)

// Member is a person's membership of a partner.
type Member struct {
	PartnerID int64
	UserID    int64
	Role      Role
	CreatedAt time.Time
}

const memberColumns = `partner_id, user_id, role, created_at`

func scanMember(r *sqldb.Row, m *Member) error {
	return r.Scan(&m.PartnerID, &m.UserID, &m.Role, &m.CreatedAt)
}

func (r Role) valid() error {
	switch r {
	case Admin, Developer, Viewer:
		return nil
	default:
		return fault.Field("role", "must be admin, developer or viewer.")
	}
}

// AddMember gives a user a role with a partner, or changes it. The last admin keeps the role. A
// user who gains a right is signed out everywhere.
func (r *Store) AddMember(ctx context.Context, by audit.Actor, partnerID, userID int64, role Role) (Member, error) {
	if err := role.valid(); err != nil {
		return Member{}, err
	}
	var m Member
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := account.Present(ctx, tx, userID); err != nil {
			return err
		}
		if _, err := lock(ctx, tx, partnerID); err != nil {
			return err
		}
		var err error
		m, err = r.setRole(ctx, tx, by, Member{PartnerID: partnerID, UserID: userID, Role: role, CreatedAt: r.Now()})
		return err
	})
	if err != nil {
		return Member{}, fmt.Errorf("add a member: %w", err)
	}
	return m, nil
}

// setRole writes a member, under the locks of the user and the partner.
func (r *Store) setRole(ctx context.Context, tx *sqldb.Tx, by audit.Actor, m Member) (Member, error) {
	var before any
	var was Role
	switch old, err := member(ctx, tx, m.PartnerID, m.UserID); {
	case fault.Is(err, codeUnknownMember):
	case err != nil:
		return Member{}, err
	case old.Role == m.Role:
		return old, nil
	default:
		if err := old.dispensable(ctx, tx); err != nil {
			return Member{}, err
		}
		before = old.facts()
		was = old.Role
		m.CreatedAt = old.CreatedAt
	}
	if _, err := r.ranked(ctx, tx, m.UserID, was, m.Role); err != nil {
		return Member{}, err
	}
	tx.Queue(`INSERT INTO members (partner_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (partner_id, user_id)
		DO UPDATE SET role = excluded.role`, m.PartnerID, m.UserID, m.Role, m.CreatedAt)
	if m.Role != Admin {
		invitation.EndOf(tx, m.PartnerID, m.UserID, r.Now())
	}
	audit.Record(tx, r.Now(), by, "partner.member", subject(m.PartnerID), before, m.facts())
	return m, nil
}

// Members returns the members of a partner, the earliest first.
func (r *Store) Members(ctx context.Context, partnerID int64) ([]Member, error) {
	list, err := sqldb.All(ctx, r.DB, scanMember,
		`SELECT `+memberColumns+` FROM members WHERE partner_id = $1 ORDER BY created_at, user_id`, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return list, nil
}

// MembersAmong returns which of the users are members of a partner.
func (r *Store) MembersAmong(ctx context.Context, partnerID int64, userIDs []int64) (map[int64]bool, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	list, err := sqldb.All(
		ctx,
		r.DB,
		sqldb.Value[int64],
		`SELECT user_id FROM members WHERE partner_id = $1 AND user_id = ANY($2)`,
		partnerID,
		userIDs,
	)
	if err != nil {
		return nil, fmt.Errorf("look for members: %w", err)
	}
	found := make(map[int64]bool, len(list))
	for _, id := range list {
		found[id] = true
	}
	return found, nil
}

// Memberships returns the memberships of a user, the earliest first.
func (r *Store) Memberships(ctx context.Context, userID int64) ([]Member, error) {
	list, err := sqldb.All(ctx, r.DB, scanMember,
		`SELECT `+memberColumns+` FROM members WHERE user_id = $1 ORDER BY created_at, partner_id`, userID)
	if err != nil {
		return nil, fmt.Errorf("list memberships: %w", err)
	}
	return list, nil
}

// Leave ends every membership of a user during an erasure, in the caller's transaction. The last
// admin of a partner cannot erase their own account; the marketplace can, and can add another
// admin. Leave locks partners in the order of their ids.
func Leave(ctx context.Context, tx *sqldb.Tx, by audit.Actor, userID int64, at time.Time) error {
	list, err := sqldb.All(ctx, tx, scanMember,
		`SELECT `+memberColumns+` FROM members WHERE user_id = $1 ORDER BY partner_id`, userID)
	if err != nil {
		return fmt.Errorf("find the memberships of a user: %w", err)
	}
	for _, m := range list {
		if _, err := lock(ctx, tx, m.PartnerID); err != nil {
			return err
		}
		m, err := member(ctx, tx, m.PartnerID, userID) // its current state
		if fault.Is(err, codeUnknownMember) {
			continue
		}
		if err == nil && by.Kind == audit.ByUser && by.ID == userID {
			err = m.dispensable(ctx, tx)
		}
		if err != nil {
			return err
		}
		m.remove(tx, at)
		audit.Record(tx, at, by, "partner.member_erase", subject(m.PartnerID), m.facts(), nil)
	}
	return nil
}

func (m Member) facts() audit.Facts { return audit.Facts{"user_id": m.UserID, "role": string(m.Role)} }
