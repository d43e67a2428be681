package portal

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const teamPath = "/team"

// teamView lists the people who act for the partner, and those who are invited to.
type teamView struct {
	Members     ui.Table
	Invitations ui.Table
	Form        ui.Form
	May         bool
	Roles       []roleWords
	InviteURL   string
	LeaveURL    string
}

// roleWords says what a role may do.
type roleWords struct {
	Role partner.Role
	Says string
}

// allRoles are the roles from the one that may do least.
var allRoles = []partner.Role{partner.Viewer, partner.Developer, partner.Admin}

func (h *Handler) team(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showTeam(w, r, v, http.StatusOK, inviteForm("", partner.Developer))
}

func inviteForm(email string, role partner.Role) ui.Form {
	return ui.Form{Fields: []ui.Field{
		{Name: "email", Label: "Email address", Type: "email", Value: email, Required: true, Autocomplete: "off"},
		roleField(role),
	}}
}

func roleField(role partner.Role) ui.Field {
	f := ui.Field{Name: "role", Label: "Role", Type: "select", Value: string(role), Required: true}
	for _, r := range allRoles {
		f.Options = append(f.Options, ui.Option{Value: string(r), Label: roleName(r)})
	}
	return f
}

// roleName is a role as the start of a line.
func roleName(r partner.Role) string {
	switch r {
	case partner.Admin:
		return "Admin"
	case partner.Developer:
		return "Developer"
	case partner.Viewer:
		return "Viewer"
	}
	return string(r)
}

func (h *Handler) showTeam(w http.ResponseWriter, r *http.Request, v *Visit, status int, f ui.Form) error {
	members, err := h.Partners.Members(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	people, err := h.people(r.Context(), members)
	if err != nil {
		return err
	}
	invited, err := h.Inviter.List(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	view := teamView{
		Members: ui.Table{ID: "members", Caption: "Members", Columns: []ui.Column{{Label: "Name"}, {Label: "Role"}, {Label: "Since"}}},
		Form:    f, May: v.May(partner.Admin), InviteURL: v.Path(teamPath + "/invite"), LeaveURL: v.Path(teamPath + "/leave"),
	}
	for _, role := range allRoles {
		view.Roles = append(view.Roles, roleWords{role, role.Sentence()})
	}
	for _, m := range members {
		view.Members.Rows = append(view.Members.Rows, memberRow(v, m, people[m.UserID]))
	}
	view.Invitations = h.invitationTable(v, invited)
	return h.render(w, r, v, "team", ui.View{Title: "Team", Status: status, Data: view})
}

// people returns the accounts of members by id.
func (h *Handler) people(ctx context.Context, members []partner.Member) (map[int64]account.User, error) {
	ids := make([]int64, len(members))
	for i, m := range members {
		ids[i] = m.UserID
	}
	return h.Site.Accounts.Users(ctx, ids)
}

func memberRow(v *Visit, m partner.Member, u account.User) ui.Row {
	name := ui.Cell{Text: cmp.Or(u.Name, u.Email, "Deleted account")}
	if u.Name != "" {
		name.Note = u.Email
	}
	if m.UserID == v.User.ID {
		name.Text += " (you)"
	}
	if v.May(partner.Admin) {
		name.Links = []ui.RowLink{{Label: "Change role", Of: "of " + name.Text, URL: v.Path(teamPath+"/members/%d/role", m.UserID)}}
		if m.UserID != v.User.ID {
			name.Links = append(name.Links, ui.RowLink{Label: "Remove", Of: name.Text, URL: v.Path(teamPath+"/members/%d/remove", m.UserID)})
		}
	}
	return ui.Row{ID: fmt.Sprintf("member-%d", m.UserID), Cells: []ui.Cell{name, {Text: roleName(m.Role)}, {At: m.CreatedAt}}}
}

func (h *Handler) invitationTable(v *Visit, list []partner.Invitation) ui.Table {
	t := ui.Table{ID: "invitations", Caption: "Invitations", Columns: []ui.Column{
		{Label: "Email address"}, {Label: "Role"}, {Label: "Sent"}, {Label: "State"},
	}}
	for _, n := range list {
		state := ui.Cell{Status: "pending", Note: "Works for another " + span(n.ExpiresAt.Sub(h.Now())) + "."}
		if !n.ExpiresAt.After(h.Now()) {
			state = ui.Cell{Status: "expired"}
		}
		address := ui.Cell{Text: n.Email}
		if v.May(partner.Admin) {
			address.Links = []ui.RowLink{{Label: "Withdraw", Of: "the invitation of " + n.Email, URL: v.Path(teamPath+"/invitations/%d/withdraw", n.ID)}}
		}
		t.Rows = append(t.Rows, ui.Row{
			ID: fmt.Sprintf("invitation-%d", n.ID), Cells: []ui.Cell{address, {Text: roleName(n.Role)}, {At: n.CreatedAt}, state},
		})
	}
	return t
}

// invite mails an invitation. An address that was invited before gets a new link, and
// the old one ends.
func (h *Handler) invite(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	f := inviteForm(ui.FormText(r, "email"), partner.Role(ui.FormText(r, "role")))
	err := h.notMember(r.Context(), v.Partner.ID, f.Fields[0].Value)
	if err == nil {
		_, err = h.Inviter.Invite(r.Context(), v.Actor(), v.Partner.ID, f.Fields[0].Value, partner.Role(f.Fields[1].Value))
	}
	if refused := fault.Of(err); refused != nil && refused.Kind != fault.Missing {
		f.Refuse(err)
		if refused.After > 0 {
			ui.RetryAfter(w.Header(), refused.After)
		}
		return h.showTeam(w, r, v, wire.Status(refused.Kind), f)
	}
	if err != nil {
		return missing(err)
	}
	return h.done(w, r, v, teamPath, "An invitation is on its way to "+f.Fields[0].Value+". It works for seven days; an earlier one to this address has ended.")
}

// notMember refuses the address of somebody who is in the team already.
func (h *Handler) notMember(ctx context.Context, partnerID int64, email string) error {
	members, err := h.Partners.Members(ctx, partnerID)
	if err != nil {
		return err
	}
	people, err := h.people(ctx, members)
	if err != nil {
		return err
	}
	for _, u := range people {
		if (partner.Invitation{Email: email}).IsFor(u.Email) {
			return fault.New(fault.Conflict, codeIsMember, "This person is in the team already. Change the role in the list instead.").On("email")
		}
	}
	return nil
}

// withdrawView asks for the end of an invitation.
func (h *Handler) withdrawView(r *http.Request, v *Visit) (confirmView, partner.Invitation, error) {
	n, err := h.Inviter.Get(r.Context(), v.Partner.ID, id(r, "invitation"))
	if err != nil {
		return confirmView{}, n, missing(err)
	}
	return confirmView{
		Heading: "Withdraw the invitation",
		Says:    []string{fmt.Sprintf("The link that was mailed to %s stops working at once. You can invite them again later.", n.Email)},
		Action:  v.Path(teamPath+"/invitations/%d/withdraw", n.ID), Button: ui.Button{Label: "Withdraw it", Busy: "Withdrawing…", Kind: "danger"},
		Cancel: v.Path(teamPath),
	}, n, nil
}

func (h *Handler) askWithdraw(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := h.withdrawView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

func (h *Handler) withdraw(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, n, err := h.withdrawView(r, v)
	if err != nil {
		return err
	}
	if err := h.Inviter.Withdraw(r.Context(), v.Actor(), v.Partner.ID, n.ID); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	return h.done(w, r, v, teamPath, "The invitation of "+n.Email+" is withdrawn.")
}
