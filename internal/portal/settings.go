package portal

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
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

// settingsView shows what the partner chooses about its integration.
type settingsView struct {
	Cards        []settingCard
	May          bool
	Version      string // the settings as this page shows them
	URL          string
	SingleKey    bool
	SingleKeyURL string
	Problem      string
}

// settingCard is one setting.
type settingCard struct {
	Title string
	Says  string
	Now   string // its value, for who may not change it
	Form  ui.Form
	Call  ui.Curl
}

func (h *Handler) settings(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showSettings(w, r, v, nil)
}

// showSettings shows the settings as they are, and after a refusal what is wrong.
func (h *Handler) showSettings(w http.ResponseWriter, r *http.Request, v *Visit, refused error) error {
	s, err := h.readSettings(r, v)
	if err != nil {
		return err
	}
	view := settingsView{
		Cards: h.settingCards(s), May: v.Covers(partner.Admin), Version: version(s), URL: v.Path(settingsPath),
		SingleKey: s.SingleKey,
	}
	if h.has(singleKeyPath, v) {
		view.SingleKeyURL = v.Path(singleKeyPath)
	}
	status := http.StatusOK
	if f := fault.Of(refused); f != nil {
		status = wire.Status(f.Kind)
		if !placeProblem(view.Cards, r, refused) {
			view.Problem = f.Text
		}
	}
	return h.render(w, r, v, "settings", ui.View{Title: "Settings", Status: status, Problem: view.Problem, Data: view})
}

// placeProblem writes a refusal at the setting that it is about, with what was typed.
func placeProblem(cards []settingCard, r *http.Request, refused error) bool {
	for i := range cards {
		field := &cards[i].Form.Fields[0]
		if fault.Of(refused).Field == field.Name {
			field.Value = ui.FormText(r, field.Name)
			return cards[i].Form.Refuse(refused)
		}
	}
	return false
}

// readSettings reads the settings from the database, not from the visit: they are the
// version that the page shows.
func (h *Handler) readSettings(r *http.Request, v *Visit) (profile.Settings, error) {
	p, err := h.Partners.Get(r.Context(), v.Partner.ID)
	if err != nil {
		return profile.Settings{}, err
	}
	f, err := h.Profiles.Read(r.Context(), h.Profiles.DB, v.Partner.ID)
	return profile.SettingsOf(p, f), err
}

var onOff = []ui.Option{{Value: "false", Label: "Off"}, {Value: "true", Label: "On"}}

// settingCards are the settings but for the single key, which has a page of its own.
func (h *Handler) settingCards(s profile.Settings) []settingCard {
	card := func(title, says string, f ui.Field) settingCard {
		f.Required = f.Name != "initiate_login_uri"
		f.Autocomplete = "off"
		c := settingCard{Title: title, Says: says, Form: ui.Form{Fields: []ui.Field{f}}, Now: f.Value}
		for _, o := range f.Options {
			if o.Value == f.Value {
				c.Now = o.Label
			}
		}
		c.Call = h.call("The same by API", http.MethodPatch, "/v2/profile")
		c.Call.Form = []ui.Param{{Name: f.Name, Value: f.Value}}
		return c
	}
	return []settingCard{
		card("Brand", fmt.Sprintf("Part of the names of headers: webhooks carry X-%s-Signature and X-%s-Timestamp, and your API key may stand in X-%s-Licensing-Key. If you change it, webhooks have the new names at once, so let your server read both before.", s.Brand, s.Brand, s.Brand),
			ui.Field{Name: "brand", Label: "Brand", Value: s.Brand, Hint: "1 to 40 letters (a to z), digits or hyphens."}),
		card("Strict delivery", `If it is on, a webhook counts as delivered only when you answer 200 and "success": true. If it is off, any 2xx counts, unless you answer "success": false. Everything else is sent again.`,
			ui.Field{Name: "strict", Label: "Strict delivery", Type: "select", Options: onOff, Value: fmt.Sprint(s.Strict)}),
		card("Signing algorithm", "How the identity tokens of your users are signed. Libraries take the key from our JWKS by themselves; one that is told the algorithm must be told the new one, too. Tokens that were given out stay as they are.",
			ui.Field{Name: "id_token_alg", Label: "Signing algorithm", Type: "select", Value: s.IDTokenAlg, Options: []ui.Option{{Value: profile.RS256, Label: "RS256"}, {Value: profile.ES256, Label: "ES256"}}}),
		card("Error member", `If it is on, the answer to a code exchange at /openid/token/ has "error": "". Some libraries take that for a failure: switch it off for them, or use /openid/oauth2/token, which never has it.`,
			ui.Field{Name: "error_member", Label: "Error member", Type: "select", Options: onOff, Value: fmt.Sprint(s.ErrorMember)}),
		card("Sign-in start URL (initiate_login_uri)", "If it is set, a buyer who presses Activate comes there first, and your application begins a sign-in with its own state and PKCE, which keeps others from signing a buyer in to an account that is not theirs. If it is empty, the buyer comes to your redirect URL with a code at once.",
			ui.Field{Name: "initiate_login_uri", Label: "Sign-in start URL", Type: "url", Value: s.InitiateLoginURI, Hint: "An https address, or nothing."}),
	}
}

// changeSetting saves the settings that the form has.
func (h *Handler) changeSetting(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	was, err := readVersion(r)
	if err != nil {
		return h.showSettings(w, r, v, err)
	}
	change := profile.SettingsChange{Was: &was}
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
	change.Partner.Brand, change.Partner.Strict = text("brand"), truth("strict")
	change.Connection = profile.NewConnection(text("initiate_login_uri"), text("id_token_alg"), truth("error_member"))
	if b := change.Partner.Brand; b != nil && *b == "" {
		return h.showSettings(w, r, v, fault.Field("brand", "is missing or empty; send 1 to 40 letters, digits or hyphens."))
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

// version writes settings into a form, so that the answer can tell whether somebody has
// changed them since.
func version(s profile.Settings) string {
	text, err := json.Marshal(s)
	if err != nil {
		return "" // a struct of strings and bools cannot fail
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// readVersion reads what version wrote.
func readVersion(r *http.Request) (s profile.Settings, err error) {
	text, err := base64.RawURLEncoding.DecodeString(r.PostFormValue("was"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fault.New(fault.Invalid, area.CodeIncompleteForm, "The form was not sent whole. Nothing was changed; send it again from this page.")
	}
	return s, nil
}

// singleKeyView asks for the change between one key and two.
func (h *Handler) singleKeyView(s profile.Settings, v *Visit) confirmView {
	view := confirmView{
		Heading: "Use a single key",
		Says: []string{
			"Your API key becomes your webhook secret, too, for integrations that have one variable for both. A new key is made and shown once; it replaces the main API key and the webhook secret.",
			"Its bytes as shown are the key of both signatures. Whoever reads it can call the API and forge webhooks, so two secrets are safer.",
		},
		Button: ui.Button{Label: "Use a single key", Busy: "Changing…", Kind: "danger"},
		Form:   ui.Form{Fields: []ui.Field{overlapField(defaultOverlap)}},
		Hidden: []ui.Param{{Name: "was", Value: version(s)}},
		Action: v.Path(singleKeyPath), Cancel: v.Path(settingsPath),
	}
	if s.SingleKey {
		view.Heading, view.Button.Label = "Use two secrets", "Use two secrets"
		view.Says = []string{"Webhooks get a secret of their own. A new API key and a new webhook secret are made and shown once; they replace the single key."}
	}
	view.Says = append(view.Says, "The replaced ones go on working for as long as you choose. Other API keys stay as they are.")
	return view
}

func (h *Handler) askSingleKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	s, err := h.readSettings(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, h.singleKeyView(s, v))
}

// changeSingleKey replaces the secrets and answers with the new ones. A form that is sent
// again finds the settings changed, and makes no others.
func (h *Handler) changeSingleKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	s, err := h.readSettings(r, v)
	if err != nil {
		return err
	}
	was, err := readVersion(r)
	if err != nil {
		return h.refuse(w, r, v, h.singleKeyView(s, v), err)
	}
	after, made, err := h.Profiles.ChangeSettings(r.Context(), v.Actor(), v.Partner.ID, profile.SettingsChange{
		Partner: partner.Change{SingleKey: new(!was.SingleKey), Overlap: overlap(r)}, Was: &was,
	})
	if fault.Is(err, profile.CodeSettingsChanged) {
		return h.refuse(w, r, v, confirmView{
			Heading: "Nothing was changed", Cancel: v.Path(settingsPath),
			Says: []string{"If you reloaded the page: the new secrets were shown in the first answer and cannot be shown again. If you did not copy them, rotate them under Credentials."},
		}, err)
	}
	if err != nil {
		return h.refuse(w, r, v, h.singleKeyView(s, v), err)
	}
	view := secretView{Heading: "Your new secrets", Back: v.Path(credentialsPath), Secrets: []ui.Key{{Label: "API key", Value: made.APIKey}}}
	if after.SingleKey {
		view.Heading, view.Secrets[0].Label = "Your single key", "API key and webhook secret"
	} else {
		view.Secrets = append(view.Secrets, ui.Key{Label: "Webhook secret", Value: made.WebhookSecret})
	}
	view.Says = rotatedSteps(partner.Rotation{PreviousUntil: made.PreviousUntil}, h.Now())
	return h.showSecret(w, r, v, view)
}
