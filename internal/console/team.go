package console

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// Team is the pages about the operators themselves.
type Team struct {
	section
	Accounts *account.Book
}

const (
	withdrawPath = teamPath + "/invitations/{invitation}/withdraw"
	rolePath     = teamPath + "/members/{operator}/role"
	removePath   = teamPath + "/members/{operator}/remove"
	leavePath    = teamPath + "/leave"
)

func (t *Team) table() []Route {
	return []Route{
		row(Page, teamPath, account.Read, t.team),
		row(Act, teamPath+"/invite", account.Admin, t.invite),
		row(Page, withdrawPath, account.Admin, t.askWithdraw),
		row(Act, withdrawPath, account.Admin, t.withdraw),
		row(Page, rolePath, account.Admin, t.askRole),
		row(Act, rolePath, account.Admin, t.changeRole),
		row(Page, removePath, account.Admin, t.askRemove),
		row(Act, removePath, account.Admin, t.remove),
		row(Page, leavePath, account.Read, t.askLeave),
		row(Act, leavePath, account.Read, t.leave),
	}
}

func (t *Team) inviter() account.Inviter { return account.Inviter{Accounts: t.Accounts} }

// roleNames are the roles from the one that may do least.
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
		Foot: "The team is changed by people alone: an operator token cannot add, change or remove anybody. Whoever is locked out is let in again by claviger operator add.",
		Form: f, May: may, InviteURL: v.Path(teamPath + "/invite"), LeaveURL: v.Path(leavePath),
	}
	for _, role := range account.Roles {
		view.Roles = append(view.Roles, ui.RoleWords{Role: string(role), Says: role.Sentence()})
	}
	members := make([]area.Member, len(operators))
	for i, u := range operators {
		members[i] = area.Member{UserID: u.ID, Name: u.Name, Email: u.Email, Role: string(u.Role), Since: u.OperatorSince, You: u.ID == v.User.ID}
	}
	pending := make([]area.Pending, len(invited))
	for i, n := range invited {
		pending[i] = area.Pending{ID: n.ID, Email: n.Email, Role: n.Role, CreatedAt: n.CreatedAt, ExpireAt: n.ExpiresAt}
	}
	view.Members, view.Invitations = area.MemberTable(members, may, v.Path), area.PendingTable(pending, may, t.Now(), v.Path)
	return t.render(w, r, v, ui.PageTeam, ui.View{Title: "Team", Status: status, Data: view})
}

// invite mails an invitation. An address that was invited before gets a new link, and the
// old one ends.
func (t *Team) invite(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	email, role := ui.FormText(r, "email"), ui.FormText(r, "role")
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
	return t.area.Done(w, r, v, teamPath, "An invitation is on its way to "+email+". It works for seven days, and only the newest one to an address works.")
}

// notOperator refuses the address of somebody who is in the team already.
func (t *Team) notOperator(ctx context.Context, email string) error {
	operators, err := t.Accounts.Operators(ctx)
	if err != nil {
		return err
	}
	for _, u := range operators {
		if (invitation.Invitation{Email: email}).IsFor(u.Email) {
			return fault.New(fault.Conflict, codeIsOperator, "This person is in the team already. Change the role in the list instead.").On("email")
		}
	}
	return nil
}

// withdrawView asks for the end of an invitation.
func (t *Team) withdrawView(r *http.Request, v *Visit) (ui.Confirm, invitation.Invitation, error) {
	n, err := t.inviter().Get(r.Context(), area.ID(r, "invitation"))
	if err != nil {
		return ui.Confirm{}, n, area.Missing(err)
	}
	return ui.Confirm{
		Heading: "Withdraw the invitation",
		Says:    []string{fmt.Sprintf("The link that was mailed to %s stops working at once. You can invite them again later.", n.Email)},
		Action:  v.Path(teamPath+"/invitations/%d/withdraw", n.ID), Button: ui.Button{Label: "Withdraw it", Busy: "Withdrawing…", Kind: "danger"},
		Cancel: v.Path(teamPath),
	}, n, nil
}

func (t *Team) askWithdraw(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := t.withdrawView(r, v)
	if err != nil {
		return err
	}
	return t.confirm(w, r, v, http.StatusOK, view)
}

func (t *Team) withdraw(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, n, err := t.withdrawView(r, v)
	if err != nil {
		return err
	}
	if err := t.inviter().Withdraw(r.Context(), v.Actor(), n.ID); err != nil {
		return t.refuse(w, r, v, view, err)
	}
	return t.area.Done(w, r, v, teamPath, "The invitation of "+n.Email+" is withdrawn.")
}

// invitations is the page of the invitations to the team.
func (t *Team) invitations() *area.Invitations {
	return &area.Invitations{
		Site: t.Site, Path: account.InvitationPath,
		Open: func(ctx context.Context, token string) (area.Invited, error) {
			n, err := t.inviter().Open(ctx, token)
			role := account.Role(n.Role)
			return area.Invited{Team: t.marketplace(), Role: n.Role, Says: role.Sentence(), Email: n.Email, IsFor: n.IsFor}, err
		},
		Accept: func(ctx context.Context, v *visitor.Visitor, email, token string) (to, text string, err error) {
			_, err = t.inviter().Accept(ctx, v.Actor(), v.User.ID, email, token)
			return visitor.ConsolePath + "/", fmt.Sprintf("Welcome to the team of %s.", t.marketplace()), err
		},
	}
}
