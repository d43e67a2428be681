package console

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const (
	partnerSettingsPath = partnerPath + "/settings"
	singleKeyPath       = partnerSettingsPath + "/single-key"
)

func (p *Partners) settings(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return p.showSettings(w, r, v, nil)
}

// showSettings shows the current settings of a partner, and after a refusal the errors.
func (p *Partners) showSettings(w http.ResponseWriter, r *http.Request, v *Visit, refused error) error {
	one, f, err := p.one(r)
	if err != nil {
		return err
	}
	view := area.NewSettingsView(profile.SettingsOf(one, f), "the partner's", func() ui.Curl {
		return p.call("The same by API", http.MethodPatch, fmt.Sprintf("/operator/v1/partners/%d", one.ID))
	}, true)
	tabs := p.tabs(v, one, partnerSettingsPath)
	view.Heading, view.Tabs, view.URL, view.May = "Settings of "+one.Name, &tabs, v.Path(
		"%s",
		ofPartner(partnerSettingsPath, one.ID),
	), v.May(
		account.Admin,
	)
	if view.May {
		view.SingleKeyURL = v.Path("%s", ofPartner(singleKeyPath, one.ID))
	}
	status := http.StatusOK
	if f := fault.Of(refused); f != nil {
		status = wire.Status(f.Kind)
		view.Refuse(r, refused)
	}
	return p.render(
		w,
		r,
		v,
		area.PageSettings,
		ui.View{Title: view.Heading, Status: status, Problem: view.Problem, Data: view},
	)
}

// changeSetting saves the settings in the form. The domain refuses a form that was built from older
// settings.
func (p *Partners) changeSetting(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	change, err := area.ReadSettings(r)
	if err == nil {
		_, _, err = p.Profiles.ChangeSettings(r.Context(), v.Actor(), one.ID, change)
	}
	switch {
	case fault.Of(err) != nil:
		return p.showSettings(w, r, v, err)
	case err != nil:
		return err
	}
	return p.area.Done(w, r, v, ofPartner(partnerSettingsPath, one.ID), "Saved. It holds from now on.")
}

// singleKeyView builds the page that switches between one key and two.
func (p *Partners) singleKeyView(r *http.Request, v *Visit) (ui.Confirm, partner.Partner, error) {
	one, f, err := p.one(r)
	if err != nil {
		return ui.Confirm{}, one, err
	}
	s := profile.SettingsOf(one, f)
	view := area.SingleKey(
		s,
		"the partner's",
		"Long enough for the partner to put the new one into all its servers.",
		overlaps,
	)
	call := p.call("The same by API", http.MethodPatch, fmt.Sprintf("/operator/v1/partners/%d", one.ID))
	call.JSON = area.JSON(map[string]any{"single_key": !s.SingleKey, "overlap_s": 86400})
	view.Action, view.Cancel, view.Call = v.Path(
		"%s",
		ofPartner(singleKeyPath, one.ID),
	), v.Path(
		"%s",
		ofPartner(partnerSettingsPath, one.ID),
	), &call
	return view, one, nil
}

func (p *Partners) askSingleKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := p.singleKeyView(r, v)
	if err != nil {
		return err
	}
	return p.confirm(w, r, v, http.StatusOK, view)
}

// changeSingleKey replaces the secrets and shows the new ones. Sending the form again finds the
// settings changed and creates no others.
func (p *Partners) changeSingleKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, one, err := p.singleKeyView(r, v)
	if err != nil {
		return err
	}
	was, err := area.ReadSettingsVersion(r)
	if err != nil {
		return p.refuse(w, r, v, view, err)
	}
	seconds, err := strconv.ParseInt(typed(r, &view, "overlap_s"), 10, 32)
	if err != nil {
		seconds = -1 // refused
	}
	after, made, err := p.Profiles.ChangeSettings(r.Context(), v.Actor(), one.ID, profile.SettingsChange{
		Partner: partner.Change{
			SingleKey: new(!was.SingleKey),
			Overlap:   time.Duration(seconds) * time.Second,
		}, Was: &was,
	})
	if fault.Is(err, profile.CodeSettingsChanged) {
		return p.refuse(w, r, v, ui.Confirm{
			Heading: "Nothing was changed", Cancel: view.Cancel,
			Says: []string{
				"If you reloaded the page: the new secrets were shown in the first answer and cannot be shown " +
					"again. If they were not copied, rotate them under Credentials.",
			},
		}, err)
	}
	if err != nil {
		return p.refuse(w, r, v, view, err)
	}
	shown := ui.Secrets{
		Heading: "The new secrets of " + one.Name, Back: v.Path("%s", ofPartner(secretsPath, one.ID)),
		Secrets: []ui.Key{{Label: "API key", Value: made.APIKey}},
		Says: []string{
			"Hand them to the partner in a way that nobody else reads. We keep no copy that could be shown.",
		},
	}
	if after.SingleKey {
		shown.Secrets[0].Label = "API key and webhook secret"
	} else {
		shown.Secrets = append(shown.Secrets, ui.Key{Label: "Webhook secret", Value: made.WebhookSecret})
	}
	return p.area.ShowSecrets(w, r, v, shown)
}

// switchView builds the page that ends a replaced secret that still works.
func (p *Partners) switchView(r *http.Request, v *Visit) (ui.Confirm, partner.Partner, partner.Credential, error) {
	one, _, err := p.one(r)
	if err != nil {
		return ui.Confirm{}, one, partner.Credential{}, err
	}
	c, err := p.Partners.Credential(r.Context(), one.ID, area.ID(r, "credential"))
	if err != nil {
		return ui.Confirm{}, one, c, area.Missing(err)
	}
	back := v.Path("%s", ofPartner(secretsPath, one.ID))
	if c.Name != partner.MainKey || !c.Replaced() {
		return ui.Confirm{
			Heading: "There is nothing to switch",
			Says:    []string{"This secret was not replaced. Rotate it first."},
			Cancel:  back,
		}, one, c, nil
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/switch", one.ID))
	call.JSON = area.JSON(map[string]any{"what": string(c.What)})
	return ui.Confirm{
		Heading: fmt.Sprintf("Switch %s to the new %s now", one.Name, secretNames[c.What]),
		Says: []string{
			fmt.Sprintf(
				"The replaced %s, which ends in %s, stops working at once, on every server of ours. It would work "+
					"for another %s.",
				secretNames[c.What],
				c.Tail,
				area.Span(c.EndsAt.Sub(p.Now())),
			),
			"Do this when the partner says that nothing of theirs uses it any more.",
		},
		Action: back + fmt.Sprintf("/%d/switch", c.ID), Cancel: back, Call: &call,
		Button: ui.Button{Label: "Switch now", Busy: "Switching…", Kind: "danger"},
	}, one, c, nil
}

func (p *Partners) askSwitch(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := p.switchView(r, v)
	if err != nil {
		return err
	}
	return p.confirm(w, r, v, http.StatusOK, view)
}

// switchNow ends a replaced secret. The form names it by id, so a stale form ends nothing.
func (p *Partners) switchNow(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, one, c, err := p.switchView(r, v)
	if err != nil {
		return err
	}
	if view.Action == "" {
		return p.confirm(w, r, v, http.StatusConflict, view)
	}
	if _, err := p.Partners.Revoke(r.Context(), v.Actor(), one.ID, c.ID); err != nil {
		return p.refuse(w, r, v, view, err)
	}
	return p.area.Done(
		w,
		r,
		v,
		ofPartner(secretsPath, one.ID),
		"Switched. The replaced "+secretNames[c.What]+" does not work any more.",
	)
}
