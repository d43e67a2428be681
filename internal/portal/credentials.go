package portal

import (
	"fmt"
	"net/http"
	"strconv"
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
		state = ui.Cell{Status: "replaced", Note: "Works for another " + span(c.EndsAt.Sub(now)) + "."}
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
	of := secretWords(c) + " " + c.Name
	if c.Replaced() {
		return []ui.RowLink{{Label: "Switch now", Of: of, URL: v.Path(credentialsPath+"/%d/revoke", c.ID)}}
	}
	links := []ui.RowLink{{Label: "Rotate", Of: of, URL: v.Path(credentialsPath+"/%d/rotate", c.ID)}}
	if !c.Signs {
		links = append(links, ui.RowLink{Label: "Revoke", Of: of, URL: v.Path(credentialsPath+"/%d/revoke", c.ID)})
	}
	return links
}

// secretWords returns the display name of a secret.
func secretWords(c partner.Credential) string {
	switch c.What {
	case partner.APIKey:
		return "API key"
	case partner.ClientSecret:
		return "client secret"
	case partner.WebhookSecret:
		return "webhook secret"
	}
	return "secret"
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
	view := secretView{
		Heading: "Your new API key", Repeated: made.Repeated || area.WasSent(err), Back: v.Path(credentialsPath),
	}
	switch {
	case view.Repeated:
		return h.showSecret(w, r, v, view)
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
	return h.showSecret(w, r, v, view)
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
	view := secretView{
		Heading:  "Your new " + secretWords(partner.Credential{What: what}),
		Repeated: made.Repeated || area.WasSent(err), Back: v.Path(credentialsPath),
	}
	if err != nil && !view.Repeated {
		return err
	}
	if !view.Repeated {
		view.Secrets = []ui.Key{{Label: secretWords(partner.Credential{What: what}), Value: made.Value}}
		view.Says = []string{"Put it into your servers. It works from now on."}
	}
	return h.showSecret(w, r, v, view)
}

// overlaps are the periods for which a replaced secret can still work.
var overlaps = []ui.Option{
	{Value: "0", Label: "Not at all: it ends at once"},
	{Value: "3600", Label: "1 hour"},
	{Value: "86400", Label: "24 hours"},
	{Value: "259200", Label: "3 days"},
	{Value: "604800", Label: "7 days"},
	{Value: "2592000", Label: "30 days"},
}

const defaultOverlap = "86400"

// overlapField returns the field that asks for this period.
func overlapField(value string) ui.Field {
	return ui.Field{
		Name: "overlap_s", Label: "How long the present one goes on working", Type: "select", Value: value,
		Options: overlaps, Required: true,
		Hint: "Long enough to put the new one into all your servers. You can end it earlier by “Switch now”.",
	}
}

// overlap reads that field.
func overlap(r *http.Request) time.Duration {
	n, err := strconv.ParseInt(ui.FormText(r, "overlap_s"), 10, 32)
	if err != nil {
		return -1 // refused
	}
	return time.Duration(n) * time.Second
}

// rotateView builds the page that asks for a rotation.
func (h *Handler) rotateView(r *http.Request, v *Visit) (confirmView, error) {
	c, err := h.Partners.Credential(r.Context(), v.Partner.ID, id(r, "credential"))
	if err != nil {
		return confirmView{}, missing(err)
	}
	if c.Replaced() {
		return confirmView{}, NotFound()
	}
	view := confirmView{
		Heading: fmt.Sprintf("Rotate the %s “%s”", secretWords(c), c.Name),
		Says: []string{fmt.Sprintf("A new %s is made and shown once, in the answer to this form. The present one%s goes on working for as long as you choose, so that nothing breaks while you change your servers.",
			secretWords(c), tailWords(c))},
		Form:   ui.Form{Fields: []ui.Field{overlapField(defaultOverlap)}},
		Action: v.Path(credentialsPath+"/%d/rotate", c.ID),
		Hidden: []ui.Param{area.Nonce(), {Name: "what", Value: c.What}, {Name: "name", Value: c.Name}},
		Button: ui.Button{Label: "Rotate", Busy: "Rotating…"}, Cancel: v.Path(credentialsPath),
	}
	if c.Signs {
		view.Says = append(
			view.Says,
			fmt.Sprintf(
				"Meanwhile webhook-signature carries two signatures, one by each secret, and X-%s-Signature is made with the present one until you switch or the time is over.",
				v.Partner.Brand,
			),
		)
	}
	view.Says = append(view.Says, "If one was replaced earlier and still works, it ends now.")
	return view, nil
}

func tailWords(c partner.Credential) string {
	if c.Tail == "" {
		return ""
	}
	return ", which ends in " + c.Tail + ","
}

func (h *Handler) askRotate(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, err := h.rotateView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

// rotate replaces a secret and shows the new one.
func (h *Handler) rotate(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	q, err := h.area.Once(r, v)
	if err != nil {
		return err
	}
	// The form names the secret: after it was sent once, the secret of the path may have ended.
	number := id(r, "credential")
	c := partner.Credential{What: partner.Secret(ui.FormText(r, "what")), Name: ui.FormText(r, "name")}
	made, err := h.Partners.Renew(r.Context(), v.Actor(), v.Partner.ID, partner.Renewal{
		What: c.What, Name: c.Name, Overlap: overlap(r), Replaces: number, Once: q,
	})
	view := secretView{
		Heading: "Your new " + secretWords(c), Repeated: made.Repeated || area.WasSent(err),
		Back: v.Path(credentialsPath),
	}
	switch {
	case view.Repeated:
		return h.showSecret(w, r, v, view)
	case err != nil:
		page, perr := h.refusedRotation(r, v)
		if perr != nil {
			return perr
		}
		return h.refuse(w, r, v, page, err)
	}
	view.Secrets = []ui.Key{{Label: secretWords(c), Value: made.Value}}
	view.Says = rotatedSteps(made, h.Now())
	return h.showSecret(w, r, v, view)
}

// refusedRotation builds the page with the reason a secret was not rotated. If it was replaced in
// the meantime, there is nothing to try again.
func (h *Handler) refusedRotation(r *http.Request, v *Visit) (confirmView, error) {
	c, err := h.Partners.Credential(r.Context(), v.Partner.ID, id(r, "credential"))
	if err != nil {
		return confirmView{}, missing(err)
	}
	if c.Replaced() {
		return confirmView{Heading: "Nothing was rotated", Cancel: v.Path(credentialsPath)}, nil
	}
	return h.rotateView(r, v)
}

// rotatedSteps lists the remaining steps after a rotation.
func rotatedSteps(made partner.Rotation, now time.Time) []string {
	if !made.PreviousUntil.After(now) {
		return []string{"Put it into your servers at once: the replaced one has ended."}
	}
	return []string{
		"Put it into your servers. Both work for another " + span(made.PreviousUntil.Sub(now)) + ".",
		"Check under Credentials that the new one is being used.",
		"Then press “Switch now” there, or let the time run out.",
	}
}

// revokeView builds the page that asks whether to end a secret.
func (h *Handler) revokeView(r *http.Request, v *Visit) (confirmView, partner.Credential, error) {
	c, err := h.Partners.Credential(r.Context(), v.Partner.ID, id(r, "credential"))
	if err != nil {
		return confirmView{}, c, missing(err)
	}
	call := h.call("The same by API", http.MethodDelete, fmt.Sprintf("/v2/credentials/%d", c.ID))
	view := confirmView{
		Heading: fmt.Sprintf("Revoke the %s “%s”", secretWords(c), c.Name), Says: []string{revokeSays(c)},
		Action: v.Path(credentialsPath+"/%d/revoke", c.ID),
		Button: ui.Button{Label: "Revoke it now", Busy: "Revoking…", Kind: "danger"},
		Cancel: v.Path(credentialsPath), Call: &call,
	}
	if c.Replaced() {
		view.Heading = fmt.Sprintf("Switch to the new %s now", secretWords(c))
		view.Button = ui.Button{Label: "Switch now", Busy: "Switching…", Kind: "danger"}
	}
	return view, c, nil
}

// revokeSays describes the effect of ending a secret.
func revokeSays(c partner.Credential) string {
	switch {
	case c.Replaced() && c.Signs:
		return fmt.Sprintf(
			"The replaced %s%s stops working at once, on every server of ours, and webhooks are signed with the new one alone. Do this when your servers verify with the new one.",
			secretWords(c), tailWords(c),
		)
	case c.Replaced():
		return fmt.Sprintf(
			"The replaced %s%s stops working at once, on every server of ours. Do this when nothing uses it any more.",
			secretWords(c), tailWords(c),
		)
	case c.What == partner.ClientSecret:
		return "Sign-ins stop: your application can exchange no code and refresh no token until you make a new client secret. To replace it without a gap, rotate it instead."
	default:
		return fmt.Sprintf(
			"Every program that uses this key%s is refused from now on, on every server of ours. This cannot be undone. To replace it without a gap, rotate it instead.",
			tailWords(c),
		)
	}
}

func (h *Handler) askRevoke(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := h.revokeView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

// revoke ends a secret.
func (h *Handler) revoke(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, c, err := h.revokeView(r, v)
	if err != nil {
		return err
	}
	if _, err := h.Partners.Revoke(r.Context(), v.Actor(), v.Partner.ID, c.ID); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	text := fmt.Sprintf("The %s “%s” is revoked.", secretWords(c), c.Name)
	if c.Replaced() {
		text = fmt.Sprintf("The replaced %s has ended; only the new one works.", secretWords(c))
	}
	return h.done(w, r, v, credentialsPath, text)
}
