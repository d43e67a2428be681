package portal

import (
	"fmt"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const contactsPath = "/contacts"

// contactsView lists the people whom we write to.
type contactsView struct {
	Table  ui.Table
	Form   ui.Form
	May    bool
	After  string // when they are written to
	Max    int
	AddURL string
	Add    ui.Curl
}

func (h *Handler) contacts(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showContacts(w, r, v, http.StatusOK, contactForm("", ""))
}

func contactForm(name, email string) ui.Form {
	return ui.Form{Fields: []ui.Field{
		{Name: "name", Label: "Name", Value: name, Required: true, Autocomplete: "off"},
		{Name: "email", Label: "Email address", Type: "email", Value: email, Required: true, Autocomplete: "off"},
	}}
}

func (h *Handler) showContacts(w http.ResponseWriter, r *http.Request, v *Visit, status int, f ui.Form) error {
	_, list, err := h.Profiles.Get(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	view := contactsView{
		Table: ui.Table{ID: "contacts", Caption: "Contacts", Columns: []ui.Column{{Label: "Name"}, {Label: "Email address"}, {Label: "Added"}}},
		Form:  f, May: v.Covers(partner.Admin), After: span(outage.After), Max: profile.MaxContacts, AddURL: v.Path(contactsPath),
		Add: h.call("Add a contact by API", http.MethodPost, "/v2/profile/contact"),
	}
	view.Add.Form = []ui.Param{{Name: "name", Value: "Ada Lovelace"}, {Name: "email", Value: "ada@example.com"}}
	for _, c := range list {
		name := ui.Cell{Text: c.Name}
		if view.May {
			name.Links = []ui.RowLink{
				{Label: "Send a test mail", Of: "to " + c.Name, URL: v.Path(contactsPath+"/%d/test", c.ID)},
				{Label: "Remove", Of: c.Name, URL: v.Path(contactsPath+"/%d/remove", c.ID)},
			}
		}
		view.Table.Rows = append(view.Table.Rows, ui.Row{
			ID: fmt.Sprintf("contact-%d", c.ID), Cells: []ui.Cell{name, {Text: c.Email}, {At: c.CreatedAt}},
		})
	}
	return h.render(w, r, v, "contacts", ui.View{Title: "Contacts", Status: status, Data: view})
}

func (h *Handler) addContact(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	f := contactForm(ui.FormText(r, "name"), ui.FormText(r, "email"))
	c, err := h.Profiles.AddContact(r.Context(), v.Actor(), v.Partner.ID, f.Fields[0].Value, f.Fields[1].Value)
	if err != nil && f.Refuse(err) {
		return h.showContacts(w, r, v, wire.Status(fault.Of(err).Kind), f)
	}
	if err != nil {
		return err
	}
	return h.done(w, r, v, contactsPath, c.Name+" is a contact now. Send a test mail to see whether mail arrives.")
}

// contactView is a page that asks for an act on the contact of the path.
func (h *Handler) contactView(r *http.Request, v *Visit, act string, view confirmView) (confirmView, profile.Contact, error) {
	c, err := h.Profiles.Contact(r.Context(), h.Profiles.DB, v.Partner.ID, id(r, "contact"))
	if err != nil {
		return confirmView{}, c, missing(err)
	}
	view.Heading = fmt.Sprintf(view.Heading, c.Name)
	view.Says = append([]string{fmt.Sprintf(view.Says[0], c.Email)}, view.Says[1:]...)
	view.Action, view.Cancel = v.Path(contactsPath+"/%d/"+act, c.ID), v.Path(contactsPath)
	call := h.call("The same by API", view.Call.Method, fmt.Sprintf(view.Call.URL, c.ID))
	view.Call = &call
	return view, c, nil
}

func (h *Handler) testMailView(r *http.Request, v *Visit) (confirmView, profile.Contact, error) {
	return h.contactView(r, v, "test", confirmView{
		Heading: "Send %s a test mail",
		Says: []string{
			"A mail that says that it is a test goes to %s.",
			fmt.Sprintf("It counts as one of the %s, scenarios and tests that you may make in %s.", plural.Of(profile.MaxChecks, "check"), span(profile.CheckWindow)),
		},
		Button: ui.Button{Label: "Send it", Busy: "Sending…"},
		Call:   &ui.Curl{Method: http.MethodPost, URL: "/v2/profile/contact/%d/test"},
	})
}

func (h *Handler) askTestMail(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := h.testMailView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

func (h *Handler) sendTestMail(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, c, err := h.testMailView(r, v)
	if err != nil {
		return err
	}
	if _, err := h.TestMail.Send(r.Context(), v.Actor(), v.Partner.ID, c.ID); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	return h.done(w, r, v, contactsPath, "A test mail is on its way to "+c.Email+". If it does not arrive within a few minutes, look into the folder for unwanted mail.")
}

func (h *Handler) removeContactView(r *http.Request, v *Visit) (confirmView, profile.Contact, error) {
	return h.contactView(r, v, "remove", confirmView{
		Heading: "Remove %s from the contacts",
		Says:    []string{"From now on nothing is mailed to %s when webhooks to your application fail."},
		Button:  ui.Button{Label: "Remove", Busy: "Removing…", Kind: "danger"},
		Call:    &ui.Curl{Method: http.MethodDelete, URL: "/v2/profile/contact/%d"},
	})
}

func (h *Handler) askRemoveContact(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := h.removeContactView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

func (h *Handler) removeContact(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, c, err := h.removeContactView(r, v)
	if err != nil {
		return err
	}
	if err := h.Profiles.DeleteContact(r.Context(), v.Actor(), v.Partner.ID, c.ID); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	return h.done(w, r, v, contactsPath, c.Name+" is no contact any more.")
}
