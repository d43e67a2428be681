package console

import (
	"context"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
)

const newPartnerPath = partnersPath + "/new"

var onOff = []ui.Option{{Value: "false", Label: "Off"}, {Value: "true", Label: "On"}}

// newPartner adds a partner. Only the answer to the form contains its credentials.
func (p *Partners) newPartner(r *http.Request, v *Visit) (area.Action, error) {
	call := p.call("The same by API", http.MethodPost, "/operator/v1/partners")
	call.JSON = area.JSON(map[string]string{"name": "Tide Planner", "external_id": "vendor-17"})
	view := ui.Confirm{
		Heading: "Add a partner",
		Says: []string{
			"Its client id, client secret, API key and webhook secret are shown once, in the answer to this form. " +
				"URLs, plans and contacts are added on its page.",
		},
		Form:   ui.Form{Fields: newPartnerFields()},
		Hidden: []ui.Param{area.Nonce()}, Button: ui.Button{Label: "Add the partner", Busy: "Adding…"},
		Cancel: v.Path(partnersPath), Call: &call,
	}
	return area.Action{Ask: view, Make: func(ctx context.Context) (ui.Secrets, error) {
		shown := ui.Secrets{Heading: "The new partner"}
		once, err := p.area.Once(r, v)
		if err != nil {
			return shown, err
		}
		made, err := p.Profiles.EnrolOnce(ctx, v.Actor(), profile.Enrolment{
			Draft: partner.Draft{
				Name: ui.FormText(r, "name"), Brand: ui.FormText(r, "brand"), ExternalID: ui.FormText(r, "external_id"),
				Strict: ui.FormText(r, "strict") == "true", SingleKey: ui.FormText(r, "single_key") == "true",
			},
			Idempotency: once,
		})
		if shown.Repeated = made.Repeated; err != nil || made.Repeated {
			return shown, err
		}
		return newPartnerSecrets(v, made), nil
	}}, nil
}

// newPartnerFields returns the fields of a new partner.
func newPartnerFields() []ui.Field {
	return []ui.Field{
		{Name: "name", Label: "Name", Required: true, Autocomplete: "off", Hint: "As buyers read it."},
		{
			Name: "brand", Label: "Brand", Autocomplete: "off",
			Hint: "Part of header names, such as X-Brand-Signature: 1 to 40 letters (a to z), digits or hyphens. " +
				"Empty: that of this installation.",
		},
		{
			Name: "external_id", Label: "External id", Autocomplete: "off",
			Hint: "What your own systems call it. No two partners have the same.",
		},
		{
			Name: "strict", Label: "Strict delivery", Type: "select", Options: onOff, Value: "false",
			Hint: "On: a webhook counts as delivered only by 200 and success: true.",
		},
		{
			Name: "single_key", Label: "Single key", Type: "select", Options: onOff, Value: "false",
			Hint: "On: its API key is its webhook secret, too, which is less safe.",
		},
	}
}

// newPartnerSecrets returns the page with the credentials of a new partner.
func newPartnerSecrets(v *Visit, made profile.Enrolled) ui.Secrets {
	one := made.Partner
	shown := ui.Secrets{
		Heading: one.Name + " is added", Back: v.Path("%s", ofPartner(partnerPath, one.ID)),
		Secrets: []ui.Key{
			{Label: "Client id", Value: one.ClientID},
			{Label: "Client secret", Value: made.Credentials.ClientSecret},
			{Label: "API key", Value: made.Credentials.APIKey},
		},
		Says: []string{
			"Hand them to the partner in a way that nobody else reads. We keep no copy that could be shown.",
			"Add its plans, and its first admin by POST /operator/v1/partners/" + ofPartner("{partner}", one.ID) +
				"/members: they set up the rest in their portal.",
		},
	}
	if !one.SingleKey {
		shown.Secrets = append(shown.Secrets, ui.Key{Label: "Webhook secret", Value: made.Credentials.WebhookSecret})
	}
	return shown
}
