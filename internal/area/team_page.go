package area

import (
	"context"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// TeamSide is the portal or the console, as the page of its team sees it.
type TeamSide interface {
	// TeamActs returns the acts on the team of a visit, with its words.
	TeamActs(v Visit) TeamActs
	// Team returns the members and the open invitations.
	Team(ctx context.Context, v Visit) ([]Member, []Pending, error)
	// Invite mails an invitation. A new link replaces an earlier one to the same address.
	Invite(ctx context.Context, v Visit, email, role string) error
}

// TeamPages serves the page of a team and the form that invites someone.
type TeamPages struct {
	Side TeamSide
	Rule Rule
}

// Routes returns the rows of both.
func (t *TeamPages) Routes() []Route {
	page := func(w http.ResponseWriter, r *http.Request, v Visit) error {
		acts := t.Side.TeamActs(v)
		return t.show(w, r, v, http.StatusOK, acts.inviteForm("", acts.First))
	}
	return []Route{
		{Kind: Page, Path: "/team", Needs: t.Rule(Page, false), Serve: page},
		{Kind: Act, Path: "/team/invite", Needs: t.Rule(Act, true), Serve: t.invite},
	}
}

// show shows the team. After a refusal, status is that of the refusal.
func (t *TeamPages) show(w http.ResponseWriter, r *http.Request, v Visit, status int, f ui.Form) error {
	members, pending, err := t.Side.Team(r.Context(), v)
	if err != nil {
		return err
	}
	acts := t.Side.TeamActs(v)
	may := v.Meets(t.Rule(Act, true))
	a := v.Common().Area
	return a.Render(w, r, v, ui.PageTeam, ui.View{Title: "Team", Status: status, Data: ui.Team{
		Lead: acts.Lead, Foot: acts.Foot, Roles: acts.Roles, Form: f, May: may,
		InviteURL: acts.URL + "/invite", LeaveURL: acts.URL + "/leave",
		Members: memberTable(members, may, v.Path), Invitations: pendingTable(pending, may, a.Now(), v.Path),
	}})
}

// invite mails an invitation to the address of the form.
func (t *TeamPages) invite(w http.ResponseWriter, r *http.Request, v Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	email := ui.FormText(r, "email")
	role := ui.FormText(r, "role")
	err := t.notMember(r.Context(), v, email)
	if err == nil {
		err = t.Side.Invite(r.Context(), v, email, role)
	}
	if refused := fault.Of(err); refused != nil && refused.Kind != fault.Missing {
		f := t.Side.TeamActs(v).inviteForm(email, role)
		f.Refuse(err)
		if refused.After > 0 {
			ui.RetryAfter(w.Header(), refused.After)
		}
		return t.show(w, r, v, wire.Status(refused.Kind), f)
	}
	if err != nil {
		return Missing(err)
	}
	return v.Common().Area.Done(w, r, v, "/team", "An invitation is on its way to "+email+". It works for seven days, "+
		"and only the newest one to an address works.")
}

// notMember refuses the address of someone who is already in the team.
func (t *TeamPages) notMember(ctx context.Context, v Visit, email string) error {
	members, _, err := t.Side.Team(ctx, v)
	if err != nil {
		return err
	}
	for _, m := range members {
		if (invitation.Invitation{Email: email}).IsFor(m.Email) {
			return fault.New(
				fault.Conflict, codeIsMember,
				"This person is in the team already. Change the role in the list instead.",
			).On("email")
		}
	}
	return nil
}
