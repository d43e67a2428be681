package portal

import (
	"fmt"
	"net/http"
	"time"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

const credentialsPath = "/credentials"

// credentialsView lists the credentials of the partner's programs.
type credentialsView struct {
	Keys, Client, Webhook ui.Table
	ClientID              string
	SingleKey             bool
	NoClient              bool // the client secret was revoked
	May                   bool
	Form                  ui.Form // for another key
	Nonce                 ui.Param
	NewURL                string
	RenewURL              string
	List                  ui.Curl
}

func (h *Handler) credentials(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showCredentials(w, r, v, http.StatusOK, newKeyForm(""))
}

func newKeyForm(name string) ui.Form {
	return ui.Form{Fields: []ui.Field{{
		Name: "name", Label: "Name", Value: name, Required: true, Autocomplete: "off",
		Hint: "Where it will be used, such as “staging” or “billing server”. It tells your keys apart.",
	}}}
}

func (h *Handler) showCredentials(w http.ResponseWriter, r *http.Request, v *Visit, status int, f ui.Form) error {
	list, err := h.Partners.ListCredentials(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	health, err := h.Webhooks.EndpointHealth(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	view := credentialsView{
		Keys: credentialTable("keys", "Your keys"), Client: credentialTable("client", "Your client secret"),
		Webhook:  credentialTable("webhook", "Your webhook secret"),
		ClientID: v.Partner.ClientID, SingleKey: v.Partner.SingleKey, NoClient: true,
		May: v.Covers(partner.Developer), Form: f, Nonce: area.Nonce(), NewURL: v.Path(keysPath),
		RenewURL: v.Path(renewPath),
		List:     h.call("List them by API", http.MethodGet, "/v2/credentials"),
	}
	for _, c := range list {
		row := credentialRow(v, c, h.Now(), health.LastSuccessAt)
		switch c.What {
		case partner.APIKey:
			view.Keys.Rows = append(view.Keys.Rows, row)
		case partner.ClientSecret:
			view.Client.Rows = append(view.Client.Rows, row)
			view.NoClient = false
		case partner.WebhookSecret:
			view.Webhook.Rows = append(view.Webhook.Rows, row)
		}
	}
	return h.render(w, r, v, "credentials", ui.View{Title: "Credentials", Status: status, Data: view})
}

func credentialTable(id, caption string) ui.Table {
	return ui.Table{ID: id, Caption: caption, Columns: []ui.Column{
		{Label: "Name"}, {Label: "Ends in"}, {Label: "State"}, {Label: "Last used"}, {Label: "Made"},
	}}
}

// credentialRow returns the row of a secret. A webhook secret is used whenever a webhook is sent;
// only accepted webhooks count here.
func credentialRow(v *Visit, c partner.Credential, now, lastWebhook time.Time) ui.Row {
	state := ui.Cell{Status: "active"}
	if c.Replaced() {
		state = ui.Cell{Status: "replaced", Note: "Works for another " + area.Span(c.EndsAt.Sub(now)) + "."}
	}
	if c.Signs && c.What == partner.APIKey {
		state.Note += " It signs your webhooks, too."
	}
	used := ui.Cell{At: c.LastUsedAt}
	switch {
	case c.What == partner.WebhookSecret && !lastWebhook.IsZero() && !c.Replaced():
		used = ui.Cell{At: lastWebhook, Note: "The last webhook that you accepted."}
	case c.LastUsedAt.IsZero():
		used = ui.Cell{Text: "Never"}
	}
	ending := ui.Cell{Text: "…" + c.Tail, Code: true}
	if c.Tail == "" {
		ending = ui.Cell{Text: "Not known", Note: "It is older than this page."}
	}
	name := ui.Cell{Text: c.Name}
	if v.Covers(partner.Developer) {
		name.Acts = ui.Links(credentialLinks(v, c)...)
	}
	return ui.Row{
		ID: fmt.Sprintf("credential-%d", c.ID), Cells: []ui.Cell{name, ending, state, used, {At: c.CreatedAt}},
	}
}

// credentialLinks returns the acts on a secret.
func credentialLinks(v *Visit, c partner.Credential) []ui.RowLink {
	of := area.SecretName(c.What) + " " + c.Name
	if c.Replaced() {
		return []ui.RowLink{{Label: "Switch now", Of: of, URL: v.Path(credentialsPath+"/%d/revoke", c.ID)}}
	}
	links := []ui.RowLink{{Label: "Rotate", Of: of, URL: v.Path(credentialsPath+"/%d/rotate", c.ID)}}
	if !c.Signs {
		links = append(links, ui.RowLink{Label: "Revoke", Of: of, URL: v.Path(credentialsPath+"/%d/revoke", c.ID)})
	}
	return links
}

const (
	keysPath  = credentialsPath + "/keys"
	renewPath = credentialsPath + "/renew"
)

// addKey creates an API key and shows it.
func (h *Handler) addKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	q, err := h.area.Once(r, v)
	if err != nil {
		return err
	}
	f := newKeyForm(ui.FormText(r, "name"))
	made, err := h.Partners.AddKey(r.Context(), v.Actor(), v.Partner.ID, f.Fields[0].Value, q)
	view := ui.Secrets{
		Heading: "Your new API key", Repeated: made.Repeated || area.WasSent(err), Back: v.Path(credentialsPath),
	}
	switch {
	case view.Repeated:
		return h.area.ShowSecrets(w, r, v, view)
	case err != nil && f.Refuse(err):
		return h.showCredentials(w, r, v, http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
	}
	view.Secrets = []ui.Key{{Label: "API key", Value: made.Value}}
	view.Says = []string{
		"Put it into the program that will use it, as the header Authorization: Bearer followed by the key.",
		"Store it where only that program reads it. We keep no copy that could be shown.",
	}
	return h.area.ShowSecrets(w, r, v, view)
}

// renew creates a secret in place of a revoked one.
func (h *Handler) renew(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	q, err := h.area.Once(r, v)
	if err != nil {
		return err
	}
	what := partner.Secret(ui.FormText(r, "what"))
	made, err := h.Partners.Renew(r.Context(), v.Actor(), v.Partner.ID, partner.Renewal{What: what, New: true, Once: q})
	view := ui.Secrets{
		Heading:  "Your new " + area.SecretName(what),
		Repeated: made.Repeated || area.WasSent(err), Back: v.Path(credentialsPath),
	}
	if err != nil && !view.Repeated {
		return err
	}
	if !view.Repeated {
		view.Secrets = []ui.Key{{Label: area.SecretName(what), Value: made.Value}}
		view.Says = []string{"Put it into your servers. It works from now on."}
	}
	return h.area.ShowSecrets(w, r, v, view)
}
