package console

import (
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

const secretsPath = partnerPath + "/credentials"

// secretsView lists the secrets of a partner without their values.
type secretsView struct {
	Partner partner.Partner
	Tabs    ui.Tabs
	Table   ui.Table
	Call    ui.Curl
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
			{Label: "What"},
			{Label: "Name"},
			{Label: "Ends in"},
			{Label: "Made"},
			{Label: "Last used"},
			{Label: "State"},
		}},
		Call: p.call("Rotate a secret by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/rotate", one.ID)),
	}
	view.Call.JSON = area.JSON(map[string]any{"what": "webhook_secret", "overlap_s": 86400})
	for _, c := range list {
		what := ui.Cell{Text: area.SecretName(c.What)}
		state := ui.Cell{Text: "In use"}
		if c.Replaced() {
			state = ui.Cell{Text: "Replaced", Note: "Works for another " + area.Span(c.EndsAt.Sub(p.Now())) + "."}
			if v.May(account.Admin) && c.Name == partner.MainKey {
				what.Acts = ui.Links(ui.RowLink{
					Label: "Switch now",
					Of:    "to the new " + area.SecretName(c.What),
					URL:   v.Path("%s/%d/switch", ofPartner(secretsPath, one.ID), c.ID),
				})
			}
		} else if v.May(account.Admin) && c.Name == partner.MainKey { // as in the API
			what.Acts = ui.Links(ui.RowLink{
				Label: "Rotate", Of: "the " + area.SecretName(c.What),
				URL: v.Path("%s/%d/rotate", ofPartner(secretsPath, one.ID), c.ID),
			})
		}
		view.Table.Rows = append(view.Table.Rows, ui.Row{ID: fmt.Sprintf("credential-%d", c.ID), Cells: []ui.Cell{
			what, {Text: c.Name}, {Text: c.Tail, Code: true}, {At: c.CreatedAt}, {At: c.LastUsedAt}, state,
		}})
	}
	return p.render(w, r, v, "partner-credentials", ui.View{Title: "Credentials of " + one.Name, Data: view})
}
