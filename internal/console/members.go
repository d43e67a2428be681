package console

import (
	"cmp"
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/ui"
)

// operator returns the operator of the path and what to call them.
func (t *Team) operator(r *http.Request) (account.User, string, error) {
	u, err := t.Accounts.Operator(r.Context(), area.ID(r, "operator"))
	return u, cmp.Or(u.Name, u.Email, "this person"), area.Missing(err)
}

// seenRole is what a page about an operator shows of them.
func seenRole(u account.User) area.Seen {
	return area.Seen{Version: string(u.Role), Facts: []area.Fact{{Name: "The role", Value: string(u.Role)}}}
}

// roleView asks for another role of an operator.
func (t *Team) roleView(r *http.Request, v *Visit) (ui.Confirm, account.User, string, error) {
	u, name, err := t.operator(r)
	if err != nil {
		return ui.Confirm{}, u, "", err
	}
	view := ui.Confirm{
		Heading: "Change the role of " + name,
		Form:    ui.Form{Fields: []ui.Field{area.RoleField(string(u.Role), roleNames())}},
		Says:    []string{fmt.Sprintf("%s has the role %s. Another one holds from the next page that they open.", name, u.Role)},
		Action:  v.Path(teamPath+"/members/%d/role", u.ID), Hidden: []ui.Param{seenRole(u).Param()},
		Button: ui.Button{Label: "Change the role", Busy: "Changing…"}, Cancel: v.Path(teamPath),
	}
	for _, role := range account.Roles {
		view.Says = append(view.Says, role.Sentence())
	}
	if u.Role == account.RoleAdmin {
		view.Says = append(view.Says, "Who is no longer an admin also loses the invitations that they sent and nobody has accepted.")
	}
	return view, u, name, nil
}

func (t *Team) askRole(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := t.roleView(r, v)
	if err != nil {
		return err
	}
	return t.confirm(w, r, v, http.StatusOK, view)
}

func (t *Team) changeRole(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, u, name, err := t.roleView(r, v)
	if err != nil {
		return err
	}
	role := account.Role(ui.FormText(r, "role"))
	if err := seenRole(u).Unchanged(r); err != nil {
		return t.refuse(w, r, v, view, err)
	}
	if _, err := t.Accounts.ChangeRole(r.Context(), v.Actor(), u.ID, u.Role, role); err != nil {
		return t.refuse(w, r, v, view, err)
	}
	return t.area.Done(w, r, v, teamPath, fmt.Sprintf("%s has the role %s now.", name, role))
}

// removeView asks for the end of a membership.
func (t *Team) removeView(r *http.Request, v *Visit) (ui.Confirm, account.User, string, error) {
	u, name, err := t.operator(r)
	if err != nil {
		return ui.Confirm{}, u, "", err
	}
	return ui.Confirm{
		Heading: fmt.Sprintf("Remove %s from the team", name),
		Says: []string{
			name + " can no longer open any page of the console, from the next request on, and pages that are open stop following what happens.",
			"Invitations that they sent and nobody has accepted end. Their account stays, and what they did stays in the audit. Tokens and secrets that they may have copied go on working: revoke or rotate those.",
		},
		Hidden: []ui.Param{seenRole(u).Param()},
		Action: v.Path(teamPath+"/members/%d/remove", u.ID), Button: ui.Button{Label: "Remove from the team", Busy: "Removing…", Kind: "danger"},
		Cancel: v.Path(teamPath),
	}, u, name, nil
}

func (t *Team) askRemove(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := t.removeView(r, v)
	if err != nil {
		return err
	}
	return t.confirm(w, r, v, http.StatusOK, view)
}

func (t *Team) remove(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, u, name, err := t.removeView(r, v)
	if err != nil {
		return err
	}
	if u.ID == v.User.ID {
		ui.SeeOther(w, r, v.Path(leavePath)) // which says what that means
		return nil
	}
	if err := seenRole(u).Unchanged(r); err != nil {
		return t.refuse(w, r, v, view, err)
	}
	if err := t.Accounts.RemoveOperator(r.Context(), v.Actor(), u.ID); err != nil {
		return t.refuse(w, r, v, view, err)
	}
	return t.area.Done(w, r, v, teamPath, name+" is no longer in the team.")
}

// leaveView asks whether the person wants to leave.
func (t *Team) leaveView(v *Visit) ui.Confirm {
	return ui.Confirm{
		Heading: "Leave the team of " + t.marketplace(),
		Says:    []string{"You can no longer open the console, and only an admin can invite you again. Invitations that you sent and nobody has accepted end."},
		Form:    ui.Form{Fields: []ui.Field{{Name: "leave", Label: "I want to leave this team", Type: "checkbox", Required: true}}},
		Action:  v.Path(leavePath), Button: ui.Button{Label: "Leave the team", Busy: "Leaving…", Kind: "danger"}, Cancel: v.Path(teamPath),
	}
}

func (t *Team) askLeave(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return t.confirm(w, r, v, http.StatusOK, t.leaveView(v))
}

func (t *Team) leave(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view := t.leaveView(v)
	if ui.FormText(r, "leave") == "" {
		view.Form = view.WithError("leave", "Tick the box to leave the team. Nothing was changed.")
		return t.confirm(w, r, v, http.StatusUnprocessableEntity, view)
	}
	if err := t.Accounts.RemoveOperator(r.Context(), v.Actor(), v.User.ID); err != nil {
		return t.refuse(w, r, v, view, err)
	}
	t.Site.Sessions.Flash(r.Context(), "You left the team of "+t.marketplace()+".")
	ui.SeeOther(w, r, "/account")
	return nil
}
