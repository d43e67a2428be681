package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
)

// Role is what an operator, one of the marketplace's own people, may do in the console.
type Role string

// The roles of operators.
const (
	RoleAdmin   Role = "admin"
	RoleSupport Role = "support"
	RoleSales   Role = "sales"
	RoleViewer  Role = "viewer"
)

// Roles are all of them, from the one that may do least.
var Roles = []Role{RoleViewer, RoleSales, RoleSupport, RoleAdmin}

// roleScopes are the scopes of tokens that a role stands for.
var roleScopes = map[Role][]Scope{
	RoleViewer: {Read}, RoleSales: {Read, Sell}, RoleSupport: {Read, Support}, RoleAdmin: {Read, Sell, Support, Admin},
}

// May reports whether the role allows what needs the scope. A role that is not listed
// allows nothing.
func (r Role) May(s Scope) bool { return slices.Contains(roleScopes[r], s) }

// Sentence says what the role may do.
func (r Role) Sentence() string {
	switch r {
	case RoleAdmin:
		return "An admin does everything, and also manages partners, people, tokens and the team."
	case RoleSupport:
		return "Support sees everything, and helps people: holds, reinstates and releases licenses, redelivers, makes sign-in links."
	case RoleSales:
		return "Sales sees everything, and records purchases, plan changes and refunds."
	case RoleViewer:
		return "A viewer sees everything and changes nothing."
	default:
		return ""
	}
}

func (r Role) valid() error {
	if slices.Contains(Roles, r) {
		return nil
	}
	return fault.Field("role", "must be admin, support, sales or viewer.")
}

// Operator reports whether the user is one of the marketplace's own people.
func (u User) Operator() bool { return u.Role != "" }

// SetRole makes a user an operator with a role, or, with "", no operator any more. The
// last admin keeps the role.
func SetRole(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, role Role, at time.Time) (User, error) {
	if role != "" {
		if err := role.valid(); err != nil {
			return User{}, err
		}
	}
	u, err := lock(ctx, tx, id)
	if err != nil {
		return User{}, err
	}
	if err := lockTeam(ctx, tx); err != nil {
		return User{}, err
	}
	return u.setRole(ctx, tx, by, role, at)
}

// setRole gives a user another role, or none, under the locks of the user and the team.
func (u User) setRole(ctx context.Context, tx *sqldb.Tx, by audit.Actor, role Role, at time.Time) (User, error) {
	if u.Role == role {
		return u, nil
	}
	if err := u.dispensable(ctx, tx); err != nil {
		return User{}, err
	}
	before := u
	u.Role, u.UpdatedAt = role, at
	switch {
	case role == "":
		u.OperatorSince = time.Time{}
	case before.Role == "":
		u.OperatorSince = at
	}
	if role != RoleAdmin {
		invitation.EndOf(tx, invitation.Marketplace, u.ID, at)
	}
	tx.Queue(`UPDATE users SET operator_role = $2, operator = $3, operator_since = $4, updated_at = $5 WHERE id = $1`,
		u.ID, role, u.Operator(), u.OperatorSince, at)
	audit.Record(tx, at, by, "user.operator", subject(u.ID), before.facts(), u.facts())
	return u, nil
}

// eraseRole ends the role of a user who is being erased and is locked.
func (u User) eraseRole(ctx context.Context, tx *sqldb.Tx, by audit.Actor, at time.Time) error {
	if !u.Operator() {
		return nil
	}
	if err := lockTeam(ctx, tx); err != nil {
		return err
	}
	invitation.EndOf(tx, invitation.Marketplace, u.ID, at)
	if by.Kind == audit.BySystem {
		return nil
	}
	return u.dispensable(ctx, tx)
}

// RoleOf returns the role of a user; "" for who is no operator, or does not exist.
func RoleOf(ctx context.Context, r sqldb.Reader, id int64) (Role, error) {
	role, err := sqldb.One(ctx, r, sqldb.Value[string], `SELECT operator_role FROM users WHERE id = $1 AND erased_at = 0`, id)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return "", fmt.Errorf("read the role of user %d: %w", id, err)
	}
	return Role(role), nil
}
