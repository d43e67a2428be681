package partner

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/sqldb"
)

// ranks order the roles. A role that is not listed may do nothing.
var ranks = map[Role]int{Viewer: 1, Developer: 2, Admin: 3}

// Covers reports whether the role may do what needs the role least.
func (r Role) Covers(least Role) bool { return ranks[r] > 0 && ranks[r] >= ranks[least] }

// Access is a partner that a person acts for.
type Access struct {
	Partner Partner
	Role    Role
}

func scanAccess(r *sqldb.Row, a *Access) error { return r.Scan(a.Partner.fields(&a.Role)...) }

// Access returns what a user may do for a partner, as it is stored now. A partner that
// the user does not act for is answered as one that does not exist.
func (r *Registry) Access(ctx context.Context, partnerID, userID int64) (Access, error) {
	a, err := sqldb.One(ctx, r.DB, scanAccess, `SELECT `+columns+`, members.role
		FROM members JOIN partners ON partners.id = members.partner_id
		WHERE members.partner_id = $1 AND members.user_id = $2`, partnerID, userID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Access{}, Unknown()
	case err != nil:
		return Access{}, fmt.Errorf("read a member's role: %w", err)
	}
	return a, nil
}

// Serves reports whether a user acts for any partner.
func (r *Registry) Serves(ctx context.Context, userID int64) (bool, error) {
	serves, err := sqldb.One(ctx, r.DB, sqldb.Value[bool], `SELECT EXISTS (SELECT 1 FROM members WHERE user_id = $1)`, userID)
	if err != nil {
		return false, fmt.Errorf("ask whether a user acts for a partner: %w", err)
	}
	return serves, nil
}

// Accesses returns the partners that a user acts for, by name. limit bounds them.
func (r *Registry) Accesses(ctx context.Context, userID int64, limit int) ([]Access, error) {
	list, err := sqldb.All(ctx, r.DB, scanAccess, `SELECT `+columns+`, members.role
		FROM members JOIN partners ON partners.id = members.partner_id
		WHERE members.user_id = $1 ORDER BY partners.name, partners.id LIMIT $2`, userID, limit)
	if err != nil {
		return nil, fmt.Errorf("list what a user acts for: %w", err)
	}
	return list, nil
}
