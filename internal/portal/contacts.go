package portal

import (
	"net/http"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const contactsPath = "/contacts"

// contactPages makes the pages about the people whom we write to.
func (h *Handler) contactPages(v *Visit) area.ContactPages {
	return area.ContactPages{
		URL: v.Path(contactsPath), Call: h.call, API: "/v2/profile/contact", Whose: "your", May: v.Covers(partner.Admin), Checking: "you",
	}
}

func (h *Handler) contacts(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showContacts(w, r, v, http.StatusOK, area.ContactForm("", ""))
}

func (h *Handler) showContacts(w http.ResponseWriter, r *http.Request, v *Visit, status int, f ui.Form) error {
	_, list, err := h.Profiles.Get(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	return h.render(w, r, v, area.PageContacts, ui.View{Title: "Contacts", Status: status, Data: h.contactPages(v).List(list, f)})
}

func (h *Handler) addContact(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	f := area.ContactForm(ui.FormText(r, "name"), ui.FormText(r, "email"))
	c, err := h.Profiles.AddContact(r.Context(), v.Actor(), v.Partner.ID, f.Fields[0].Value, f.Fields[1].Value)
	if err != nil && f.Refuse(err) {
		return h.showContacts(w, r, v, wire.Status(fault.Of(err).Kind), f)
	}
	if err != nil {
		return err
	}
	return h.done(w, r, v, contactsPath, area.ContactAdded(c))
}

// contact is the contact of the path.
func (h *Handler) contact(r *http.Request, v *Visit) (profile.Contact, error) {
	c, err := h.Profiles.Contact(r.Context(), h.Profiles.DB, v.Partner.ID, id(r, "contact"))
	return c, missing(err)
}

func (h *Handler) askTestMail(w http.ResponseWriter, r *http.Request, v *Visit) error {
	c, err := h.contact(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, h.contactPages(v).Test(c))
}

func (h *Handler) sendTestMail(w http.ResponseWriter, r *http.Request, v *Visit) error {
	c, err := h.contact(r, v)
	if err != nil {
		return err
	}
	if _, err := h.TestMail.Send(r.Context(), v.Actor(), v.Partner.ID, c.ID); err != nil {
		return h.refuse(w, r, v, h.contactPages(v).Test(c), err)
	}
	return h.done(w, r, v, contactsPath, area.ContactTested(c))
}

func (h *Handler) askRemoveContact(w http.ResponseWriter, r *http.Request, v *Visit) error {
	c, err := h.contact(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, h.contactPages(v).Remove(c))
}

func (h *Handler) removeContact(w http.ResponseWriter, r *http.Request, v *Visit) error {
	c, err := h.contact(r, v)
	if err != nil {
		return err
	}
	if err := h.Profiles.DeleteContact(r.Context(), v.Actor(), v.Partner.ID, c.ID); err != nil {
		return h.refuse(w, r, v, h.contactPages(v).Remove(c), err)
	}
	return h.done(w, r, v, contactsPath, area.ContactRemoved(c))
}
