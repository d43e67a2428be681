package partner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Role is what a member may do in the partner's portal.
type Role string

// The roles, from the one that may do most.
const (
	Admin     Role = "admin"
	Developer Role = "developer"
	Viewer    Role = "viewer"
)

// Member is a person who acts for a partner.
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

// AddMember gives a user a role with a partner, or another role if it has one.
// That the user exists is the caller's to know.
func (r *Registry) AddMember(ctx context.Context, by audit.Actor, partnerID, userID int64, role Role) (Member, error) {
	switch role {
	case Admin, Developer, Viewer:
	default:
		return Member{}, fault.Field("role", "must be admin, developer or viewer.")
	}
	var m Member
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := lock(ctx, tx, partnerID); err != nil {
			return err
		}
		var before any
		old, err := sqldb.One(ctx, tx, scanMember,
			`SELECT `+memberColumns+` FROM members WHERE partner_id = $1 AND user_id = $2`, partnerID, userID)
		switch {
		case errors.Is(err, sqldb.ErrNone):
			m = Member{PartnerID: partnerID, UserID: userID, Role: role, CreatedAt: r.Now()}
		case err != nil:
			return err
		case old.Role == role:
			m = old
			return nil
		default:
			m, before = old, old.facts()
			m.Role = role
		}
		tx.Queue(`INSERT INTO members (partner_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (partner_id, user_id) DO UPDATE SET role = excluded.role`, partnerID, userID, role, m.CreatedAt)
		audit.Record(tx, r.Now(), by, "partner.member", subject(partnerID), before, m.facts())
		return nil
	})
	if err != nil {
		return Member{}, fmt.Errorf("add a member: %w", err)
	}
	return m, nil
}

// Members returns the people who act for a partner, the first of them first.
func (r *Registry) Members(ctx context.Context, partnerID int64) ([]Member, error) {
	list, err := sqldb.All(ctx, r.DB, scanMember,
		`SELECT `+memberColumns+` FROM members WHERE partner_id = $1 ORDER BY created_at, user_id`, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return list, nil
}

// Memberships returns where a user acts for a partner, the first first.
func (r *Registry) Memberships(ctx context.Context, userID int64) ([]Member, error) {
	list, err := sqldb.All(ctx, r.DB, scanMember,
		`SELECT `+memberColumns+` FROM members WHERE user_id = $1 ORDER BY created_at, partner_id`, userID)
	if err != nil {
		return nil, fmt.Errorf("list memberships: %w", err)
	}
	return list, nil
}

// Leave queues that a user acts for no partner any more, as when it is erased.
func Leave(tx *sqldb.Tx, userID int64) {
	tx.Queue(`DELETE FROM members WHERE user_id = $1`, userID)
}

func (m Member) facts() audit.Facts { return audit.Facts{"user_id": m.UserID, "role": m.Role} }
