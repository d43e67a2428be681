package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/ui"
)

const (
	endSessionsPath = personPath + "/sessions/end"
	endSessionPath  = personPath + "/sessions/{session}/end"
)

// sessionsView lists the sessions of a person.
type sessionsView struct {
	Why   string // the reason the visitor cannot see them, or ""
	Table ui.Table
	Curl  ui.Curl
}

// sessions lists the sessions of a person for visitors who may end them.
func (p *People) sessions(r *http.Request, v *Visit, u account.User, member bool) (sessionsView, error) {
	switch {
	case !v.May(account.Support):
		return sessionsView{Why: "Needs the role support or admin."}, nil
	case !mayServe(v, u, member):
		return sessionsView{Why: needsAdmin}, nil
	}
	list, err := p.Accounts.SessionsOf(r.Context(), u)
	view := sessionsView{
		Table: ui.Table{
			ID: "sessions", Caption: "Where the person is signed in, the last used first", Cards: true,
			Columns: []ui.Column{
				{Label: "Browser"},
				{Label: "Address"},
				{Label: "Begun", Named: true},
				{Label: "Last used", Named: true},
				{Label: "Do"},
			},
		},
		Curl: p.call("List the sessions by API", http.MethodGet, fmt.Sprintf("/operator/v1/users/%d/sessions", u.ID)),
	}
	for _, s := range list {
		browser := ui.Cell{Text: cmp.Or(s.Browser, "Unknown browser")}
		if s.ID == v.Session {
			browser.Note = "the one that you use now"
		}
		view.Table.Rows = append(view.Table.Rows, ui.Row{ID: "session-" + s.ID, Cells: []ui.Cell{
			browser,
			{Text: dash(s.Client)},
			{At: s.BegunAt},
			{At: s.SeenAt},
			{
				Acts: ui.Links(ui.RowLink{
					Label: "End…",
					Of:    browser.Text + ", session " + s.ID,
					URL:   v.Path(peoplePath+"/%d/sessions/%s/end", u.ID, s.ID),
				}),
			},
		}})
	}
	return view, err
}

// endAllChoice returns the link that ends all sessions.
func endAllChoice(v *Visit, u account.User, member bool) choice {
	c := choice{Label: "End all sessions…", URL: v.Path(peoplePath+"/%d/sessions/end", u.ID)}
	switch {
	case !v.May(account.Support):
		c.Why = "Needs the role support or admin."
	case !mayServe(v, u, member):
		c.Why = needsAdmin
	}
	return c
}

// ending starts an act that ends sessions of the person of the path. It has no seen field: sessions
// that began after its page was shown are to end, too.
func (p *People) ending(r *http.Request, v *Visit) (area.Action, account.User, error) {
	u, err := p.find(r)
	if err != nil {
		return area.Action{}, u, err
	}
	teams, err := p.Partners.Accesses(r.Context(), u.ID, 1)
	act := area.Action{Ask: ui.Confirm{
		Heading: "End all sessions", Cancel: v.Path(peoplePath+"/%d", u.ID),
		Button: ui.Button{Label: "End all of them", Busy: "Ending…", Kind: "danger"},
	}}
	switch {
	case !u.ErasedAt.IsZero():
		act.Refused = fault.New(
			fault.Conflict, account.CodeUserErased,
			"This person was erased, and every session with it. There is nothing to end.",
		)
	case !mayServe(v, u, len(teams) > 0):
		act.Refused = fault.New(
			fault.Forbidden, CodeNeedsAdmin, "This person acts for the marketplace or for a partner, so ending "+
				"sessions needs the role admin. Ask an admin to do it.",
		)
	}
	return act, u, err
}

// endSessions ends all sessions of the person of the path.
func (p *People) endSessions(r *http.Request, v *Visit) (area.Action, error) {
	act, u, err := p.ending(r, v)
	if err != nil || act.Refused != nil {
		return act, err
	}
	call := p.call("The same by API", http.MethodDelete, fmt.Sprintf("/operator/v1/users/%d/sessions", u.ID))
	act.Ask.Call = &call
	act.Ask.Says = []string{
		personName(u) + " is signed out in every browser at once, and sign-in links that wait stop working.",
		"Password and second factors stay: the person can sign in again. That you did it is in the audit.",
	}
	if u.ID == v.User.ID {
		act.Ask.Says = append(act.Ask.Says, "This is you: you have to sign in again, too.")
	}
	act.Do = func(ctx context.Context) (string, error) {
		_, err := p.Accounts.SignOutEverywhere(ctx, v.Actor(), u.ID)
		return "The person is signed out everywhere.", err
	}
	return act, nil
}

// endSession ends the session of the path.
func (p *People) endSession(r *http.Request, v *Visit) (area.Action, error) {
	act, u, err := p.ending(r, v)
	if err != nil || act.Refused != nil {
		return act, err
	}
	list, err := p.Accounts.SessionsOf(r.Context(), u)
	if err != nil {
		return act, err
	}
	i := slices.IndexFunc(list, func(s account.SignedSession) bool { return s.ID == r.PathValue("session") })
	if i < 0 {
		return act, area.NotFound()
	}
	s := list[i]
	call := p.call("The same by API", http.MethodDelete, fmt.Sprintf("/operator/v1/users/%d/sessions/%s", u.ID, s.ID))
	act.Ask.Heading = "End this session"
	act.Ask.Call = &call
	act.Ask.Button.Label = "End it"
	act.Ask.Says = []string{
		fmt.Sprintf(
			"%s is signed out at once in %s, last used from %s.",
			personName(u), cmp.Or(s.Browser, "an unknown browser"), cmp.Or(s.Client, "an unknown address"),
		),
		"Other sessions go on, and the person can sign in again. That you did it is in the audit.",
	}
	if s.ID == v.Session {
		act.Ask.Says = append(act.Ask.Says, "It is the session that you use now: you have to sign in again.")
	}
	act.Do = func(ctx context.Context) (string, error) {
		return "The session has ended.", p.Accounts.EndSession(ctx, v.Actor(), u, s.ID)
	}
	return act, nil
}
