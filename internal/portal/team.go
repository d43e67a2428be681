package portal

import (
	"context"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const teamPath = "/team"

// allRoles are the roles, least powerful first.
var allRoles = []string{string(partner.Viewer), string(partner.Developer), string(partner.Admin)}

func (h *Handler) team(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showTeam(w, r, v, http.StatusOK, area.InviteForm("", string(partner.Developer), allRoles))
}

func (h *Handler) showTeam(w http.ResponseWriter, r *http.Request, v *Visit, status int, f ui.Form) error {
	members, err := h.Partners.Members(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	people, err := h.membersAccounts(r.Context(), members)
	if err != nil {
		return err
	}
	invited, err := h.Inviter.List(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	may := v.Covers(partner.Admin)
	view := ui.Team{
		Lead:  "The people who act for your application, each by a role.",
		Foot:  "Members are made by people alone: an API key of yours cannot add, change or remove one.",
		Roles: teamActs(v).Roles, Form: f, May: may, InviteURL: v.Path(teamPath + "/invite"),
		LeaveURL: v.Path(teamPath + "/leave"),
	}
	list := make([]area.Member, len(members))
	for i, m := range members {
		u := people[m.UserID]
		list[i] = area.Member{
			UserID: m.UserID,
			Name:   u.Name,
			Email:  u.Email,
			Role:   string(m.Role),
			Since:  m.CreatedAt,
			You:    m.UserID == v.User.ID,
		}
	}
	pending := make([]area.Pending, len(invited))
	for i, n := range invited {
		pending[i] = area.Pending{
			ID:        n.ID,
			Email:     n.Email,
			Role:      string(n.Role),
			CreatedAt: n.CreatedAt,
			ExpireAt:  n.ExpiresAt,
		}
	}
	view.Members, view.Invitations = area.MemberTable(
		list,
		may,
		v.Path,
	), area.PendingTable(
		pending,
		may,
		h.Now(),
		v.Path,
	)
	return h.render(w, r, v, ui.PageTeam, ui.View{Title: "Team", Status: status, Data: view})
}

// invite emails an invitation. A new link replaces an earlier one to the same address.
func (h *Handler) invite(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	f := area.InviteForm(ui.FormText(r, "email"), ui.FormText(r, "role"), allRoles)
	err := h.notMember(r.Context(), v.Partner.ID, f.Fields[0].Value)
	if err == nil {
		_, err = h.Inviter.Invite(
			r.Context(),
			v.Actor(),
			v.Partner.ID,
			f.Fields[0].Value,
			partner.Role(f.Fields[1].Value),
		)
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
	return h.done(
		w,
		r,
		v,
		teamPath,
		"An invitation is on its way to "+f.Fields[0].Value+". It works for seven days, and only the newest one to "+
			"an address works.",
	)
}

// notMember refuses the address of someone who is already in the team.
func (h *Handler) notMember(ctx context.Context, partnerID int64, email string) error {
	members, err := h.Partners.Members(ctx, partnerID)
	if err != nil {
		return err
	}
	people, err := h.membersAccounts(ctx, members)
	if err != nil {
		return err
	}
	for _, u := range people {
		if (partner.Invitation{Email: email}).IsFor(u.Email) {
			return fault.New(fault.Conflict, codeIsMember, "This person is in the team already. Change the role in "+
				"the list instead.").
				On("email")
		}
	}
	return nil
}
