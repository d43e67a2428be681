package api

import (
	"net/http"

	"claviger/internal/partner"
	"claviger/internal/wire"
)

// credentialAnswer is a secret of the partner on the wire, without its value.
type credentialAnswer struct {
	CredentialID int64          `json:"credential_id"`
	What         partner.Secret `json:"what"`
	Name         string         `json:"name"`
	Ending       string         `json:"ending"`
	Signs        bool           `json:"signs_webhooks"`
	CreatedAt    wire.Time      `json:"created_at"`
	EndsAt       *wire.Time     `json:"ends_at,omitempty"`
	LastUsedAt   *wire.Time     `json:"last_used_at,omitempty"`
}

func credentialOf(c partner.Credential) credentialAnswer {
	out := credentialAnswer{
		CredentialID: c.ID, What: c.What, Name: c.Name, Ending: c.Tail, Signs: c.Signs,
		CreatedAt: wire.Time(c.CreatedAt),
	}
	if c.Replaced() {
		out.EndsAt = new(wire.Time(c.EndsAt))
	}
	if !c.LastUsedAt.IsZero() {
		out.LastUsedAt = new(wire.Time(c.LastUsedAt))
	}
	return out
}

func (a *API) listCredentials(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	list, err := a.Partners.ListCredentials(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, credentialOf))
}

// revokeCredential ends a secret. A key can end any secret, even itself, but never create one.
func (a *API) revokeCredential(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	id, _ := wire.PathID(r, "credential_id") // 0 if not a number; no credential has it
	if _, err := a.Partners.Revoke(r.Context(), actor(p), p.ID, id); err != nil {
		return err
	}
	return wire.NoContent(w)
}
