package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/profile"
	"claviger/internal/wire"
)

// contactJSON is a contact of a partner, to be emailed when its endpoint fails, on the wire.
type contactJSON struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt wire.Time `json:"created_at"`
	UpdatedAt wire.Time `json:"updated_at"`
}

func contactOf(c profile.Contact) contactJSON {
	return contactJSON{c.ID, c.Name, c.Email, wire.Time(c.CreatedAt), wire.Time(c.UpdatedAt)}
}

// contactRoutes returns the routes of a partner's contacts.
func (o *Operator) contactRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		on(account.Read, "GET", "/partners/{id}/contacts", o.listContacts),
		on(account.Admin, "POST", "/partners/{id}/contacts", o.addContact),
		on(account.Admin, "DELETE", "/partners/{id}/contacts/{contact_id}", o.deleteContact),
		on(account.Admin, "POST", "/partners/{id}/contacts/{contact_id}/test", o.testContact),
	}
}

// listContacts answers with all contacts: there are at most profile.MaxContacts.
func (o *Operator) listContacts(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	_, list, err := o.Profiles.Get(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, contactOf))
}

// contactBody is a new contact.
type contactBody struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

func (o *Operator) addContact(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b contactBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	c, err := o.Profiles.AddContact(r.Context(), actor(t), p.ID, b.Name, b.Email)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusCreated, contactOf(c))
}

// contactID returns the contact's id of the path, or 0, which no contact has.
func contactID(r *http.Request) int64 {
	id, _ := wire.PathID(r, "contact_id")
	return id
}

func (o *Operator) deleteContact(w http.ResponseWriter, r *http.Request, t account.Token) error {
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	if err := o.Profiles.DeleteContact(r.Context(), actor(t), p.ID, contactID(r)); err != nil {
		return err
	}
	return wire.NoContent(w)
}

// testContact sends a contact a test email.
func (o *Operator) testContact(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	c, err := o.TestMail.Send(r.Context(), actor(t), p.ID, contactID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, contactOf(c))
}
