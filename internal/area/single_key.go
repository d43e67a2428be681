package area

import (
	"context"
	"net/http"

	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
)

// singleKey replaces the secrets by one key for both directions, or by two. Sending the form again
// finds the settings changed and creates no others.
func (p *PartnerPages) singleKey(r *http.Request, v *PartnerVisit) (Action, error) {
	s, err := p.settings(r, v)
	if err != nil {
		return Action{}, err
	}
	was, unread := readSettingsVersion(r)
	view := v.singleKeyView(s)
	if unread == nil && was != s {
		view = ui.Confirm{Heading: "Nothing was changed", Cancel: v.url, Says: []string{
			"If you reloaded the page: the new secrets were shown in the first answer and cannot be shown again. " +
				v.either("If you did not copy them", "If they were not copied") + ", rotate them under Credentials.",
		}}
	}
	return Action{Ask: view, Make: func(ctx context.Context) (ui.Secrets, error) {
		if unread != nil {
			return ui.Secrets{}, unread
		}
		after, made, err := p.Profiles.ChangeSettings(ctx, v.Actor(), v.Partner.ID, profile.SettingsChange{
			Partner: partner.Change{SingleKey: new(!was.SingleKey), Overlap: overlap(r)}, Was: &was,
		})
		shown := ui.Secrets{
			Heading: v.either("Your new secrets", "The new secrets of "+v.Partner.Name),
			Back:    v.Base + credentialsPath, Secrets: []ui.Key{{Label: "API key", Value: made.APIKey}},
			Says: v.rotatedSteps(partner.Rotation{PreviousUntil: made.PreviousUntil}, "them"),
		}
		if !after.SingleKey {
			shown.Secrets = append(shown.Secrets, ui.Key{Label: "Webhook secret", Value: made.WebhookSecret})
			return shown, err
		}
		shown.Heading = v.either("Your single key", shown.Heading)
		shown.Secrets[0].Label = "API key and webhook secret"
		return shown, err
	}}, nil
}

// singleKeyView builds the page that asks for it.
func (v *PartnerVisit) singleKeyView(s profile.Settings) ui.Confirm {
	view := ui.Confirm{
		Heading: "Use a single key",
		Says: []string{
			"The API key becomes the webhook secret, too, for integrations that have one variable for both. A new " +
				"key is made and shown once; it replaces " + v.Whose() + " main API key and webhook secret.",
			"Its bytes as shown are the key of both signatures. Whoever reads it can call the API and forge " +
				"webhooks, so two secrets are safer.",
		},
		Button: ui.Button{Label: "Use a single key", Busy: "Changing…", Kind: "danger"},
		Form:   ui.Form{Fields: []ui.Field{v.overlapField("How long the present ones go on working")}},
		Hidden: []ui.Param{{Name: "was", Value: settingsVersion(s)}}, Cancel: v.url,
	}
	if s.SingleKey {
		view.Heading = "Use two secrets"
		view.Button.Label = "Use two secrets"
		view.Says = []string{
			"Webhooks get a secret of their own. A new API key and a new webhook secret are made and shown once; " +
				"they replace the single key.",
		}
	}
	view.Says = append(
		view.Says, "The replaced ones go on working for as long as you choose. Other API keys stay as they are.",
	)
	if !v.Own {
		call := v.call("The same by API", http.MethodPatch, "")
		call.JSON = JSON(map[string]any{"single_key": !s.SingleKey, "overlap_s": defaultOverlap})
		view.Call = &call
	}
	return view
}
