package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
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
		[]Route{
			row(Page, teamPath, account.Read, t.team),
			row(Act, teamPath+"/invite", account.Admin, t.invite),
		},
		act(withdrawPath, account.Admin, t.withdraw),
		act(rolePath, account.Admin, t.changeRole),
		act(removePath, account.Admin, t.remove),
		act(leavePath, account.Read, t.leave),
	)
}

func (t *Team) inviter() account.Inviter { return account.Inviter{Accounts: t.Accounts} }

// roleNames returns the roles, least powerful first.
func roleNames() []string {
	names := make([]string, len(account.Roles))
	for i, r := range account.Roles {
		names[i] = string(r)
	}
	return names
}

func (t *Team) team(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return t.showTeam(w, r, v, http.StatusOK, area.InviteForm("", string(account.RoleViewer), roleNames()))
}

func (t *Team) showTeam(w http.ResponseWriter, r *http.Request, v *Visit, status int, f ui.Form) error {
	operators, err := t.Accounts.Operators(r.Context())
	if err != nil {
		return err
	}
	invited, err := t.inviter().List(r.Context())
	if err != nil {
		return err
	}
	may := v.May(account.Admin)
	view := ui.Team{
		Lead: "The marketplace's own people, each by a role. It is read at every request, so a change holds at once.",
		Foot: "The team is changed by people alone: an operator token cannot add, change or remove anybody. Whoever " +
			"is locked out is let in again by claviger operator add.",
		Roles: t.acts(v).Roles, Form: f, May: may, InviteURL: v.Path(teamPath + "/invite"), LeaveURL: v.Path(leavePath),
	}
	members := make([]area.Member, len(operators))
	for i, u := range operators {
		members[i] = area.Member{
			UserID: u.ID,
			Name:   u.Name,
			Email:  u.Email,
			Role:   string(u.Role),
			Since:  u.OperatorSince,
			You:    u.ID == v.User.ID,
		}
	}
	pending := make([]area.Pending, len(invited))
	for i, n := range invited {
		pending[i] = area.Pending{ID: n.ID, Email: n.Email, Role: n.Role, CreatedAt: n.CreatedAt, ExpireAt: n.ExpiresAt}
	}
	view.Members, view.Invitations = area.MemberTable(
		members,
		may,
		v.Path,
	), area.PendingTable(
		pending,
		may,
		t.Now(),
		v.Path,
	)
	return t.render(w, r, v, ui.PageTeam, ui.View{Title: "Team", Status: status, Data: view})
}

// invite emails an invitation. A new link replaces an earlier one to the same address.
func (t *Team) invite(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	email := ui.FormText(r, "email")
	role := ui.FormText(r, "role")
	f := area.InviteForm(email, role, roleNames())
	err := t.notOperator(r.Context(), email)
	if err == nil {
		_, err = t.inviter().Invite(r.Context(), v.Actor(), email, account.Role(role))
	}
	if refused := fault.Of(err); refused != nil && refused.Kind != fault.Missing {
		f.Refuse(err)
		if refused.After > 0 {
			ui.RetryAfter(w.Header(), refused.After)
		}
		return t.showTeam(w, r, v, wire.Status(refused.Kind), f)
	}
	if err != nil {
		return area.Missing(err)
	}
	return t.area.Done(
		w,
		r,
		v,
		teamPath,
		"An invitation is on its way to "+email+". It works for seven days, and only the newest one to an address "+
			"works.",
	)
}

// notOperator refuses the address of someone who is already in the team.
func (t *Team) notOperator(ctx context.Context, email string) error {
	operators, err := t.Accounts.Operators(ctx)
	if err != nil {
		return err
	}
	for _, u := range operators {
		if (invitation.Invitation{Email: email}).IsFor(u.Email) {
			return fault.New(fault.Conflict, codeIsOperator, "This person is in the team already. Change the role "+
				"in the list instead.").
				On("email")
		}
	}
	return nil
}

// invitations returns the page of an invitation to the team.
func (t *Team) invitations() *area.Invitations {
	return &area.Invitations{
		Site: t.Site, Path: account.InvitationPath, Now: t.Now,
		Open: func(ctx context.Context, token string) (area.Invited, error) {
			n, err := t.inviter().Open(ctx, token)
			role := account.Role(n.Role)
			return area.Invited{
				Team:  t.marketplace(),
				Role:  n.Role,
				Says:  role.Sentence(),
				Email: n.Email,
				IsFor: n.IsFor,
			}, err
		},
		Accept: func(ctx context.Context, v *visitor.Visitor, proof invitation.Proof, token string) (area.Accepted, error) {
			u, err := t.inviter().Accept(ctx, v.Actor(), v.User.ID, proof, token)
			return area.Accepted{
				To:    visitor.ConsolePath + "/",
				Text:  fmt.Sprintf("Welcome to the team of %s.", t.marketplace()),
				Epoch: u.SessionEpoch,
			}, err
		},
	}
}
