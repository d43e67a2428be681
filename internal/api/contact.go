package api

import (
	"net/http"

	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/wire"
)

// contactAnswer is a contact on the wire (specification 2.6).
type contactAnswer struct {
	ContactID int64     `json:"contact_id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt wire.Time `json:"created_at"`
	UpdatedAt wire.Time `json:"updated_at"`
}

func contactOf(c profile.Contact) contactAnswer {
	return contactAnswer{
		ContactID: c.ID,
		Name:      c.Name,
		Email:     c.Email,
		CreatedAt: wire.Time(c.CreatedAt),
		UpdatedAt: wire.Time(c.UpdatedAt),
	}
}

func (a *API) addContact(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var in struct {
		Email string `json:"email"`
		Name  string `json:"name"`
	}
	if err := decode(w, r, &in, nil); err != nil {
		return err
	}
	c, err := a.Profiles.AddContact(r.Context(), actor(p), p.ID, in.Name, in.Email)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusCreated, contactOf(c))
}

func (a *API) deleteContact(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	id, _ := wire.PathID(r, "contact_id") // 0 if not a number; no contact has it
	if err := a.Profiles.DeleteContact(r.Context(), actor(p), p.ID, id); err != nil {
		return err
	}
	return wire.Text(w, http.StatusOK, "Contact deleted")
}

// testContact sends a contact a test email.
func (a *API) testContact(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	id, _ := wire.PathID(r, "contact_id")
	c, err := a.TestMail.Send(r.Context(), actor(p), p.ID, id)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, contactOf(c))
}
