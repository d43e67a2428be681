package portal

import (
	"net/http"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const (
	settingsPath  = "/settings"
	singleKeyPath = settingsPath + "/single-key"
)

func (h *Handler) settings(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showSettings(w, r, v, nil)
}

// showSettings shows the current settings, and after a refusal the errors.
func (h *Handler) showSettings(w http.ResponseWriter, r *http.Request, v *Visit, refused error) error {
	s, err := h.readSettings(r, v)
	if err != nil {
		return err
	}
	view := area.NewSettingsView(
		s,
		"your",
		func() ui.Curl { return h.call("The same by API", http.MethodPatch, "/v2/profile") },
		false,
	)
	view.May, view.URL = v.Covers(partner.Admin), v.Path(settingsPath)
	if h.has(singleKeyPath, v) {
		view.SingleKeyURL = v.Path(singleKeyPath)
	}
	status := http.StatusOK
	if f := fault.Of(refused); f != nil {
		status = wire.Status(f.Kind)
		view.Refuse(r, refused)
	}
	return h.render(
		w,
		r,
		v,
		area.PageSettings,
		ui.View{Title: "Settings", Status: status, Problem: view.Problem, Data: view},
	)
}

// readSettings reads the settings from the database, not from the visit: they are the version that
// the page shows.
func (h *Handler) readSettings(r *http.Request, v *Visit) (profile.Settings, error) {
	p, err := h.Partners.Get(r.Context(), v.Partner.ID)
	if err != nil {
		return profile.Settings{}, err
	}
	f, err := h.Profiles.Read(r.Context(), h.Profiles.DB, v.Partner.ID)
	return profile.SettingsOf(p, f), err
}

// changeSetting saves the settings in the form.
func (h *Handler) changeSetting(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	change, err := area.ReadSettings(r)
	if err != nil {
		return h.showSettings(w, r, v, err)
	}
	_, _, err = h.Profiles.ChangeSettings(r.Context(), v.Actor(), v.Partner.ID, change)
	if fault.Of(err) != nil {
		return h.showSettings(w, r, v, err)
	}
	if err != nil {
		return err
	}
	return h.done(w, r, v, settingsPath, "Saved. It holds from now on.")
}

// singleKeyView builds the page that switches between one key and two.
func (h *Handler) singleKeyView(s profile.Settings, v *Visit) confirmView {
	view := area.SingleKey(s, "your", overlapField("").Hint, overlaps)
	view.Action, view.Cancel = v.Path(singleKeyPath), v.Path(settingsPath)
	return view
}

func (h *Handler) askSingleKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	s, err := h.readSettings(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, h.singleKeyView(s, v))
}

// changeSingleKey replaces the secrets and shows the new ones. Sending the form again finds the
// settings changed and creates no others.
func (h *Handler) changeSingleKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	s, err := h.readSettings(r, v)
	if err != nil {
		return err
	}
	was, err := area.ReadSettingsVersion(r)
	if err != nil {
		return h.refuse(w, r, v, h.singleKeyView(s, v), err)
	}
	after, made, err := h.Profiles.ChangeSettings(r.Context(), v.Actor(), v.Partner.ID, profile.SettingsChange{
		Partner: partner.Change{SingleKey: new(!was.SingleKey), Overlap: overlap(r)}, Was: &was,
	})
	if fault.Is(err, profile.CodeSettingsChanged) {
		return h.refuse(w, r, v, confirmView{
			Heading: "Nothing was changed", Cancel: v.Path(settingsPath),
			Says: []string{
				"If you reloaded the page: the new secrets were shown in the first answer and cannot be shown " +
					"again. If you did not copy them, rotate them under Credentials.",
			},
		}, err)
	}
	if err != nil {
		return h.refuse(w, r, v, h.singleKeyView(s, v), err)
	}
	view := secretView{
		Heading: "Your new secrets",
		Back:    v.Path(credentialsPath),
		Secrets: []ui.Key{{Label: "API key", Value: made.APIKey}},
	}
	if after.SingleKey {
		view.Heading = "Your single key"
		view.Secrets[0].Label = "API key and webhook secret"
	} else {
		view.Secrets = append(view.Secrets, ui.Key{Label: "Webhook secret", Value: made.WebhookSecret})
	}
	view.Says = rotatedSteps(partner.Rotation{PreviousUntil: made.PreviousUntil}, h.Now())
	return h.showSecret(w, r, v, view)
}
