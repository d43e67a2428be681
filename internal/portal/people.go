package portal

import (
	"context"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/partner"
)

// knownPeople names actors as far as a partner may know them: members of its team by name, and no
// one of the marketplace. Every page that names an actor uses it. Only this file reads the names of
// accounts, which include operators.
type knownPeople struct {
	members   map[int64]string // names of members
	operators map[int64]bool   // the marketplace's own people
}

// peopleOf looks people up. A sent event is stored with the person only, not with the partner they
// acted for, so their team decides.
func (h *Handler) peopleOf(ctx context.Context, v *Visit, ids []int64) (knownPeople, error) {
	found := knownPeople{members: map[int64]string{}, operators: map[int64]bool{}}
	if len(ids) == 0 {
		return found, nil
	}
	members, err := h.Partners.MembersAmong(ctx, v.Partner.ID, ids)
	if err != nil {
		return found, err
	}
	users, err := h.Site.Accounts.Users(ctx, ids)
	if err != nil {
		return found, err
	}
	for id, u := range users {
		switch {
		case members[id]:
			found.members[id] = u.Called()
		case u.Operator():
			found.operators[id] = true
		}
	}
	return found, nil
}

// who names the actor of an act.
func (p knownPeople) who(by audit.Actor) string {
	switch {
	case by.Kind == audit.ByPartner:
		return "A program with your API key"
	case by.Kind != audit.ByUser, by.SupportVisit != 0, p.operators[by.ID]:
		return marketplace
	case p.members[by.ID] != "":
		return p.members[by.ID]
	}
	return "Somebody who has left" // the team, the marketplace or both
}

// marketplace is the name of all its people and programs.
const marketplace = "The marketplace"

// historyNames returns the names in a partner's history: of actors as members, and of the people
// acted on.
func (h *Handler) historyNames(ctx context.Context, entries []audit.Entry) (map[int64]string, error) {
	return h.Site.Accounts.Names(ctx, audit.People(entries))
}

// origin names the actor, as far as the partner may know.
func origin(e audit.Entry, names map[int64]string) string {
	if e.Actor.SupportVisit != 0 {
		return "The marketplace's support, in this portal"
	}
	switch e.Origin() {
	case audit.FromMember:
		if name := names[e.Member()]; name != "" {
			return name
		}
		return "A former member"
	case audit.FromProgram:
		return "A program with your API key"
	case audit.FromMarketplace:
	}
	return marketplace
}

// membersAccounts returns the accounts of members by id.
func (h *Handler) membersAccounts(ctx context.Context, members []partner.Member) (map[int64]account.User, error) {
	ids := make([]int64, len(members))
	for i, m := range members {
		ids[i] = m.UserID
	}
	return h.Site.Accounts.Users(ctx, ids)
}
