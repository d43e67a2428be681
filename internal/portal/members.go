package portal

import (
	"cmp"
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// member returns the member of the path and what to call them.
func (h *Handler) member(r *http.Request, v *Visit) (partner.Member, string, error) {
	m, err := h.Partners.Member(r.Context(), v.Partner.ID, id(r, "member"))
	if err != nil {
		return m, "", missing(err)
	}
	people, err := h.membersAccounts(r.Context(), []partner.Member{m})
	u := people[m.UserID]
	return m, cmp.Or(u.Name, u.Email, "this person"), err
}

// roleView asks for another role of a member.
func (h *Handler) roleView(r *http.Request, v *Visit) (confirmView, partner.Member, string, error) {
	m, name, err := h.member(r, v)
	if err != nil {
		return confirmView{}, m, "", err
	}
	view := confirmView{
		Heading: "Change the role of " + name,
		Form:    ui.Form{Fields: []ui.Field{area.RoleField(string(m.Role), allRoles)}},
		Says:    []string{fmt.Sprintf("%s has the role %s. Another one holds from the next page that they open.", name, m.Role)},
		Action:  v.Path(teamPath+"/members/%d/role", m.UserID), Hidden: []ui.Param{{Name: "was", Value: m.Role}},
		Button: ui.Button{Label: "Change the role", Busy: "Changing…"}, Cancel: v.Path(teamPath),
	}
	for _, role := range allRoles {
		view.Says = append(view.Says, partner.Role(role).Sentence())
	}
	if m.Role == partner.Admin {
		view.Says = append(view.Says, "Who is no longer an admin also loses the invitations that they sent and nobody has accepted.")
	}
	return view, m, name, nil
}

func (h *Handler) askRole(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := h.roleView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

func (h *Handler) changeRole(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, m, name, err := h.roleView(r, v)
	if err != nil {
		return err
	}
	was, role := partner.Role(ui.FormText(r, "was")), partner.Role(ui.FormText(r, "role"))
	if _, err := h.Partners.ChangeRole(r.Context(), v.Actor(), v.Partner.ID, m.UserID, was, role); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	return h.done(w, r, v, teamPath, fmt.Sprintf("%s has the role %s now.", name, role))
}

// removeMemberView asks for the end of a membership.
func (h *Handler) removeMemberView(r *http.Request, v *Visit) (confirmView, partner.Member, string, error) {
	m, name, err := h.member(r, v)
	if err != nil {
		return confirmView{}, m, "", err
	}
	return confirmView{
		Heading: fmt.Sprintf("Remove %s from the team", name),
		Says: []string{
			name + " can no longer open any page of this portal, from the next request on; pages that are open stop following what happens.",
			"Invitations that they sent and nobody has accepted end. What they did stays in the audit. Secrets that they may have copied go on working: rotate those.",
		},
		Action: v.Path(teamPath+"/members/%d/remove", m.UserID), Button: ui.Button{Label: "Remove from the team", Busy: "Removing…", Kind: "danger"},
		Cancel: v.Path(teamPath),
	}, m, name, nil
}

func (h *Handler) askRemoveMember(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := h.removeMemberView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

func (h *Handler) removeMember(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, m, name, err := h.removeMemberView(r, v)
	if err != nil {
		return err
	}
	if m.UserID == v.User.ID {
		ui.SeeOther(w, r, v.Path(teamPath+"/leave")) // which says what that means
		return nil
	}
	if err := h.Partners.RemoveMember(r.Context(), v.Actor(), v.Partner.ID, m.UserID); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	return h.done(w, r, v, teamPath, name+" is no longer in the team.")
}

// leaveView asks whether the person wants to leave.
func leaveView(v *Visit) confirmView {
	return confirmView{
		Heading: "Leave the team of " + v.Partner.Name,
		Says:    []string{"You can no longer open this portal, and only an admin can invite you again. Invitations that you sent and nobody has accepted end."},
		Form:    ui.Form{Fields: []ui.Field{{Name: "leave", Label: "I want to leave this team", Type: "checkbox", Required: true}}},
		Action:  v.Path(teamPath + "/leave"), Button: ui.Button{Label: "Leave the team", Busy: "Leaving…", Kind: "danger"}, Cancel: v.Path(teamPath),
	}
}

func (h *Handler) askLeave(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.confirm(w, r, v, http.StatusOK, leaveView(v))
}

func (h *Handler) leave(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view := leaveView(v)
	if ui.FormText(r, "leave") == "" {
		view.Form = view.WithError("leave", "Tick the box to leave the team. Nothing was changed.")
		return h.confirm(w, r, v, http.StatusUnprocessableEntity, view)
	}
	if err := h.Partners.RemoveMember(r.Context(), v.Actor(), v.Partner.ID, v.User.ID); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	h.Site.Sessions.Flash(r.Context(), "You left the team of "+v.Partner.Name+".")
	ui.SeeOther(w, r, "/account")
	return nil
}
