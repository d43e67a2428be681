package account

import (
	"context"
	"slices"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
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

// SetRole makes a user an operator with a role, or, with "", no operator any more.
func SetRole(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, role Role, at time.Time) (User, error) {
	if role != "" {
		if err := role.valid(); err != nil {
			return User{}, err
		}
	}
	before, err := lock(ctx, tx, id)
	if err != nil || before.Role == role {
		return before, err
	}
	after := before
	after.Role, after.UpdatedAt = role, at
	switch {
	case role == "":
		after.OperatorSince = time.Time{}
	case before.Role == "":
		after.OperatorSince = at
	}
	tx.Queue(`UPDATE users SET operator_role = $2, operator = $3, operator_since = $4, updated_at = $5 WHERE id = $1`,
		id, role, after.Operator(), after.OperatorSince, at)
	audit.Record(tx, at, by, "user.operator", subject(id), before.facts(), after.facts())
	return after, nil
}
