package console

import (
	"fmt"
	"net/http"
	"strings"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/ui"
)

// choice is something that a person may do, or why not, for the part "choices", which
// takes a list.
type choice struct {
	Label, URL string
	Why        string // why it is not possible; "": it is
}

// Plain is the label of what is not possible: no page follows.
func (c choice) Plain() string { return strings.TrimSuffix(c.Label, "…") }

// find returns the person of the path.
func (p *People) find(r *http.Request) (account.User, error) {
	u, err := p.Accounts.Get(r.Context(), area.ID(r, "person"))
	return u, area.Missing(err)
}

// personActs are what may be done with a person.
func personActs(v *Visit, u account.User, member bool) []choice {
	if !u.ErasedAt.IsZero() {
		return []choice{{Label: "Nothing", Why: "The person was erased."}}
	}
	link := choice{Label: "Make a sign-in link…", URL: v.Path(peoplePath+"/%d/link", u.ID)}
	switch {
	case !v.May(account.Support):
		link = choice{Label: "Sign-in link", Why: "Needs the role support or admin."}
	case !mayServe(v, u, member):
		link = choice{Label: "Sign-in link", Why: needsAdmin}
	case u.Email == "":
		link = choice{Label: "Sign-in link", Why: "The person has no email address."}
	}
	erase := choice{Label: "Erase…", URL: v.Path(peoplePath+"/%d/erase", u.ID)}
	if !v.May(account.Admin) {
		erase = choice{Label: "Erase", Why: "Needs the role admin."}
	}
	return []choice{link, endAllChoice(v, u, member), erase}
}

// needsAdmin says why support may not do something.
const needsAdmin = "Needs the role admin, because the person acts for the marketplace or a partner."

// mayServe reports whether the visitor may make a link for the person, and see and end
// their sessions: whoever signs in as an operator or a member can do what those can.
func mayServe(v *Visit, u account.User, member bool) bool {
	return v.May(account.Admin) || v.May(account.Support) && u.Role == "" && !member
}

// linkView is the page that asks for a sign-in link.
func (p *People) linkView(r *http.Request, v *Visit) (ui.Confirm, account.User, error) {
	u, err := p.find(r)
	if err != nil {
		return ui.Confirm{}, u, err
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/users/%d/session", u.ID))
	view := ui.Confirm{
		Heading: "Make a sign-in link", Cancel: v.Path(peoplePath+"/%d", u.ID), Action: v.Path(peoplePath+"/%d/link", u.ID),
		Says: []string{
			fmt.Sprintf("The link signs one person in as %s, once. It is shown here and nowhere else.", personName(u)),
			"Give it to nobody but this person. It never replaces a second factor. That you made it is in the audit.",
		},
		Button: ui.Button{Label: "Make the link", Busy: "Making…"}, Hidden: []ui.Param{area.Nonce()}, Call: &call,
	}
	teams, err := p.Partners.Accesses(r.Context(), u.ID, 1)
	switch {
	case err != nil:
		return view, u, err
	case !u.ErasedAt.IsZero():
		err = fault.New(fault.Conflict, account.CodeUserErased, "This person was erased. There is nobody to sign in.")
	case !mayServe(v, u, len(teams) > 0):
		err = fault.New(fault.Forbidden, CodeNeedsAdmin, "This person acts for the marketplace or for a partner, so a link needs the role admin. Ask an admin to make it.")
	}
	if err != nil {
		view.Action, view.Hidden = "", nil
	}
	return view, u, err
}

func (p *People) askLink(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := p.linkView(r, v)
	return p.ask(w, r, v, view, err)
}

func (p *People) makeLink(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, u, err := p.linkView(r, v)
	if err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	link, expires, err := p.Accounts.Link(r.Context(), v.Actor(), u.ID, "")
	if err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	return p.area.ShowSecrets(w, r, v, ui.Secrets{
		Heading: "The sign-in link", Secrets: []ui.Key{{Label: "sign-in link", Value: link}}, Back: view.Cancel,
		Says: []string{
			"Copy it now: it is not shown again. It works once, until " + ui.InSentence(expires) + ".",
			"Give it to " + personName(u) + " and to nobody else.",
		},
	})
}

// eraseView is the page that says what an erasure takes.
func (p *People) eraseView(r *http.Request, v *Visit) (ui.Confirm, area.Seen, account.User, error) {
	u, err := p.find(r)
	if err != nil {
		return ui.Confirm{}, area.Seen{}, u, err
	}
	call := p.call("The same by API", http.MethodDelete, fmt.Sprintf("/operator/v1/users/%d", u.ID))
	view := ui.Confirm{
		Heading: "Erase " + personName(u), Cancel: v.Path(peoplePath+"/%d", u.ID), Action: v.Path(peoplePath+"/%d/erase", u.ID),
		Button: ui.Button{Label: "Erase this person", Busy: "Erasing…", Kind: "danger"}, Call: &call,
		Form: ui.Form{Fields: []ui.Field{{Name: "confirm", Label: "Type ERASE to confirm", Required: true}}},
	}
	e, err := p.Support.PreviewErase(r.Context(), v.Actor(), u.ID)
	if err != nil {
		view.Action, view.Fields = "", nil
		return view, area.Seen{}, u, err
	}
	lost := 0
	for _, l := range e.Licenses {
		if l.Event != 0 {
			lost++
		}
	}
	view.Says = []string{
		"This cannot be undone. What goes: the email address, the name, the external id, the password, every way to sign in and every session.",
		fmt.Sprintf("Licenses of the person: %d. Of these, %d stop working, and their partners are told. Nobody can activate any of them afterwards, unless you transfer it to somebody.", len(e.Licenses), lost),
		fmt.Sprintf("Also removed: places in partners' teams: %d, entries among partners' contacts: %d, mails on record: %d, and the notes of refunds of the person's licenses.", len(e.Teams), e.Contacts, e.Mails),
		"What stays: purchases, events and audit entries, under a number that no longer tells who it was.",
	}
	seen := area.Seen{Version: u.UpdatedAt.UTC().String(), Facts: []area.Fact{
		{Name: "Email address", Value: u.Email},
		{Name: "Licenses", Value: fmt.Sprint(len(e.Licenses))},
		{Name: "Licenses that stop working", Value: fmt.Sprint(lost)},
		{Name: "Places in teams", Value: fmt.Sprint(len(e.Teams))},
	}}
	view.Hidden = []ui.Param{seen.Param()}
	return view, seen, u, nil
}

func (p *People) askErase(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := p.eraseView(r, v)
	return p.ask(w, r, v, view, err)
}

func (p *People) erase(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, seen, u, err := p.eraseView(r, v)
	if err == nil {
		err = seen.Unchanged(r)
	}
	if err == nil && ui.FormText(r, "confirm") != "ERASE" {
		err = fault.Field("confirm", "must be ERASE, in capital letters.")
	}
	if err == nil {
		_, err = p.Licenses.EraseUser(r.Context(), v.Actor(), u.ID)
	}
	if err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	return p.area.Done(w, r, v, fmt.Sprintf(peoplePath+"/%d", u.ID), "The person is erased.")
}
