package api

import (
	"net/http"

	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/wire"
)

// maxBody is the maximum size of a body. The longest sensible one, three URLs, has a tenth of it.
const maxBody = 64 << 10

// decode reads a JSON or form body into dst. Read-only members of resource, the answer of GET or
// nil, are ignored.
func decode(w http.ResponseWriter, r *http.Request, dst, resource any) error {
	_, err := wire.Decoder{Limit: maxBody, ReadOnly: resource}.Decode(w, r, dst)
	return err
}

// profileAnswer is a profile on the wire (specification 2.6).
type profileAnswer struct {
	ProfileID   int64                        `json:"profile_id"`
	WebhookURL  string                       `json:"webhook_url"`
	RedirectURL string                       `json:"redirect_url"`
	Contacts    wire.Envelope[contactAnswer] `json:"contacts"`
	CreatedAt   wire.Time                    `json:"created_at"`
	UpdatedAt   wire.Time                    `json:"updated_at"`

	InitiateLoginURI string `json:"initiate_login_uri"`
	IDTokenAlg       string `json:"id_token_alg"`
	ErrorMember      bool   `json:"error_member"`

	Brand     string `json:"brand"`
	Strict    bool   `json:"strict"`
	SingleKey bool   `json:"single_key"`

	Checks []wire.Check `json:"checks,omitempty"` // of the URLs just set
}

func profileOf(
	who partner.Partner,
	p profile.Profile,
	contacts []profile.Contact,
	checks []profile.Check,
) profileAnswer {
	updated := p.UpdatedAt
	if who.UpdatedAt.After(updated) { // the brand and strictness belong to the partner
		updated = who.UpdatedAt
	}
	return profileAnswer{
		ProfileID:   p.PartnerID,
		WebhookURL:  p.WebhookURL,
		RedirectURL: p.RedirectURL,
		Contacts:    wire.ListOf(contacts, contactOf),
		CreatedAt:   wire.Time(p.CreatedAt),
		UpdatedAt:   wire.Time(updated),

		InitiateLoginURI: p.InitiateLoginURI,
		IDTokenAlg:       p.IDTokenAlg,
		ErrorMember:      !p.NoErrorMember,

		Brand:     who.Brand,
		Strict:    who.Strict,
		SingleKey: who.SingleKey,

		Checks: wire.Checks(checks),
	}
}

func (a *API) readProfile(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	prof, contacts, err := a.Profiles.Get(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSONTagged(w, r, profileOf(p, prof, contacts, nil))
}

// updateProfile serves PUT and PATCH: both leave missing members unchanged.
func (a *API) updateProfile(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var in struct {
		WebhookURL       *string `json:"webhook_url"`
		RedirectURL      *string `json:"redirect_url"`
		InitiateLoginURI *string `json:"initiate_login_uri"`
		IDTokenAlg       *string `json:"id_token_alg"`
		ErrorMember      *bool   `json:"error_member"`
		Brand            *string `json:"brand"`
		Strict           *bool   `json:"strict"`
	}
	if err := decode(w, r, &in, profileAnswer{}); err != nil {
		return err
	}
	change := partner.Change{Brand: in.Brand, Strict: in.Strict}
	changed, prof, contacts, checks, err := a.Profiles.Update(r.Context(), actor(p), p.ID, change, profile.URLChange{
		Webhook: in.WebhookURL, Redirect: in.RedirectURL,
		Connection: profile.NewConnection(in.InitiateLoginURI, in.IDTokenAlg, in.ErrorMember),
	})
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, profileOf(changed, prof, contacts, checks))
}
