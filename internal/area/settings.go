package area

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// settingsView shows the settings of an integration.
type settingsView struct {
	Heading      string
	Tabs         *ui.Tabs
	Cards        []settingCard
	May          bool   // the person may change them
	Version      string // the settings that this page shows
	URL          string // target of the forms
	Whose        string // inside a sentence: your, or the partner's
	SingleKey    bool
	SingleKeyURL string // "" if the person may not
	Problem      string
}

// settingCard is one setting.
type settingCard struct {
	Title string
	Says  string
	Now   string // its value, for people who may not change it
	Form  ui.Form
	Call  ui.Curl
}

// Settings returns the rows of the settings of an integration.
func (p *PartnerPages) Settings() []Route {
	s := p.subject("/settings")
	s.add(Page, "", func(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
		return p.showSettings(w, r, v, nil)
	})
	s.add(Act, "", p.changeSetting)
	return s.rows
}

// SingleKey returns the rows of the act that switches between one key and two.
func (p *PartnerPages) SingleKey() []Route {
	s := p.subject("/settings")
	s.addAction("/single-key", p.singleKey)
	return s.rows
}

// settings reads the settings from the database, not from the visit: they are the version that the
// page shows.
func (p *PartnerPages) settings(r *http.Request, v *PartnerVisit) (profile.Settings, error) {
	one, err := p.Partners.Get(r.Context(), v.Partner.ID)
	if err != nil {
		return profile.Settings{}, Missing(err)
	}
	f, err := p.Profiles.Read(r.Context(), p.Profiles.DB, one.ID)
	return profile.SettingsOf(one, f), Missing(err)
}

// settingsAPI returns the path of the settings in the API.
func (v *PartnerVisit) settingsAPI() string { return v.either("/profile", "") }

// showSettings shows the current settings, and after a refusal the errors.
func (p *PartnerPages) showSettings(w http.ResponseWriter, r *http.Request, v *PartnerVisit, refused error) error {
	s, err := p.settings(r, v)
	if err != nil {
		return err
	}
	view := v.settingsView(s)
	if v.Common().Area.Has(v.path+"/single-key", v.Visit) {
		view.SingleKeyURL = v.url + "/single-key"
	}
	page := ui.View{Title: view.Heading}
	if f := fault.Of(refused); f != nil {
		page.Status = wire.Status(f.Kind)
		view.refuse(r, f)
	}
	page.Problem = view.Problem
	page.Data = view
	return v.render(w, r, "partner-settings", page)
}

// settingsView shows all settings except the single key, which has its own page.
func (v *PartnerVisit) settingsView(s profile.Settings) settingsView {
	view := settingsView{
		Heading: v.heading("Settings"), Tabs: v.tabs(), URL: v.url, May: v.may,
		Version: settingsVersion(s), Whose: v.Whose(), SingleKey: s.SingleKey, Cards: settingCards(s, v.Whose()),
	}
	for i := range view.Cards {
		c := &view.Cards[i]
		f := &c.Form.Fields[0]
		f.Required = f.Name != "initiate_login_uri"
		f.Autocomplete = "off"
		c.Now = f.Value
		for _, o := range f.Options {
			if o.Value == f.Value {
				c.Now = o.Label
			}
		}
		c.Call = v.call("The same by API", http.MethodPatch, v.settingsAPI())
		if v.Own {
			c.Call.Form = []ui.Param{{Name: f.Name, Value: f.Value}}
		} else {
			c.Call.JSON = settingJSON(f.Name, f.Value)
		}
	}
	return view
}

// changeSetting saves the settings in the form. The domain refuses a form that was built from older
// settings.
func (p *PartnerPages) changeSetting(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	change, err := readSettings(r)
	if err == nil {
		_, _, err = p.Profiles.ChangeSettings(r.Context(), v.Actor(), v.Partner.ID, change)
	}
	switch {
	case fault.Of(err) != nil:
		return p.showSettings(w, r, v, err)
	case err != nil:
		return err
	}
	return v.done(w, r, "Saved. It holds from now on.")
}

// settingJSON returns the API body that changes a setting.
func settingJSON(name, value string) string {
	body := map[string]any{name: value}
	if value == "true" || value == "false" {
		body[name] = value == "true"
	}
	return JSON(body)
}

var onOff = []ui.Option{{Value: "false", Label: "Off"}, {Value: "true", Label: "On"}}

func settingCards(s profile.Settings, whose string) []settingCard {
	card := func(title, says string, f ui.Field) settingCard {
		return settingCard{Title: title, Says: says, Form: ui.Form{Fields: []ui.Field{f}}}
	}
	return []settingCard{
		card("Brand",
			fmt.Sprintf(
				"Part of the names of headers: webhooks carry X-%s-Signature and X-%s-Timestamp, and %s API key may "+
					"stand in X-%s-Licensing-Key. If it changes, webhooks have the new names at once, so %s server "+
					"must read both before.",
				s.Brand, s.Brand, whose, s.Brand, whose,
			),
			ui.Field{
				Name: "brand", Label: "Brand", Value: s.Brand, Hint: "1 to 40 letters (a to z), digits or hyphens.",
			}),
		card("Strict delivery",
			fmt.Sprintf(
				`If it is on, a webhook counts as delivered only when %s server answers 200 and "success": true. If `+
					`it is off, any 2xx counts, unless the answer has "success": false. Everything else is sent again.`,
				whose,
			),
			ui.Field{
				Name: "strict", Label: "Strict delivery", Type: "select", Options: onOff, Value: fmt.Sprint(s.Strict),
			}),
		card("Signing algorithm",
			fmt.Sprintf(
				"How the identity tokens of %s users are signed. Libraries take the key from our JWKS by themselves; "+
					"one that is told the algorithm must be told the new one, too. Tokens that were given out stay "+
					"as they are.",
				whose,
			),
			ui.Field{
				Name: "id_token_alg", Label: "Signing algorithm", Type: "select", Value: s.IDTokenAlg,
				Options: []ui.Option{{Value: profile.RS256, Label: "RS256"}, {Value: profile.ES256, Label: "ES256"}},
			}),
		card("Error member",
			`If it is on, the answer to a code exchange at /openid/token/ has "error": "". Some libraries take that `+
				`for a failure: switch it off for them, or use /openid/oauth2/token, which never has it.`,
			ui.Field{
				Name: "error_member", Label: "Error member", Type: "select", Options: onOff,
				Value: fmt.Sprint(s.ErrorMember),
			}),
		card("Sign-in start URL (initiate_login_uri)",
			fmt.Sprintf(
				"If it is set, a buyer who presses Activate comes there first, and %s application begins a sign-in "+
					"with its own state and PKCE, which keeps others from signing a buyer in to an account that is "+
					"not theirs. If it is empty, the buyer comes to the redirect URL with a code at once.",
				whose,
			),
			ui.Field{
				Name: "initiate_login_uri", Label: "Sign-in start URL", Type: "url", Value: s.InitiateLoginURI,
				Hint: "An https address, or nothing.",
			}),
	}
}

// refuse writes an error at its setting, with the typed value, or above the form.
func (v *settingsView) refuse(r *http.Request, f *fault.Error) {
	for i := range v.Cards {
		field := &v.Cards[i].Form.Fields[0]
		if f.Field == field.Name {
			field.Value = ui.FormText(r, field.Name)
			v.Cards[i].Form.Refuse(f)
			return
		}
	}
	v.Problem = f.Text
}

// readSettings reads the settings in a form, and those that its page showed.
func readSettings(r *http.Request) (change profile.SettingsChange, err error) {
	was, err := readSettingsVersion(r)
	if err != nil {
		return change, err
	}
	text := func(name string) *string {
		if !r.PostForm.Has(name) {
			return nil
		}
		return new(ui.FormText(r, name))
	}
	truth := func(name string) *bool {
		if !r.PostForm.Has(name) {
			return nil
		}
		return new(ui.FormText(r, name) == "true")
	}
	change.Was = &was
	change.Partner.Brand = text("brand")
	change.Partner.Strict = truth("strict")
	change.Connection = profile.NewConnection(text("initiate_login_uri"), text("id_token_alg"), truth("error_member"))
	if b := change.Partner.Brand; b != nil && *b == "" {
		return change, fault.Field("brand", "is missing or empty; send 1 to 40 letters, digits or hyphens.")
	}
	return change, nil
}

// settingsVersion encodes settings for a form, to detect changes since.
func settingsVersion(s profile.Settings) string {
	text, err := json.Marshal(s)
	if err != nil {
		return "" // a struct of strings and bools cannot fail
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// readSettingsVersion reads the settings that the page of a form showed.
func readSettingsVersion(r *http.Request) (s profile.Settings, err error) {
	text, err := base64.RawURLEncoding.DecodeString(r.PostFormValue("was"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fault.New(
			fault.Invalid, CodeIncompleteForm,
			"The form was not sent whole. Nothing was changed; send it again from this page.",
		)
	}
	return s, nil
}
