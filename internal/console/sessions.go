package console

import (
	"cmp"
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
				Acts: ui.Links(
					ui.RowLink{
						Label: "End…",
						Of:    browser.Text + ", session " + s.ID,
						URL:   v.Path(peoplePath+"/%d/sessions/%s/end", u.ID, s.ID),
					},
				),
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

// endingView starts the page that ends sessions of the person of the path. Neither page has a seen
// field: sessions that began after it was shown are to end, too.
func (p *People) endingView(r *http.Request, v *Visit) (ui.Confirm, account.User, error) {
	u, err := p.find(r)
	if err != nil {
		return ui.Confirm{}, u, err
	}
	view := ui.Confirm{
		Heading: "End all sessions", Cancel: v.Path(peoplePath+"/%d", u.ID), Action: r.URL.Path,
		Button: ui.Button{Label: "End all of them", Busy: "Ending…", Kind: "danger"},
	}
	teams, err := p.Partners.Accesses(r.Context(), u.ID, 1)
	switch {
	case err != nil:
	case !u.ErasedAt.IsZero():
		err = fault.New(
			fault.Conflict,
			account.CodeUserErased,
			"This person was erased, and every session with it. There is nothing to end.",
		)
	case !mayServe(v, u, len(teams) > 0):
		err = fault.New(
			fault.Forbidden,
			CodeNeedsAdmin,
			"This person acts for the marketplace or for a partner, so ending sessions needs the role admin. Ask an "+
				"admin to do it.",
		)
	}
	if err != nil {
		view.Action = ""
	}
	return view, u, err
}

// endSessionsView builds the page that ends all sessions.
func (p *People) endSessionsView(r *http.Request, v *Visit) (ui.Confirm, account.User, error) {
	view, u, err := p.endingView(r, v)
	if err != nil {
		return view, u, err
	}
	call := p.call("The same by API", http.MethodDelete, fmt.Sprintf("/operator/v1/users/%d/sessions", u.ID))
	view.Call = &call
	view.Says = []string{
		fmt.Sprintf(
			"%s is signed out in every browser at once, and sign-in links that wait stop working.",
			personName(u),
		),
		"Password and second factors stay: the person can sign in again. That you did it is in the audit.",
	}
	if u.ID == v.User.ID {
		view.Says = append(view.Says, "This is you: you have to sign in again, too.")
	}
	return view, u, nil
}

// endSessionView builds the page that ends the session of the path.
func (p *People) endSessionView(r *http.Request, v *Visit) (ui.Confirm, account.User, error) {
	view, u, err := p.endingView(r, v)
	if err != nil {
		return view, u, err
	}
	list, err := p.Accounts.SessionsOf(r.Context(), u)
	if err != nil {
		return view, u, err
	}
	i := slices.IndexFunc(list, func(s account.SignedSession) bool { return s.ID == r.PathValue("session") })
	if i < 0 {
		return view, u, area.NotFound()
	}
	s := list[i]
	call := p.call("The same by API", http.MethodDelete, fmt.Sprintf("/operator/v1/users/%d/sessions/%s", u.ID, s.ID))
	view.Heading = "End this session"
	view.Call = &call
	view.Button.Label = "End it"
	view.Says = []string{
		fmt.Sprintf(
			"%s is signed out at once in %s, last used from %s.",
			personName(u),
			cmp.Or(s.Browser, "an unknown browser"),
			cmp.Or(s.Client, "an unknown address"),
		),
		"Other sessions go on, and the person can sign in again. That you did it is in the audit.",
	}
	if s.ID == v.Session {
		view.Says = append(view.Says, "It is the session that you use now: you have to sign in again.")
	}
	return view, u, nil
}

// endView builds the page that ends the session of the path, or all.
func (p *People) endView(r *http.Request, v *Visit) (ui.Confirm, account.User, error) {
	if r.PathValue("session") == "" {
		return p.endSessionsView(r, v)
	}
	return p.endSessionView(r, v)
}

func (p *People) askEnd(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := p.endView(r, v)
	return p.ask(w, r, v, view, err)
}

func (p *People) end(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, u, err := p.endView(r, v)
	said := "The session has ended."
	switch session := r.PathValue("session"); {
	case err != nil:
	case session == "":
		said = "The person is signed out everywhere."
		_, err = p.Accounts.SignOutEverywhere(r.Context(), v.Actor(), u.ID)
	default:
		err = p.Accounts.EndSession(r.Context(), v.Actor(), u, session)
	}
	if err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	return p.area.Done(w, r, v, fmt.Sprintf(peoplePath+"/%d", u.ID), said)
}
