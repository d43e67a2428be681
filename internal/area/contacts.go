package area

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/outage"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// contactsView lists the contacts of a partner.
type contactsView struct {
	Heading string
	Tabs    *ui.Tabs
	Whose   string
	Table   ui.Table
	Form    ui.Form
	May     bool
	After   string // when they get an email
	Max     int
	AddURL  string
	Add     ui.Curl
}

// Contacts returns the rows of a partner's contacts.
func (p *PartnerPages) Contacts() []Route {
	s := p.subject("/contacts")
	s.add(Page, "", func(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
		return p.showContacts(w, r, v, http.StatusOK, contactForm("", ""))
	})
	s.add(Act, "", p.addContact)
	s.addAction("/{contact}/test", p.testContact)
	s.addAction("/{contact}/remove", p.removeContact)
	return s.rows
}

// contactForm returns the form for a new contact.
func contactForm(name, email string) ui.Form {
	return ui.Form{Fields: []ui.Field{
		{Name: "name", Label: "Name", Value: name, Required: true, Autocomplete: "off"},
		{Name: "email", Label: "Email address", Type: "email", Value: email, Required: true, Autocomplete: "off"},
	}}
}

// contactsAPI returns the path of the contacts in the API.
func (v *PartnerVisit) contactsAPI() string { return v.either("/profile/contact", "/contacts") }

func (p *PartnerPages) showContacts(
	w http.ResponseWriter, r *http.Request, v *PartnerVisit, status int, f ui.Form,
) error {
	_, list, err := p.Profiles.Get(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	view := contactsView{
		Heading: v.heading("Contacts"), Tabs: v.tabs(), Whose: v.Whose(),
		Table: ui.Table{
			ID:      "contacts",
			Caption: "Contacts",
			Columns: []ui.Column{{Label: "Name"}, {Label: "Email address"}, {Label: "Added"}},
		},
		Form: f, May: v.may, After: Span(outage.After), Max: profile.MaxContacts, AddURL: v.url,
		Add: v.call("Add a contact by API", http.MethodPost, v.contactsAPI()),
	}
	if v.Own {
		view.Add.Form = []ui.Param{{Name: "name", Value: "Ada Lovelace"}, {Name: "email", Value: "ada@example.com"}}
	} else {
		view.Add.JSON = `{"name": "Ada Lovelace", "email": "ada@example.com"}`
	}
	for _, c := range list {
		name := ui.Cell{Text: c.Name}
		if v.may {
			name.Acts = ui.Links(
				ui.RowLink{Label: "Send a test mail", Of: "to " + c.Name, URL: fmt.Sprintf("%s/%d/test", v.url, c.ID)},
				ui.RowLink{Label: "Remove", Of: c.Name, URL: fmt.Sprintf("%s/%d/remove", v.url, c.ID)},
			)
		}
		view.Table.Rows = append(view.Table.Rows, ui.Row{
			ID: fmt.Sprintf("contact-%d", c.ID), Cells: []ui.Cell{name, {Text: c.Email}, {At: c.CreatedAt}},
		})
	}
	return v.render(w, r, "contacts", ui.View{Title: view.Heading, Status: status, Data: view})
}

func (p *PartnerPages) addContact(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	f := contactForm(ui.FormText(r, "name"), ui.FormText(r, "email"))
	c, err := p.Profiles.AddContact(r.Context(), v.Actor(), v.Partner.ID, f.Fields[0].Value, f.Fields[1].Value)
	if err != nil && f.Refuse(err) {
		return p.showContacts(w, r, v, wire.Status(fault.Of(err).Kind), f)
	}
	if err != nil {
		return err
	}
	return v.done(w, r, c.Name+" is a contact now. Send a test mail to see whether mail arrives.")
}

// contact returns the contact of the path.
func (p *PartnerPages) contact(r *http.Request, v *PartnerVisit) (profile.Contact, error) {
	c, err := p.Profiles.Contact(r.Context(), p.Profiles.DB, v.Partner.ID, ID(r, "contact"))
	return c, Missing(err)
}

// testContact sends a contact a test email.
func (p *PartnerPages) testContact(r *http.Request, v *PartnerVisit) (Action, error) {
	c, err := p.contact(r, v)
	call := v.call("The same by API", http.MethodPost, fmt.Sprintf("%s/%d/test", v.contactsAPI(), c.ID))
	return Action{
		Ask: ui.Confirm{
			Heading: "Send " + c.Name + " a test mail",
			Says: []string{
				"A mail that says that it is a test goes to " + c.Email + ".",
				fmt.Sprintf(
					"It counts as one of the %d checks, scenarios and tests that %s may make in %s.",
					profile.MaxChecks, v.either("you", "the partner"), Span(profile.CheckWindow),
				),
			},
			Button: ui.Button{Label: "Send it", Busy: "Sending…"}, Cancel: v.url, Call: &call,
		},
		Do: func(ctx context.Context) (string, error) {
			_, err := p.TestMail.Send(ctx, v.Actor(), v.Partner.ID, c.ID)
			return "A test mail is on its way to " + c.Email + ". If it does not arrive within a few minutes, look " +
				"into the folder for unwanted mail.", err
		},
	}, err
}

// removeContact removes a contact.
func (p *PartnerPages) removeContact(r *http.Request, v *PartnerVisit) (Action, error) {
	c, err := p.contact(r, v)
	call := v.call("The same by API", http.MethodDelete, fmt.Sprintf("%s/%d", v.contactsAPI(), c.ID))
	return Action{
		Ask: ui.Confirm{
			Heading: "Remove " + c.Name + " from the contacts",
			Says: []string{
				"From now on nothing is mailed to " + c.Email + " when webhooks to " + v.Whose() + " application fail.",
			},
			Button: ui.Button{Label: "Remove", Busy: "Removing…", Kind: "danger"}, Cancel: v.url, Call: &call,
		},
		Do: func(ctx context.Context) (string, error) {
			err := p.Profiles.DeleteContact(ctx, v.Actor(), v.Partner.ID, c.ID)
			return c.Name + " is no contact any more.", err
		},
	}, err
}
