package console

import (
	"cmp"
	"context"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
)

// operator returns the operator of the path and a name for them.
func (t *Team) operator(r *http.Request) (account.User, string, error) {
	u, err := t.Accounts.Operator(r.Context(), area.ID(r, "operator"))
	return u, cmp.Or(u.Name, u.Email, "this person"), area.Missing(err)
}

// seenRole returns the state of an operator that a page shows.
func seenRole(u account.User) area.Seen {
	return area.Seen{Version: string(u.Role), Facts: []area.Fact{{Name: "The role", Value: string(u.Role)}}}
}

// changeRole changes the role of the operator of the path.
func (t *Team) changeRole(r *http.Request, v *Visit) (area.Action, error) {
	u, name, err := t.operator(r)
	do := func(ctx context.Context, role string) error {
		_, err := t.Accounts.ChangeRole(ctx, v.Actor(), u.ID, u.Role, account.Role(role))
		return err
	}
	act := t.TeamActs(v).ChangeRole(r, name, string(u.Role), string(account.RoleAdmin), do)
	act.Seen = seenRole(u)
	return act, err
}

// remove removes the operator of the path.
func (t *Team) remove(r *http.Request, v *Visit) (area.Action, error) {
	u, name, err := t.operator(r)
	says := []string{
		name + " can no longer open any page of the console, from the next request on, and pages that are open stop " +
			"following what happens.",
		"Invitations that they sent and nobody has accepted end. Their account stays, and what they did stays in the " +
			"audit. Tokens and secrets that they may have copied go on working: revoke or rotate those.",
	}
	act := t.TeamActs(v).Remove(name, says, func(ctx context.Context) error {
		return t.Accounts.RemoveOperator(ctx, v.Actor(), u.ID)
	})
	act.Seen = seenRole(u)
	return act.OrLeave(u.ID == v.User.ID), err
}

// leave removes the visitor from the team.
func (t *Team) leave(r *http.Request, v *Visit) (area.Action, error) {
	return t.TeamActs(v).Leave(r, func(ctx context.Context) error {
		return t.Accounts.RemoveOperator(ctx, v.Actor(), v.User.ID)
	}), nil
}

// withdraw withdraws the invitation of the path.
func (t *Team) withdraw(r *http.Request, v *Visit) (area.Action, error) {
	n, err := t.inviter().Get(r.Context(), area.ID(r, "invitation"))
	return t.TeamActs(v).Withdraw(n.Email, func(ctx context.Context) error {
		return t.inviter().Withdraw(ctx, v.Actor(), n.ID)
	}), area.Missing(err)
}
