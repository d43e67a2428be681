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

// Role defines the rights of an operator, a member of the marketplace's own team, in the console.
type Role string

// Roles of operators.
const (
	RoleAdmin   Role = "admin"
	RoleSupport Role = "support"
	RoleSales   Role = "sales"
	RoleViewer  Role = "viewer"
)

// Roles lists all roles, from the least rights to the most.
var Roles = []Role{RoleViewer, RoleSales, RoleSupport, RoleAdmin}

// roleScopes lists the token scopes that correspond to each role.
var roleScopes = map[Role][]Scope{
	RoleViewer: {Read}, RoleSales: {Read, Sell}, RoleSupport: {Read, Support}, RoleAdmin: {Read, Sell, Support, Admin},
}

// May reports whether the role includes the scope. An unknown role includes none.
func (r Role) May(s Scope) bool { return slices.Contains(roleScopes[r], s) }

// exceeds reports whether the role includes a scope that the other does not.
func (r Role) exceeds(other Role) bool {
	return slices.ContainsFunc(roleScopes[r], func(s Scope) bool { return !other.May(s) })
}

// Sentence describes the role's rights.
func (r Role) Sentence() string {
	switch r {
	case RoleAdmin:
		return "An admin does everything, and also manages partners, people, tokens and the team."
	case RoleSupport:
		return "Support sees everything, and helps people: holds, reinstates and releases licenses, redelivers, " +
			"makes sign-in links."
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

// Operator reports whether the user belongs to the marketplace's own team.
func (u User) Operator() bool { return u.Role != "" }

// SetRole makes a user an operator with a role; "" removes the role. The last admin keeps the role.
// A new right signs the user out everywhere. A mere loss of rights signs them out of the console
// and the portal.
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

// setRole changes or removes a user's role. The caller holds the locks of the user and the team.
func (u User) setRole(ctx context.Context, tx *sqldb.Tx, by audit.Actor, role Role, at time.Time) (User, error) {
	if u.Role == role {
		return u, nil
	}
	if err := u.dispensable(ctx, tx); err != nil {
		return User{}, err
	}
	before := u
	u.Role = role
	u.UpdatedAt = at
	switch {
	case role == "":
		u.OperatorSince = time.Time{}
	case before.Role == "":
		u.OperatorSince = at
	}
	if role != RoleAdmin {
		invitation.EndOf(tx, invitation.Marketplace, u.ID, at)
	}
	if role.exceeds(before.Role) {
		u.endSessions(tx, at)
	} else {
		u.StaffEpoch++
	}
	tx.Queue(
		`UPDATE users SET operator_role = $2, operator = $3, operator_since = $4, updated_at = $5, session_epoch = $6,
			staff_epoch = $7 WHERE id = $1`,
		u.ID,
		role,
		u.Operator(),
		u.OperatorSince,
		at,
		u.SessionEpoch,
		u.StaffEpoch,
	)
	audit.Record(tx, at, by, "user.operator", subject(u.ID), before.facts(), u.facts())
	return u, nil
}

// eraseRole ends the role of a user during an erasure. The user is locked.
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

// RoleOf returns the role of a user; "" if the user is no operator or does not exist.
func RoleOf(ctx context.Context, r sqldb.Reader, id int64) (Role, error) {
	role, err := sqldb.One(
		ctx,
		r,
		sqldb.Value[string],
		`SELECT operator_role FROM users WHERE id = $1 AND erased_at = 0`,
		id,
	)
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return "", fmt.Errorf("read the role of user %d: %w", id, err)
	}
	return Role(role), nil
}
