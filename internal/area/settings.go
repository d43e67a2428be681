package area

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/profile"
	"claviger/internal/ui"
)

// PageSettings is the page of a partner's settings, with a SettingsView.
const PageSettings = "partner-settings"

// SettingsView shows the settings of an integration.
type SettingsView struct {
	Heading      string
	Tabs         *ui.Tabs
	Cards        []SettingCard
	May          bool   // the person may change them
	Version      string // the settings that this page shows
	URL          string // target of the forms
	Whose        string // inside a sentence: your, or the partner's
	SingleKey    bool
	SingleKeyURL string // "" if the person may not
	Problem      string
}

// SettingCard is one setting.
type SettingCard struct {
	Title string
	Says  string
	Now   string // its value, for people who may not change it
	Form  ui.Form
	Call  ui.Curl
}

// NewSettingsView shows all settings except the single key, which has its own page. call returns
// the call that changes one, without its content.
func NewSettingsView(s profile.Settings, whose string, call func() ui.Curl, asJSON bool) SettingsView {
	view := SettingsView{
		Heading: "Settings", Version: settingsVersion(s), Whose: whose, SingleKey: s.SingleKey,
		Cards: settingCards(s, whose),
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
		c.Call = call()
		if asJSON {
			c.Call.JSON = settingJSON(f.Name, f.Value)
		} else {
			c.Call.Form = []ui.Param{{Name: f.Name, Value: f.Value}}
		}
	}
	return view
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

func settingCards(s profile.Settings, whose string) []SettingCard {
	card := func(title, says string, f ui.Field) SettingCard {
		return SettingCard{Title: title, Says: says, Form: ui.Form{Fields: []ui.Field{f}}}
	}
	return []SettingCard{
		card("Brand",
			fmt.Sprintf(
				"Part of the names of headers: webhooks carry X-%s-Signature and X-%s-Timestamp, and %s API key may stand in X-%s-Licensing-Key. If it changes, webhooks have the new names at once, so %s server must read both before.",
				s.Brand, s.Brand, whose, s.Brand, whose,
			),
			ui.Field{
				Name: "brand", Label: "Brand", Value: s.Brand, Hint: "1 to 40 letters (a to z), digits or hyphens.",
			}),
		card("Strict delivery",
			fmt.Sprintf(
				`If it is on, a webhook counts as delivered only when %s server answers 200 and "success": true. If it is off, any 2xx counts, unless the answer has "success": false. Everything else is sent again.`,
				whose,
			),
			ui.Field{
				Name: "strict", Label: "Strict delivery", Type: "select", Options: onOff, Value: fmt.Sprint(s.Strict),
			}),
		card("Signing algorithm",
			fmt.Sprintf(
				"How the identity tokens of %s users are signed. Libraries take the key from our JWKS by themselves; one that is told the algorithm must be told the new one, too. Tokens that were given out stay as they are.",
				whose,
			),
			ui.Field{
				Name: "id_token_alg", Label: "Signing algorithm", Type: "select", Value: s.IDTokenAlg,
				Options: []ui.Option{{Value: profile.RS256, Label: "RS256"}, {Value: profile.ES256, Label: "ES256"}},
			}),
		card("Error member",
			`If it is on, the answer to a code exchange at /openid/token/ has "error": "". Some libraries take that for a failure: switch it off for them, or use /openid/oauth2/token, which never has it.`,
			ui.Field{
				Name: "error_member", Label: "Error member", Type: "select", Options: onOff,
				Value: fmt.Sprint(s.ErrorMember),
			}),
		card("Sign-in start URL (initiate_login_uri)",
			fmt.Sprintf(
				"If it is set, a buyer who presses Activate comes there first, and %s application begins a sign-in with its own state and PKCE, which keeps others from signing a buyer in to an account that is not theirs. If it is empty, the buyer comes to the redirect URL with a code at once.",
				whose,
			),
			ui.Field{
				Name: "initiate_login_uri", Label: "Sign-in start URL", Type: "url", Value: s.InitiateLoginURI,
				Hint: "An https address, or nothing.",
			}),
	}
}

// Refuse writes an error at its setting, with the typed value, or above the form.
func (v *SettingsView) Refuse(r *http.Request, refused error) {
	for i := range v.Cards {
		field := &v.Cards[i].Form.Fields[0]
		if fault.Of(refused).Field == field.Name {
			field.Value = ui.FormText(r, field.Name)
			v.Cards[i].Form.Refuse(refused)
			return
		}
	}
	v.Problem = fault.Of(refused).Text
}

// ReadSettings reads the settings in a form, and those that its page showed.
func ReadSettings(r *http.Request) (change profile.SettingsChange, err error) {
	was, err := ReadSettingsVersion(r)
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
	change.Partner.Brand, change.Partner.Strict = text("brand"), truth("strict")
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

// ReadSettingsVersion reads the settings that the page of a form showed.
func ReadSettingsVersion(r *http.Request) (s profile.Settings, err error) {
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

// SingleKey builds the page that switches between one key and two.
func SingleKey(s profile.Settings, whose, overlapHint string, overlaps []ui.Option) ui.Confirm {
	view := ui.Confirm{
		Heading: "Use a single key",
		Says: []string{
			"The API key becomes the webhook secret, too, for integrations that have one variable for both. A new key is made and shown once; it replaces " + whose + " main API key and webhook secret.",
			"Its bytes as shown are the key of both signatures. Whoever reads it can call the API and forge webhooks, so two secrets are safer.",
		},
		Button: ui.Button{Label: "Use a single key", Busy: "Changing…", Kind: "danger"},
		Form: ui.Form{Fields: []ui.Field{{
			Name: "overlap_s", Label: "How long the present ones go on working", Type: "select", Value: "86400",
			Options: overlaps, Required: true, Hint: overlapHint,
		}}},
		Hidden: []ui.Param{{Name: "was", Value: settingsVersion(s)}},
	}
	if s.SingleKey {
		view.Heading = "Use two secrets"
		view.Button.Label = "Use two secrets"
		view.Says = []string{"Webhooks get a secret of their own. A new API key and a new webhook secret are made and shown once; they replace the single key."}
	}
	view.Says = append(
		view.Says, "The replaced ones go on working for as long as you choose. Other API keys stay as they are.",
	)
	return view
}
