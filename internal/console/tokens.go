package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/ui"
)

const (
	newTokenPath    = tokensPath + "/new"
	revokeTokenPath = tokensPath + "/{token}/revoke"
)

// tokens lists the tokens of the operator API.
func (s *System) tokens(w http.ResponseWriter, r *http.Request, v *Visit) error {
	list, err := s.Accounts.Tokens(r.Context())
	if err != nil {
		return err
	}
	t := ui.Table{
		ID: "tokens", Caption: "Operator tokens, newest first", Cards: true,
		Columns: []ui.Column{
			{Label: "Token"},
			{Label: "State"},
			{Label: "Scopes"},
			{Label: "Made", Named: true},
			{Label: "Expires", Named: true},
			{Label: "Last used", Named: true},
			{Label: "Do"},
		},
	}
	for _, token := range list {
		expires := ui.Cell{At: token.ExpiresAt}
		if token.ExpiresAt.IsZero() {
			expires = ui.Cell{Text: "never"}
		}
		used := ui.Cell{At: token.LastUsed}
		if token.LastUsed.IsZero() {
			used = ui.Cell{Text: "never"}
		}
		do := ui.Cell{Text: "–"}
		if tokenState(token, s.Now()) == "active" {
			do = ui.Cell{
				Acts: ui.Links(
					ui.RowLink{Label: "Revoke…", Of: token.Name, URL: v.Path(tokensPath+"/%d/revoke", token.ID)},
				),
			}
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("token-%d", token.ID), Cells: []ui.Cell{
			{
				Text: token.Name,
				Note: fmt.Sprintf("token %d", token.ID),
			}, {Status: tokenState(token, s.Now())}, {Text: scopesOf(token)}, {At: token.CreatedAt}, expires, used, do,
		}})
	}
	view := recordsView{
		Heading: "Tokens", Lead: "Programs of the marketplace use the operator API by a token. Its secret is shown " +
			"once, when it is made.",
		Acts:    []ui.Tab{{Label: "Make a token…", URL: v.Path(newTokenPath), Current: true}},
		Results: ui.Results{Table: t, Nothing: ui.Empty{Title: "No token yet", Text: "Make one for each program."}},
		Curl:    s.call("The same by API", http.MethodGet, "/operator/v1/tokens"),
	}
	return s.render(w, r, v, "records", ui.View{Title: "Tokens", Data: view})
}

// tokenState returns whether a token works.
func tokenState(t account.Token, now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now):
		return "expired"
	}
	return "active"
}

// scopesOf lists the scopes of a token.
func scopesOf(t account.Token) string {
	list := make([]string, len(t.Scopes))
	for i, scope := range t.Scopes {
		list[i] = string(scope)
	}
	return strings.Join(list, ", ")
}

// allScopes are the scopes that a token can have.
var allScopes = []struct {
	scope account.Scope
	label string
}{{account.Read, "read: see everything"}, {account.Sell, "sell: purchases, plan changes, refunds"}, {account.Support, "support: hold, reinstate, release, redeliver"}, {account.Admin, "admin: everything"}}

// lifetimes are the possible lifetimes of a token.
var lifetimes = []ui.Option{
	{Value: "90", Label: "90 days"},
	{Value: "365", Label: "A year"},
	{Value: "", Label: "No end"},
}

// tokenForm builds the page that creates a token.
func (s *System) tokenForm(v *Visit) ui.Confirm {
	view := ui.Confirm{
		Heading: "Make a token", Action: v.Path(newTokenPath), Cancel: v.Path(tokensPath), Hidden: []ui.Param{area.Nonce()},
		Says: []string{
			"Its secret is shown once, on the page that follows. Give each program a token of its own with no more " +
				"scopes than it needs.",
		},
		Button: ui.Button{Label: "Make it", Busy: "Making…"},
		Form: ui.Form{
			Fields: []ui.Field{{Name: "name", Label: "Name of the program", Required: true, Autofocus: true}},
		},
	}
	for _, a := range allScopes {
		view.Fields = append(
			view.Fields,
			ui.Field{
				Name:    "scope_" + string(a.scope),
				Label:   a.label,
				Type:    "checkbox",
				Checked: a.scope == account.Read,
			},
		)
	}
	view.Fields = append(
		view.Fields,
		ui.Field{Name: "days", Label: "Works for", Type: "select", Options: lifetimes, Value: lifetimes[0].Value},
	)
	return view
}

// askToken shows the form for a new token.
func (s *System) askToken(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return s.area.Confirm(w, r, v, http.StatusOK, s.tokenForm(v))
}

// makeToken creates a token and shows its secret.
func (s *System) makeToken(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view := s.tokenForm(v)
	var scopes []account.Scope
	for i := range view.Fields {
		f := &view.Fields[i]
		if scope, ok := strings.CutPrefix(f.Name, "scope_"); ok {
			if f.Checked = ui.FormText(r, f.Name) != ""; f.Checked {
				scopes = append(scopes, account.Scope(scope))
			}
		} else {
			f.Value = ui.FormText(r, f.Name)
		}
	}
	once, err := s.area.Once(r, v)
	if err != nil {
		return s.area.Refuse(w, r, v, view, err)
	}
	var expires time.Time
	switch days := ui.FormText(r, "days"); days {
	case "90":
		expires = s.Now().Add(90 * 24 * time.Hour)
	case "365":
		expires = s.Now().Add(365 * 24 * time.Hour)
	case "":
	default:
		return s.area.Refuse(w, r, v, view, fault.Field("days", "is not one of the list."))
	}
	if len(scopes) == 0 {
		view.Problem = "Choose what the token may do."
		return s.area.Confirm(w, r, v, http.StatusUnprocessableEntity, view)
	}
	if view.Fields[0].Value == "" {
		return s.area.Refuse(w, r, v, view, fault.Field("name", "is missing."))
	}
	token, secret, sent, err := s.Accounts.AddTokenOnce(
		r.Context(),
		v.Actor(),
		ui.FormText(r, "name"),
		scopes,
		expires,
		"",
		&once,
	)
	if sent || area.WasSent(err) {
		return s.area.ShowSecrets(w, r, v, ui.Secrets{Heading: "The token", Repeated: true, Back: v.Path(tokensPath)})
	}
	if err != nil {
		return s.area.Refuse(w, r, v, view, err)
	}
	return s.area.ShowSecrets(w, r, v, ui.Secrets{
		Heading: "The token " + token.Name, Secrets: []ui.Key{{Label: "operator token", Value: secret}}, Back: v.Path(tokensPath),
		Says: []string{
			"Copy it now: it is not shown again. The program sends it as Authorization: Bearer, with the token " +
				"behind it.",
		},
	})
}

// revoke revokes the token of the path.
func (s *System) revoke(r *http.Request, v *Visit) (area.Action, error) {
	list, err := s.Accounts.Tokens(r.Context())
	if err != nil {
		return area.Action{}, err
	}
	for _, t := range list {
		if t.ID != area.ID(r, "token") {
			continue
		}
		state := tokenState(t, s.Now())
		seen := area.Seen{Version: state, Facts: []area.Fact{{Name: "State", Value: state}}}
		call := s.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/tokens/%d/revoke", t.ID))
		view := ui.Confirm{
			Heading: "Revoke the token " + t.Name, Cancel: v.Path(tokensPath), Call: &call,
			Says: []string{
				fmt.Sprintf(
					"Every call with this token (%s) is refused from now on. This cannot be undone; make a new "+
						"token first if a program needs one.",
					scopesOf(t),
				),
			},
			Button: ui.Button{Label: "Revoke it", Busy: "Revoking…", Kind: "danger"},
		}
		if state != "active" {
			view.Button = ui.Button{}
			view.Says = []string{"This token does not work any more: it is " + state + "."}
		}
		return area.Action{Ask: view, Seen: seen, Do: func(ctx context.Context) (string, error) {
			_, err := s.Accounts.RevokeToken(ctx, v.Actor(), t.ID)
			return "The token is revoked.", err
		}}, nil
	}
	return area.Action{}, area.NotFound()
}
