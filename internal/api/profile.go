package api

import (
	"net/http"

	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/wire"
)

// maxBody is how many bytes of a body are read. The longest that makes sense,
// three URLs, has a tenth of it.
const maxBody = 64 << 10

// decode reads a JSON or form body into dst. Members of resource, which is what
// GET answers or nil, that cannot be changed are ignored.
func decode(w http.ResponseWriter, r *http.Request, dst, resource any) error {
	_, err := wire.Decoder{Limit: maxBody, ReadOnly: resource}.Decode(w, r, dst)
	return err
}

// profileAnswer is a profile as it goes over the wire (specification 2.6).
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

	Checks []wire.Check `json:"checks,omitempty"` // of the URLs that were just set
}

func profileOf(p profile.Profile, contacts []profile.Contact, checks []profile.Check) profileAnswer {
	return profileAnswer{
		ProfileID:   p.PartnerID,
		WebhookURL:  p.WebhookURL,
		RedirectURL: p.RedirectURL,
		Contacts:    wire.ListOf(contacts, contactOf),
		CreatedAt:   wire.Time(p.CreatedAt),
		UpdatedAt:   wire.Time(p.UpdatedAt),

		InitiateLoginURI: p.InitiateLoginURI,
		IDTokenAlg:       p.IDTokenAlg,
		ErrorMember:      !p.NoErrorMember,

		Checks: wire.Checks(checks),
	}
}

func (a *API) readProfile(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	prof, contacts, err := a.Profiles.Get(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSONTagged(w, r, profileOf(prof, contacts, nil))
}

// updateProfile serves PUT and PATCH: either leaves what is not named as it is.
func (a *API) updateProfile(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var in struct {
		WebhookURL       *string `json:"webhook_url"`
		RedirectURL      *string `json:"redirect_url"`
		InitiateLoginURI *string `json:"initiate_login_uri"`
		IDTokenAlg       *string `json:"id_token_alg"`
		ErrorMember      *bool   `json:"error_member"`
	}
	if err := decode(w, r, &in, profileAnswer{}); err != nil {
		return err
	}
	prof, contacts, checks, err := a.Profiles.SetURLs(r.Context(), actor(p), p.ID, profile.URLChange{
		Webhook: in.WebhookURL, Redirect: in.RedirectURL,
		Connection: profile.NewConnection(in.InitiateLoginURI, in.IDTokenAlg, in.ErrorMember),
	})
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, profileOf(prof, contacts, checks))
}
