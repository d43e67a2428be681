package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
			{Text: token.Name, Note: fmt.Sprintf("token %d", token.ID)},
			{Status: tokenState(token, s.Now())},
			{Text: scopesOf(token)},
			{At: token.CreatedAt},
			expires,
			used,
			do,
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
}{
	{account.Read, "read: see everything"},
	{account.Sell, "sell: purchases, plan changes, refunds"},
	{account.Support, "support: hold, reinstate, release, redeliver"},
	{account.Admin, "admin: everything"},
}

// lifetimes are the possible lifetimes of a token.
var lifetimes = []ui.Option{
	{Value: "90", Label: "90 days"},
	{Value: "365", Label: "A year"},
	{Value: "", Label: "No end"},
}

// newToken creates a token and shows its secret.
func (s *System) newToken(r *http.Request, v *Visit) (area.Action, error) {
	view := ui.Confirm{
		Heading: "Make a token", Cancel: v.Path(tokensPath), Hidden: []ui.Param{area.Nonce()},
		Says: []string{
			"Its secret is shown once, on the page that follows. Give each program a token of its own with no more " +
				"scopes than it needs.",
		},
		Button: ui.Button{Label: "Make it", Busy: "Making…"},
		Form: ui.Form{Fields: []ui.Field{
			{Name: "name", Label: "Name of the program", Required: true, Autofocus: true},
		}},
	}
	for _, a := range allScopes {
		view.Fields = append(view.Fields, ui.Field{
			Name: "scope_" + string(a.scope), Label: a.label, Type: "checkbox", Checked: a.scope == account.Read,
		})
	}
	view.Fields = append(view.Fields, ui.Field{
		Name: "days", Label: "Works for", Type: "select", Options: lifetimes, Value: lifetimes[0].Value,
	})
	return area.Action{Ask: view, Make: func(ctx context.Context) (ui.Secrets, error) {
		return s.makeToken(ctx, r, v)
	}}, nil
}

// makeToken creates the token of a form.
func (s *System) makeToken(ctx context.Context, r *http.Request, v *Visit) (ui.Secrets, error) {
	shown := ui.Secrets{Heading: "The token"}
	once, err := s.area.Once(r, v)
	if err != nil {
		return shown, err
	}
	expires, err := s.tokenExpiry(ui.FormText(r, "days"))
	if err != nil {
		return shown, err
	}
	var scopes []account.Scope
	for _, a := range allScopes {
		if ui.FormText(r, "scope_"+string(a.scope)) != "" {
			scopes = append(scopes, a.scope)
		}
	}
	if len(scopes) == 0 {
		return shown, fault.New(fault.Unprocessable, area.CodeIncompleteForm, "Choose what the token may do.")
	}
	name := ui.FormText(r, "name")
	if name == "" {
		return shown, fault.Field("name", "is missing.")
	}
	token, secret, sent, err := s.Accounts.AddTokenOnce(ctx, v.Actor(), name, scopes, expires, "", &once)
	return ui.Secrets{
		Heading: strings.TrimSpace("The token " + token.Name), Repeated: sent,
		Secrets: []ui.Key{{Label: "operator token", Value: secret}},
		Says: []string{
			"Copy it now: it is not shown again. The program sends it as Authorization: Bearer, with the token " +
				"behind it.",
		},
	}, err
}

// tokenExpiry returns the end of a token that works for so many days, zero for one without an end.
func (s *System) tokenExpiry(days string) (time.Time, error) {
	if !slices.ContainsFunc(lifetimes, func(o ui.Option) bool { return o.Value == days }) {
		return time.Time{}, fault.Field("days", "is not one of the list.")
	}
	if days == "" {
		return time.Time{}, nil
	}
	n, err := strconv.Atoi(days)
	return s.Now().AddDate(0, 0, n), err
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
