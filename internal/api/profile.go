package api

import (
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/wire"
)

// maxBody is how many bytes of a body are read. The longest that makes sense,
// two URLs, has a tenth of it.
const maxBody = 64 << 10

// decode reads a JSON or form body into dst.
func decode(w http.ResponseWriter, r *http.Request, dst any) error {
	_, err := wire.Decoder{Limit: maxBody}.Decode(w, r, dst)
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
}

func answerProfile(w http.ResponseWriter, p profile.Profile, contacts []profile.Contact) error {
	return wire.JSON(w, http.StatusOK, profileAnswer{
		ProfileID:   p.PartnerID,
		WebhookURL:  p.WebhookURL,
		RedirectURL: p.RedirectURL,
		Contacts:    wire.ListOf(contacts, contactOf),
		CreatedAt:   wire.Time(p.CreatedAt),
		UpdatedAt:   wire.Time(p.UpdatedAt),
	})
}

func (a *API) readProfile(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	prof, contacts, err := a.Profiles.Get(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return answerProfile(w, prof, contacts)
}

// updateProfile serves PUT and PATCH: either leaves what is not named as it is.
func (a *API) updateProfile(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
	var in struct {
		WebhookURL  *string `json:"webhook_url"`
		RedirectURL *string `json:"redirect_url"`
	}
	if err := decode(w, r, &in); err != nil {
		return err
	}
	prof, contacts, err := a.Profiles.SetURLs(r.Context(), actor(p), p.ID,
		profile.URLChange{Webhook: in.WebhookURL, Redirect: in.RedirectURL})
	if err != nil {
		return withChecks(err)
	}
	return answerProfile(w, prof, contacts)
}

// checkAnswer is one line of the transcript of a check as it goes over the wire.
type checkAnswer struct {
	URL  string `json:"url"`
	Step string `json:"step"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// withChecks puts the transcript that a failed check carries into its wire form.
func withChecks(err error) error {
	f := fault.Of(err)
	if f == nil {
		return err
	}
	checks, ok := f.Detail.([]profile.Check)
	if !ok {
		return err
	}
	shown := *f
	answers := make([]checkAnswer, len(checks))
	for i, c := range checks {
		answers[i] = checkAnswer(c)
	}
	shown.Detail = answers
	return &shown
}
