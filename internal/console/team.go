package console

import (
	"context"
	"fmt"
	"slices"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/invitation"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// Team serves the pages about the operators themselves.
type Team struct {
	section
	Accounts *account.Store
}

const (
	withdrawPath = teamPath + "/invitations/{invitation}/withdraw"
	rolePath     = teamPath + "/members/{operator}/role"
	removePath   = teamPath + "/members/{operator}/remove"
	leavePath    = teamPath + "/leave"
)

func (t *Team) table() []Route {
	return slices.Concat(
		(&area.TeamPages{Side: t, Rule: changes(account.Admin)}).Routes(),
		act(withdrawPath, account.Admin, t.withdraw),
		act(rolePath, account.Admin, t.changeRole),
		act(removePath, account.Admin, t.remove),
		act(leavePath, account.Read, t.leave),
	)
}

func (t *Team) inviter() account.Inviter { return account.Inviter{Accounts: t.Accounts} }

// TeamActs returns the acts on the team.
func (t *Team) TeamActs(v area.Visit) area.TeamActs {
	acts := area.TeamActs{
		URL: v.Path(teamPath), Name: t.marketplace(), Pages: "the console", First: string(account.RoleViewer),
		Lead: "The marketplace's own people, each by a role. It is read at every request, so a change holds at once.",
		Foot: "The team is changed by people alone: an operator token cannot add, change or remove anybody. Whoever " +
			"is locked out is let in again by claviger operator add.",
	}
	for _, role := range account.Roles {
		acts.Roles = append(acts.Roles, ui.RoleWords{Role: string(role), Says: role.Sentence()})
	}
	return acts
}

// Team returns the operators and the open invitations.
func (t *Team) Team(ctx context.Context, v area.Visit) ([]area.Member, []area.Pending, error) {
	operators, err := t.Accounts.Operators(ctx)
	if err != nil {
		return nil, nil, err
	}
	members := make([]area.Member, len(operators))
	for i, u := range operators {
		members[i] = area.Member{
			UserID: u.ID, Name: u.Name, Email: u.Email, Role: string(u.Role), Since: u.OperatorSince,
			You: u.ID == v.Common().User.ID,
		}
	}
	invited, err := t.inviter().List(ctx)
	pending := make([]area.Pending, len(invited))
	for i, n := range invited {
		pending[i] = area.Pending{ID: n.ID, Email: n.Email, Role: n.Role, CreatedAt: n.CreatedAt, ExpireAt: n.ExpiresAt}
	}
	return members, pending, err
}

// Invite mails an invitation to the team.
func (t *Team) Invite(ctx context.Context, v area.Visit, email, role string) error {
	_, err := t.inviter().Invite(ctx, v.Actor(), email, account.Role(role))
	return err
}

// invitations returns the page of an invitation to the team.
func (t *Team) invitations() *area.Invitations {
	return &area.Invitations{
		Site: t.Site, Path: account.InvitationPath, Now: t.Now,
		Open: func(ctx context.Context, token string) (area.Invited, error) {
			n, err := t.inviter().Open(ctx, token)
			role := account.Role(n.Role)
			return area.Invited{
				Team: t.marketplace(), Role: n.Role, Says: role.Sentence(), Email: n.Email, IsFor: n.IsFor,
			}, err
		},
		Accept: func(
			ctx context.Context, v *visitor.Visitor, proof invitation.Proof, token string,
		) (area.Accepted, error) {
			u, err := t.inviter().Accept(ctx, v.Actor(), v.User.ID, proof, token)
			return area.Accepted{
				To:    visitor.ConsolePath + "/",
				Text:  fmt.Sprintf("Welcome to the team of %s.", t.marketplace()),
				Epoch: u.SessionEpoch,
			}, err
		},
	}
}
