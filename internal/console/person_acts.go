package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/ui"
)

// choice is a possible act, or the reason it is impossible, for the template "choices".
type choice struct {
	Label, URL string
	Why        string // the reason it is impossible, or ""
}

// Plain returns the label of an impossible act, without the ellipsis that promises a page.
func (c choice) Plain() string { return strings.TrimSuffix(c.Label, "…") }

// find returns the person of the path.
func (p *People) find(r *http.Request) (account.User, error) {
	u, err := p.Accounts.Get(r.Context(), area.ID(r, "person"))
	return u, area.Missing(err)
}

// mayAssist refuses the visitor a sign-in link for the person. An assisted session cannot make
// links: its user may be the person who made the link for it.
func (p *People) mayAssist(r *http.Request, v *Visit, u account.User) error {
	if v.Signed.Assisted {
		return fault.New(
			fault.Forbidden, codeAssisted,
			"You signed in with a link that someone else made for you. Sign in yourself to make one for others.",
		)
	}
	return p.Accounts.MayAssist(r.Context(), v.Actor(), u)
}

// acts returns the acts on a person.
func (p *People) acts(r *http.Request, v *Visit, u account.User, member bool) ([]choice, error) {
	if u.MergedInto != 0 {
		why := fmt.Sprintf("Person %d has everything of this one.", u.MergedInto)
		return []choice{{Label: "Nothing", Why: why}}, nil
	}
	if !u.ErasedAt.IsZero() {
		return []choice{{Label: "Nothing", Why: "The person was erased."}}, nil
	}
	err := p.mayAssist(r, v, u)
	assist := fault.Of(err)
	if err != nil && assist == nil {
		return nil, err
	}
	link := choice{Label: "Make a sign-in link…", URL: v.Path(peoplePath+"/%d/link", u.ID)}
	switch {
	case !v.May(account.Support):
		link = choice{Label: "Sign-in link", Why: "Needs the role support or admin."}
	case assist != nil:
		link = choice{Label: "Sign-in link", Why: assist.Text}
	case u.Email == "":
		link = choice{Label: "Sign-in link", Why: "The person has no email address."}
	}
	erase := choice{Label: "Erase…", URL: v.Path(peoplePath+"/%d/erase", u.ID)}
	if !v.May(account.Admin) {
		erase = choice{Label: "Erase", Why: "Needs the role admin."}
	}
	data := adminChoice(v, u, "Download all data", "data")
	data.Label = data.Plain() // it asks nothing
	return []choice{
		link, endAllChoice(v, u, member), adminChoice(v, u, "Change the email address", "email"),
		adminChoice(v, u, "Merge into another person", "merge"), data, erase,
	}, nil
}

// adminChoice returns an act on a person that only admins may do.
func adminChoice(v *Visit, u account.User, label, page string) choice {
	if !v.May(account.Admin) {
		return choice{Label: label, Why: "Needs the role admin."}
	}
	return choice{Label: label + "…", URL: v.Path(peoplePath+"/%d/"+page, u.ID)}
}

// needsAdmin is the reason shown to support.
const needsAdmin = "Needs the role admin, because the person acts for the marketplace or a partner."

// mayServe reports whether the visitor may see and end the person's sessions.
func mayServe(v *Visit, u account.User, member bool) bool {
	return v.May(account.Admin) || v.May(account.Support) && u.Role == "" && !member
}

// link makes a sign-in link for the person of the path.
func (p *People) link(r *http.Request, v *Visit) (area.Action, error) {
	u, err := p.find(r)
	if err != nil {
		return area.Action{}, err
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/users/%d/session", u.ID))
	view := ui.Confirm{
		Heading: "Make a sign-in link", Cancel: v.Path(peoplePath+"/%d", u.ID),
		Says: []string{
			fmt.Sprintf("The link signs one person in as %s, once. It is shown here and nowhere else.", personName(u)),
			"The session shows the person's account and licenses. It does not confirm the email address, and it " +
				"cannot accept an invitation or change how the person signs in.",
			"Give it to nobody but this person. It never replaces a second factor. That you made it is in the audit.",
		},
		Button: ui.Button{Label: "Make the link", Busy: "Making…"}, Call: &call,
	}
	refused := p.mayAssist(r, v, u)
	if !u.ErasedAt.IsZero() {
		refused = fault.New(
			fault.Conflict, account.CodeUserErased, "This person was erased. There is nobody to sign in.",
		)
	}
	return area.Action{Ask: view, Refused: refused, Make: func(ctx context.Context) (ui.Secrets, error) {
		link, expires, err := p.Accounts.Link(ctx, v.Actor(), u.ID, "")
		return ui.Secrets{
			Heading: "The sign-in link", Secrets: []ui.Key{{Label: "sign-in link", Value: link}},
			Says: []string{
				"Copy it now: it is not shown again. It works once, until " + ui.InSentence(expires) + ".",
				"Give it to " + personName(u) + " and to nobody else.",
			},
		}, err
	}}, nil
}

// data sends all data about the person of the path as a file, for a request of that person.
func (p *People) data(w http.ResponseWriter, r *http.Request, v *Visit) error {
	u, err := p.find(r)
	if err != nil {
		return err
	}
	return p.Data.FileFor(w, r, v.Actor(), u.ID)
}

// erase erases the person of the path. Its page lists the consequences.
func (p *People) erase(r *http.Request, v *Visit) (area.Action, error) {
	u, err := p.find(r)
	if err != nil {
		return area.Action{}, err
	}
	call := p.call("The same by API", http.MethodDelete, fmt.Sprintf("/operator/v1/users/%d", u.ID))
	act := area.Action{Ask: ui.Confirm{
		Heading: "Erase " + personName(u), Cancel: v.Path(peoplePath+"/%d", u.ID),
		Button: ui.Button{Label: "Erase this person", Busy: "Erasing…", Kind: "danger"}, Call: &call,
		Form: ui.Form{Fields: []ui.Field{{Name: "confirm", Label: "Type ERASE to confirm", Required: true}}},
	}}
	e, err := p.Support.PreviewErase(r.Context(), v.Actor(), u.ID)
	if err != nil {
		act.Refused = err
		return act, nil
	}
	lost := 0
	for _, l := range e.Licenses {
		if l.Event != 0 {
			lost++
		}
	}
	act.Ask.Says = []string{
		"This cannot be undone. What goes: the email address, the name, the external id, the password, every way to " +
			"sign in and every session.",
		fmt.Sprintf(
			"Licenses of the person: %d. Of these, %d stop working, and their partners are told. Nobody can activate "+
				"any of them afterwards, unless you transfer it to somebody.", len(e.Licenses), lost,
		),
		fmt.Sprintf(
			"Also removed: places in partners' teams: %d, entries among partners' contacts: %d, mails on record: %d, "+
				"and the notes of refunds of the person's licenses.", len(e.Teams), e.Contacts, e.Mails,
		),
		"What stays: purchases, events and audit entries, under a number that no longer tells who it was.",
	}
	act.Seen = area.Seen{Version: u.UpdatedAt.UTC().String(), Facts: []area.Fact{
		{Name: "Email address", Value: u.Email},
		{Name: "Licenses", Value: fmt.Sprint(len(e.Licenses))},
		{Name: "Licenses that stop working", Value: fmt.Sprint(lost)},
		{Name: "Places in teams", Value: fmt.Sprint(len(e.Teams))},
	}}
	act.Do = func(ctx context.Context) (string, error) {
		if ui.FormText(r, "confirm") != "ERASE" {
			return "", fault.Field("confirm", "must be ERASE, in capital letters.")
		}
		_, err := p.Licenses.EraseUser(ctx, v.Actor(), u.ID)
		return "The person is erased.", err
	}
	return act, nil
}
