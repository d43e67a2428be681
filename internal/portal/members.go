package portal

import (
	"cmp"
	"context"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// member returns the member of the path and a name for them.
func (h *Handler) member(r *http.Request, v *Visit) (partner.Member, string, error) {
	m, err := h.Partners.Member(r.Context(), v.Partner.ID, id(r, "member"))
	if err != nil {
		return m, "", missing(err)
	}
	people, err := h.membersAccounts(r.Context(), []partner.Member{m})
	u := people[m.UserID]
	return m, cmp.Or(u.Name, u.Email, "this person"), err
}

// changeRole changes the role of the member of the path.
func (h *Handler) changeRole(r *http.Request, v *Visit) (area.Action, error) {
	m, name, err := h.member(r, v)
	if err != nil {
		return area.Action{}, err
	}
	do := func(ctx context.Context, role string) error {
		was := partner.Role(ui.FormText(r, "was"))
		_, err := h.Partners.ChangeRole(ctx, v.Actor(), v.Partner.ID, m.UserID, was, partner.Role(role))
		return err
	}
	act := h.TeamActs(v).ChangeRole(r, name, string(m.Role), string(partner.Admin), do)
	act.Ask.Hidden = []ui.Param{{Name: "was", Value: m.Role}}
	return act, nil
}

// removeMember removes the member of the path.
func (h *Handler) removeMember(r *http.Request, v *Visit) (area.Action, error) {
	m, name, err := h.member(r, v)
	if err != nil {
		return area.Action{}, err
	}
	says := []string{
		name + " can no longer open any page of this portal, from the next request on; pages that are open stop " +
			"following what happens.",
		"Invitations that they sent and nobody has accepted end. What they did stays in the audit. Secrets that " +
			"they may have copied go on working: rotate those.",
	}
	act := h.TeamActs(v).Remove(name, says, func(ctx context.Context) error {
		return h.Partners.RemoveMember(ctx, v.Actor(), v.Partner.ID, m.UserID)
	})
	return act.OrLeave(m.UserID == v.User.ID), nil
}

// leave removes the visitor from the team.
func (h *Handler) leave(r *http.Request, v *Visit) (area.Action, error) {
	return h.TeamActs(v).Leave(r, func(ctx context.Context) error {
		return h.Partners.RemoveMember(ctx, v.Actor(), v.Partner.ID, v.User.ID)
	}), nil
}

// withdraw withdraws the invitation of the path.
func (h *Handler) withdraw(r *http.Request, v *Visit) (area.Action, error) {
	n, err := h.Inviter.Get(r.Context(), v.Partner.ID, id(r, "invitation"))
	return h.TeamActs(v).Withdraw(n.Email, func(ctx context.Context) error {
		return h.Inviter.Withdraw(ctx, v.Actor(), v.Partner.ID, n.ID)
	}), missing(err)
}
