package partner

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/sqldb"
)

// ranks order the roles. An unknown role has no rights.
var ranks = map[Role]int{Viewer: 1, Developer: 2, Admin: 3}

// Covers reports whether the role includes the rights of least.
func (r Role) Covers(least Role) bool { return ranks[r] > 0 && ranks[r] >= ranks[least] }

// Access is a partner that a user acts for, with their role.
type Access struct {
	Partner Partner
	Role    Role
}

func scanAccess(r *sqldb.Row, a *Access) error { return r.Scan(a.Partner.fields(&a.Role)...) }

// Access returns a user's current access to a partner. If the user is no member, the partner is
// reported as unknown.
func (r *Store) Access(ctx context.Context, partnerID, userID int64) (Access, error) {
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

// Serves reports whether a user is a member of any partner.
func (r *Store) Serves(ctx context.Context, userID int64) (bool, error) {
	return Serves(ctx, r.DB, userID)
}

// Serves does the same as Store.Serves, and also works in the caller's transaction.
func Serves(ctx context.Context, r sqldb.Reader, userID int64) (bool, error) {
	serves, err := sqldb.One(
		ctx,
		r,
		sqldb.Value[bool],
		`SELECT EXISTS (SELECT 1 FROM members WHERE user_id = $1)`,
		userID,
	)
	if err != nil {
		return false, fmt.Errorf("ask whether a user acts for a partner: %w", err)
	}
	return serves, nil
}

// Accesses returns the partners that a user acts for, by name, at most limit.
func (r *Store) Accesses(ctx context.Context, userID int64, limit int) ([]Access, error) {
	list, err := sqldb.All(ctx, r.DB, scanAccess, `SELECT `+columns+`, members.role
		FROM members JOIN partners ON partners.id = members.partner_id
		WHERE members.user_id = $1 ORDER BY partners.name, partners.id LIMIT $2`, userID, limit)
	if err != nil {
		return nil, fmt.Errorf("list what a user acts for: %w", err)
	}
	return list, nil
}
