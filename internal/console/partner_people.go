package console

import (
	"cmp"
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

const partnerPeoplePath = partnerPath + "/people"

// partnerPeopleView lists the members of a partner.
type partnerPeopleView struct {
	Partner partner.Partner
	Tabs    ui.Tabs
	Team    ui.Table
	Add     ui.Curl
}

// people shows a partner's team. Only the partner's own admins change it.
func (p *Partners) people(w http.ResponseWriter, r *http.Request, v *Visit) error {
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	members, err := p.Partners.Members(r.Context(), one.ID)
	if err != nil {
		return err
	}
	ids := make([]int64, len(members))
	for i, m := range members {
		ids[i] = m.UserID
	}
	users, err := p.Site.Accounts.Users(r.Context(), ids)
	if err != nil {
		return err
	}
	view := partnerPeopleView{
		Partner: one, Tabs: p.tabs(v, one, partnerPeoplePath),
		Team: ui.Table{
			ID:      "team",
			Caption: "Team",
			Cards:   true,
			Columns: []ui.Column{{Label: "Name"}, {Label: "Email address"}, {Label: "Role"}, {Label: "Since"}},
		},
		Add: p.call("Add a member by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/members", one.ID)),
	}
	view.Add.JSON = area.JSON(map[string]string{"email": "ada@example.com", "role": "admin"})
	for _, m := range members {
		u := users[m.UserID]
		name := ui.Cell{Text: cmp.Or(u.Name, u.Email, "Deleted account")}
		if u.ID != 0 && p.area.Has(peoplePath+"/{person}", v) {
			name.URL = v.Path(peoplePath+"/%d", u.ID)
		}
		view.Team.Rows = append(view.Team.Rows, ui.Row{
			ID:    fmt.Sprintf("member-%d", m.UserID),
			Cells: []ui.Cell{name, {Text: u.Email}, {Text: string(m.Role)}, {At: m.CreatedAt}},
		})
	}
	return p.render(w, r, v, "partner-people", ui.View{Title: "People of " + one.Name, Data: view})
}
