package portal

import (
	"context"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

const teamPath = "/team"

// TeamActs returns the acts on the team of a partner.
func (h *Handler) TeamActs(v area.Visit) area.TeamActs {
	t := area.TeamActs{
		URL: v.Path(teamPath), Name: v.(*Visit).Partner.Name, Pages: "this portal", First: string(partner.Developer),
		Lead: "The people who act for your application, each by a role.",
		Foot: "Members are made by people alone: an API key of yours cannot add, change or remove one.",
	}
	for _, role := range []partner.Role{partner.Viewer, partner.Developer, partner.Admin} {
		t.Roles = append(t.Roles, ui.RoleWords{Role: string(role), Says: role.Sentence()})
	}
	return t
}

// Team returns the members of a partner and the open invitations.
func (h *Handler) Team(ctx context.Context, visit area.Visit) ([]area.Member, []area.Pending, error) {
	v := visit.(*Visit)
	members, err := h.Partners.Members(ctx, v.Partner.ID)
	if err != nil {
		return nil, nil, err
	}
	people, err := h.membersAccounts(ctx, members)
	if err != nil {
		return nil, nil, err
	}
	list := make([]area.Member, len(members))
	for i, m := range members {
		u := people[m.UserID]
		list[i] = area.Member{
			UserID: m.UserID, Name: u.Name, Email: u.Email, Role: string(m.Role), Since: m.CreatedAt,
			You: m.UserID == v.User.ID,
		}
	}
	invited, err := h.Inviter.List(ctx, v.Partner.ID)
	pending := make([]area.Pending, len(invited))
	for i, n := range invited {
		pending[i] = area.Pending{
			ID: n.ID, Email: n.Email, Role: string(n.Role), CreatedAt: n.CreatedAt, ExpireAt: n.ExpiresAt,
		}
	}
	return list, pending, err
}

// Invite mails an invitation to the team of a partner.
func (h *Handler) Invite(ctx context.Context, v area.Visit, email, role string) error {
	_, err := h.Inviter.Invite(ctx, v.Actor(), v.(*Visit).Partner.ID, email, partner.Role(role))
	return err
}
