package console

import (
	"net/http"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
)

const newPartnerPath = partnersPath + "/new"

var onOff = []ui.Option{{Value: "false", Label: "Off"}, {Value: "true", Label: "On"}}

// newPartnerView builds the form for a new partner.
func (p *Partners) newPartnerView(r *http.Request, v *Visit) ui.Confirm {
	call := p.call("The same by API", http.MethodPost, "/operator/v1/partners")
	call.JSON = area.JSON(map[string]string{"name": "Tide Planner", "external_id": "vendor-17"})
	return ui.Confirm{
		Heading: "Add a partner",
		Says: []string{
			"Its client id, client secret, API key and webhook secret are shown once, in the answer to this form. " +
				"URLs, plans and contacts are added on its page.",
		},
		Form: ui.Form{Fields: []ui.Field{
			{
				Name:         "name",
				Label:        "Name",
				Value:        ui.FormText(r, "name"),
				Required:     true,
				Autocomplete: "off",
				Hint:         "As buyers read it.",
			},
			{
				Name:         "brand",
				Label:        "Brand",
				Value:        ui.FormText(r, "brand"),
				Autocomplete: "off",
				Hint: "Part of header names, such as X-Brand-Signature: 1 to 40 letters (a to z), digits or " +
					"hyphens. Empty: that of this installation.",
			},
			{
				Name:         "external_id",
				Label:        "External id",
				Value:        ui.FormText(r, "external_id"),
				Autocomplete: "off",
				Hint:         "What your own systems call it. No two partners have the same.",
			},
			{
				Name:    "strict",
				Label:   "Strict delivery",
				Type:    "select",
				Options: onOff,
				Value:   orFalse(ui.FormText(r, "strict")),
				Hint:    "On: a webhook counts as delivered only by 200 and success: true.",
			},
			{
				Name:    "single_key",
				Label:   "Single key",
				Type:    "select",
				Options: onOff,
				Value:   orFalse(ui.FormText(r, "single_key")),
				Hint:    "On: its API key is its webhook secret, too, which is less safe.",
			},
		}},
		Action: v.Path(newPartnerPath), Hidden: []ui.Param{area.Nonce()},
		Button: ui.Button{Label: "Add the partner", Busy: "Adding…"}, Cancel: v.Path(partnersPath), Call: &call,
	}
}

func orFalse(value string) string {
	if value == "true" {
		return value
	}
	return "false"
}

func (p *Partners) askNew(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return p.area.Confirm(w, r, v, http.StatusOK, p.newPartnerView(r, v))
}

// create creates a partner. Only this response contains its credentials.
func (p *Partners) create(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view := p.newPartnerView(r, v)
	once, err := p.area.Once(r, v)
	if err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	made, err := p.Profiles.EnrolOnce(r.Context(), v.Actor(), profile.Enrolment{
		Draft: partner.Draft{
			Name: view.Fields[0].Value, Brand: view.Fields[1].Value, ExternalID: view.Fields[2].Value,
			Strict: view.Fields[3].Value == "true", SingleKey: view.Fields[4].Value == "true",
		},
		Idempotency: once,
	})
	if err != nil && !area.WasSent(err) {
		return p.area.Refuse(w, r, v, view, err)
	}
	shown := ui.Secrets{Heading: "The new partner", Repeated: err != nil || made.Repeated, Back: v.Path(partnersPath)}
	if shown.Repeated {
		return p.area.ShowSecrets(w, r, v, shown)
	}
	c := made.Credentials
	shown.Heading, shown.Back = made.Partner.Name+" is added", v.Path("%s", ofPartner(partnerPath, made.Partner.ID))
	shown.Secrets = []ui.Key{
		{Label: "Client id", Value: made.Partner.ClientID},
		{Label: "Client secret", Value: c.ClientSecret},
		{Label: "API key", Value: c.APIKey},
	}
	if !made.Partner.SingleKey {
		shown.Secrets = append(shown.Secrets, ui.Key{Label: "Webhook secret", Value: c.WebhookSecret})
	}
	shown.Says = []string{
		"Hand them to the partner in a way that nobody else reads. We keep no copy that could be shown.",
		"Add its plans, and its first admin by POST /operator/v1/partners/" + ofPartner(
			"{partner}",
			made.Partner.ID,
		) + "/members: they set up the rest in their portal.",
	}
	return p.area.ShowSecrets(w, r, v, shown)
}
