package console

import (
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const (
	contactsPath = partnerPath + "/contacts"
	contactPath  = contactsPath + "/{contact}"
)

// contactPages makes the pages about the people whom we write to.
func (p *Partners) contactPages(v *Visit, one partner.Partner) area.ContactPages {
	return area.ContactPages{
		URL: v.Path("%s", ofPartner(contactsPath, one.ID)), Call: p.call, API: fmt.Sprintf("/operator/v1/partners/%d/contacts", one.ID), JSON: true,
		Whose: "the partner's", May: v.May(account.Admin), Checking: "the partner",
	}
}

func (p *Partners) contacts(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return p.showContacts(w, r, v, http.StatusOK, area.ContactForm("", ""))
}

func (p *Partners) showContacts(w http.ResponseWriter, r *http.Request, v *Visit, status int, f ui.Form) error {
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	_, list, err := p.Profiles.Get(r.Context(), one.ID)
	if err != nil {
		return err
	}
	view := p.contactPages(v, one).List(list, f)
	tabs := p.tabs(v, one, contactsPath)
	view.Heading, view.Tabs = "Contacts of "+one.Name, &tabs
	return p.render(w, r, v, area.PageContacts, ui.View{Title: view.Heading, Status: status, Data: view})
}

func (p *Partners) addContact(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	f := area.ContactForm(ui.FormText(r, "name"), ui.FormText(r, "email"))
	c, err := p.Profiles.AddContact(r.Context(), v.Actor(), one.ID, f.Fields[0].Value, f.Fields[1].Value)
	if err != nil && f.Refuse(err) {
		return p.showContacts(w, r, v, wire.Status(fault.Of(err).Kind), f)
	}
	if err != nil {
		return err
	}
	return p.area.Done(w, r, v, ofPartner(contactsPath, one.ID), area.ContactAdded(c))
}

// contactAct is an act on a contact: the page that asks for it, what it does, and what is
// said then. An act on a contact that somebody else has removed finds none.
type contactAct struct {
	ask func(area.ContactPages, profile.Contact) ui.Confirm
	do  func(p *Partners, r *http.Request, v *Visit, partnerID, contactID int64) error
	did func(profile.Contact) string
}

var (
	testContact = contactAct{area.ContactPages.Test, func(p *Partners, r *http.Request, v *Visit, partnerID, contactID int64) error {
		_, err := p.TestMail.Send(r.Context(), v.Actor(), partnerID, contactID)
		return err
	}, area.ContactTested}
	removeContact = contactAct{area.ContactPages.Remove, func(p *Partners, r *http.Request, v *Visit, partnerID, contactID int64) error {
		return p.Profiles.DeleteContact(r.Context(), v.Actor(), partnerID, contactID)
	}, area.ContactRemoved}
)

// contact is the contact of the path, with its partner.
func (p *Partners) contact(r *http.Request) (partner.Partner, profile.Contact, error) {
	one, _, err := p.one(r)
	if err != nil {
		return one, profile.Contact{}, err
	}
	c, err := p.Profiles.Contact(r.Context(), p.Profiles.DB, one.ID, area.ID(r, "contact"))
	return one, c, area.Missing(err)
}

// askContact asks for an act on a contact.
func (p *Partners) askContact(act contactAct) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		one, c, err := p.contact(r)
		if err != nil {
			return err
		}
		return p.confirm(w, r, v, http.StatusOK, act.ask(p.contactPages(v, one), c))
	}
}

// onContact does it.
func (p *Partners) onContact(act contactAct) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		one, c, err := p.contact(r)
		if err != nil {
			return err
		}
		if err := act.do(p, r, v, one.ID, c.ID); err != nil {
			return p.refuse(w, r, v, act.ask(p.contactPages(v, one), c), err)
		}
		return p.area.Done(w, r, v, ofPartner(contactsPath, one.ID), act.did(c))
	}
}
