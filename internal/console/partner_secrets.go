package console

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

const (
	secretsPath = partnerPath + "/credentials"
	rotatePath  = secretsPath + "/{credential}/rotate"
	switchPath  = secretsPath + "/{credential}/switch"
)

// secretsView lists the secrets of a partner without their values.
type secretsView struct {
	Partner partner.Partner
	Tabs    ui.Tabs
	Table   ui.Table
	Call    ui.Curl
}

// secretNames are the display names of secrets.
var secretNames = map[partner.Secret]string{
	partner.ClientSecret:  "client secret",
	partner.APIKey:        "API key",
	partner.WebhookSecret: "webhook secret",
}

func (p *Partners) secrets(w http.ResponseWriter, r *http.Request, v *Visit) error {
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	list, err := p.Partners.ListCredentials(r.Context(), one.ID)
	if err != nil {
		return err
	}
	view := secretsView{
		Partner: one, Tabs: p.tabs(v, one, secretsPath),
		Table: ui.Table{ID: "credentials", Caption: "Credentials", Cards: true, Columns: []ui.Column{
			{
				Label: "What",
			}, {Label: "Name"}, {Label: "Ends in"}, {Label: "Made"}, {Label: "Last used"}, {Label: "State"},
		}},
		Call: p.call("Rotate a secret by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/rotate", one.ID)),
	}
	view.Call.JSON = area.JSON(map[string]any{"what": "webhook_secret", "overlap_s": 86400})
	for _, c := range list {
		what := ui.Cell{Text: secretNames[c.What]}
		state := ui.Cell{Text: "In use"}
		if c.Replaced() {
			state = ui.Cell{Text: "Replaced", Note: "Works for another " + area.Span(c.EndsAt.Sub(p.Now())) + "."}
			if v.May(account.Admin) && c.Name == partner.MainKey {
				what.Acts = ui.Links(
					ui.RowLink{
						Label: "Switch now",
						Of:    "to the new " + secretNames[c.What],
						URL:   v.Path("%s/%d/switch", ofPartner(secretsPath, one.ID), c.ID),
					},
				)
			}
		} else if v.May(account.Admin) && c.Name == partner.MainKey { // as in the API
			what.Acts = ui.Links(ui.RowLink{
				Label: "Rotate", Of: "the " + secretNames[c.What],
				URL: v.Path("%s/%d/rotate", ofPartner(secretsPath, one.ID), c.ID),
			})
		}
		view.Table.Rows = append(view.Table.Rows, ui.Row{ID: fmt.Sprintf("credential-%d", c.ID), Cells: []ui.Cell{
			what, {Text: c.Name}, {Text: c.Tail, Code: true}, {At: c.CreatedAt}, {At: c.LastUsedAt}, state,
		}})
	}
	return p.render(w, r, v, "partner-credentials", ui.View{Title: "Credentials of " + one.Name, Data: view})
}

// overlaps are the periods for which a replaced secret can still work.
var overlaps = []ui.Option{
	{Value: "0", Label: "Not at all: it ends at once"},
	{Value: "3600", Label: "1 hour"},
	{Value: "86400", Label: "24 hours"},
	{Value: "604800", Label: "7 days"},
	{Value: "2592000", Label: "30 days"},
}

// rotateView builds the page that rotates a secret. As in the API, operators rotate only the main
// secrets; the partner manages its other keys.
func (p *Partners) rotateView(r *http.Request, v *Visit) (ui.Confirm, partner.Partner, partner.Credential, error) {
	one, _, err := p.one(r)
	if err != nil {
		return ui.Confirm{}, one, partner.Credential{}, err
	}
	c, err := p.Partners.Credential(r.Context(), one.ID, area.ID(r, "credential"))
	if err != nil {
		return ui.Confirm{}, one, c, area.Missing(err)
	}
	if c.Name != partner.MainKey {
		return ui.Confirm{}, one, c, area.NotFound()
	}
	if c.Replaced() {
		return ui.Confirm{
			Heading: "Nothing was rotated", Says: []string{"This secret was replaced already. If somebody else did " +
				"it, the new one is in the list."},
			Cancel: v.Path("%s", ofPartner(secretsPath, one.ID)),
		}, one, c, nil
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/rotate", one.ID))
	call.JSON = area.JSON(map[string]any{"what": string(c.What), "overlap_s": 86400})
	return ui.Confirm{
		Heading: fmt.Sprintf("Rotate the %s of %s", secretNames[c.What], one.Name),
		Says: []string{
			"A new one is made and shown once, in the answer to this form: you hand it to the partner. The present " +
				"one goes on working for as long as you choose.",
			"One that was replaced earlier and still works ends now. The partner's people can do this by themselves " +
				"in their portal, where nobody else sees the secret.",
		},
		Form: ui.Form{Fields: []ui.Field{
			{
				Name:     "overlap_s",
				Label:    "How long the present one goes on working",
				Type:     "select",
				Value:    "86400",
				Options:  overlaps,
				Required: true,
			},
		}},
		Action: v.Path("%s/%d/rotate", ofPartner(secretsPath, one.ID), c.ID), Hidden: []ui.Param{area.Nonce()},
		Button: ui.Button{
			Label: "Rotate",
			Busy:  "Rotating…",
			Kind:  "danger",
		}, Cancel: v.Path("%s", ofPartner(secretsPath, one.ID)), Call: &call,
	}, one, c, nil
}

func (p *Partners) askRotate(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := p.rotateView(r, v)
	if err != nil {
		return err
	}
	return p.area.Confirm(w, r, v, http.StatusOK, view)
}

// rotate replaces a secret and shows the new one. Sending the form again rotates nothing.
func (p *Partners) rotate(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, one, c, err := p.rotateView(r, v)
	if err != nil {
		return err
	}
	once, err := p.area.Once(r, v)
	if err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	seconds, err := strconv.ParseInt(typed(r, &view, "overlap_s"), 10, 32)
	if err != nil {
		seconds = -1 // refused
	}
	made, err := p.Partners.Renew(r.Context(), v.Actor(), one.ID, partner.Renewal{
		What: c.What, Overlap: time.Duration(seconds) * time.Second, Replaces: c.ID, Once: once,
	})
	shown := ui.Secrets{
		Heading: "The new " + secretNames[c.What] + " of " + one.Name, Repeated: made.Repeated || area.WasSent(err),
		Back: v.Path("%s", ofPartner(secretsPath, one.ID)),
	}
	if err != nil && !shown.Repeated {
		return p.area.Refuse(w, r, v, view, err)
	}
	if !shown.Repeated {
		shown.Secrets = []ui.Key{{Label: secretNames[c.What], Value: made.Value}}
		shown.Says = []string{
			"Hand it to the partner in a way that nobody else reads. We keep no copy that could be shown.",
		}
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
