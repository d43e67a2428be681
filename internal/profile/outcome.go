package profile

import (
	"time"

	"claviger/internal/idempotency"
	"claviger/internal/partner"
)

// outcome is a created partner, stored for repeats of the request. The names of the members are in
// the database: they never change.
type outcome struct {
	ID                   int64     `json:"id"`
	Name                 string    `json:"name"`
	Brand                string    `json:"brand"`
	Strict               bool      `json:"strict"`
	SingleKey            bool      `json:"single_key"`
	ClientID             string    `json:"client_id"`
	WebhookURL           string    `json:"webhook_url"`
	WebhookURLValidated  bool      `json:"webhook_url_validated"`
	RedirectURL          string    `json:"redirect_url"`
	RedirectURLValidated bool      `json:"redirect_url_validated"`
	InitiateLoginURI     string    `json:"initiate_login_uri"`
	IDTokenAlg           string    `json:"id_token_alg"`
	ErrorMember          bool      `json:"error_member"`
	ExternalID           string    `json:"external_id"`
	CreatedAt            time.Time `json:"created_at"`
}

func outcomeOf(e Enrolled) outcome {
	p := e.Partner
	f := e.Profile
	return outcome{
		ID: p.ID, Name: p.Name, Brand: p.Brand, Strict: p.Strict, SingleKey: p.SingleKey, ClientID: p.ClientID,
		WebhookURL: f.WebhookURL, WebhookURLValidated: !f.WebhookValidAt.IsZero(),
		RedirectURL: f.RedirectURL, RedirectURLValidated: !f.RedirectValidAt.IsZero(),
		InitiateLoginURI: f.InitiateLoginURI, IDTokenAlg: f.IDTokenAlg, ErrorMember: !f.NoErrorMember,
		ExternalID: p.ExternalID, CreatedAt: p.CreatedAt,
	}
}

// enrolled returns the partner in its original state. A checked URL has the time of the creation.
func (o outcome) enrolled() Enrolled {
	if o.ID == 0 {
		return Enrolled{}
	}
	e := Enrolled{
		Repeated: true,
		Partner: partner.Partner{
			ID: o.ID, Name: o.Name, Brand: o.Brand, Strict: o.Strict, SingleKey: o.SingleKey, ClientID: o.ClientID,
			ExternalID: o.ExternalID, CreatedAt: o.CreatedAt, UpdatedAt: o.CreatedAt,
		},
		Profile: Profile{
			PartnerID: o.ID, WebhookURL: o.WebhookURL, RedirectURL: o.RedirectURL, InitiateLoginURI: o.InitiateLoginURI,
			IDTokenAlg: o.IDTokenAlg, NoErrorMember: !o.ErrorMember, CreatedAt: o.CreatedAt, UpdatedAt: o.CreatedAt,
		},
	}
	if o.WebhookURLValidated {
		e.Profile.WebhookValidAt = o.CreatedAt
	}
	if o.RedirectURLValidated {
		e.Profile.RedirectValidAt = o.CreatedAt
	}
	return e
}

// externalRequest identifies the creation of a partner by its external id.
func externalRequest(externalID, content string) idempotency.Request {
	return idempotency.External("partner", externalID, content)
}
