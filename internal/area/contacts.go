package area

import (
	"fmt"
	"net/http"

	"claviger/internal/outage"
	"claviger/internal/profile"
	"claviger/internal/ui"
)

// PageContacts is the page of a partner's contacts, with a ContactsView.
const PageContacts = "contacts"

// ContactPages makes the pages about the contacts of a partner. It has what the portal and
// the console have of their own.
type ContactPages struct {
	URL      string // of the list; what is done with a contact is below it
	Call     func(what, method, path string, query ...ui.Param) ui.Curl
	API      string // of the contacts
	JSON     bool   // the API takes JSON, not forms
	Whose    string // whose contacts they are, inside a sentence: your, or the partner's
	May      bool   // the person may change them
	Checking string // who is counted when a test mail is sent: you, or the partner
}

// ContactsView lists the people whom we write to.
type ContactsView struct {
	Heading string
	Tabs    *ui.Tabs
	Whose   string
	Table   ui.Table
	Form    ui.Form
	May     bool
	After   string // when they are written to
	Max     int
	AddURL  string
	Add     ui.Curl
}

// ContactForm is the form of a new contact.
func ContactForm(name, email string) ui.Form {
	return ui.Form{Fields: []ui.Field{
		{Name: "name", Label: "Name", Value: name, Required: true, Autocomplete: "off"},
		{Name: "email", Label: "Email address", Type: "email", Value: email, Required: true, Autocomplete: "off"},
	}}
}

// List is the page of the contacts with the form of a new one.
func (p ContactPages) List(list []profile.Contact, f ui.Form) ContactsView {
	view := ContactsView{
		Heading: "Contacts", Whose: p.Whose,
		Table: ui.Table{ID: "contacts", Caption: "Contacts", Columns: []ui.Column{{Label: "Name"}, {Label: "Email address"}, {Label: "Added"}}},
		Form:  f, May: p.May, After: Span(outage.After), Max: profile.MaxContacts, AddURL: p.URL,
		Add: p.Call("Add a contact by API", http.MethodPost, p.API),
	}
	if p.JSON {
		view.Add.JSON = `{"name": "Ada Lovelace", "email": "ada@example.com"}`
	} else {
		view.Add.Form = []ui.Param{{Name: "name", Value: "Ada Lovelace"}, {Name: "email", Value: "ada@example.com"}}
	}
	for _, c := range list {
		name := ui.Cell{Text: c.Name}
		if p.May {
			name.Acts = ui.Links(
				ui.RowLink{Label: "Send a test mail", Of: "to " + c.Name, URL: fmt.Sprintf("%s/%d/test", p.URL, c.ID)},
				ui.RowLink{Label: "Remove", Of: c.Name, URL: fmt.Sprintf("%s/%d/remove", p.URL, c.ID)},
			)
		}
		view.Table.Rows = append(view.Table.Rows, ui.Row{
			ID: fmt.Sprintf("contact-%d", c.ID), Cells: []ui.Cell{name, {Text: c.Email}, {At: c.CreatedAt}},
		})
	}
	return view
}

// Test asks whether a contact is mailed a test.
func (p ContactPages) Test(c profile.Contact) ui.Confirm {
	call := p.Call("The same by API", http.MethodPost, fmt.Sprintf("%s/%d/test", p.API, c.ID))
	return ui.Confirm{
		Heading: "Send " + c.Name + " a test mail",
		Says: []string{
			"A mail that says that it is a test goes to " + c.Email + ".",
			fmt.Sprintf("It counts as one of the %d checks, scenarios and tests that %s may make in %s.", profile.MaxChecks, p.Checking, Span(profile.CheckWindow)),
		},
		Action: fmt.Sprintf("%s/%d/test", p.URL, c.ID), Cancel: p.URL,
		Button: ui.Button{Label: "Send it", Busy: "Sending…"}, Call: &call,
	}
}

// Remove asks whether a contact goes.
func (p ContactPages) Remove(c profile.Contact) ui.Confirm {
	call := p.Call("The same by API", http.MethodDelete, fmt.Sprintf("%s/%d", p.API, c.ID))
	return ui.Confirm{
		Heading: "Remove " + c.Name + " from the contacts",
		Says:    []string{"From now on nothing is mailed to " + c.Email + " when webhooks to " + p.Whose + " application fail."},
		Action:  fmt.Sprintf("%s/%d/remove", p.URL, c.ID), Cancel: p.URL,
		Button: ui.Button{Label: "Remove", Busy: "Removing…", Kind: "danger"}, Call: &call,
	}
}

// ContactAdded says that a contact was added.
func ContactAdded(c profile.Contact) string {
	return c.Name + " is a contact now. Send a test mail to see whether mail arrives."
}

// ContactTested says that a test mail was sent.
func ContactTested(c profile.Contact) string {
	return "A test mail is on its way to " + c.Email + ". If it does not arrive within a few minutes, look into the folder for unwanted mail."
}

// ContactRemoved says that a contact was removed.
func ContactRemoved(c profile.Contact) string { return c.Name + " is no contact any more." }
