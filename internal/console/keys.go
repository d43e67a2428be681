package console

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/oauth"
	"claviger/internal/plural"
	"claviger/internal/ui"
)

const (
	rotateKeysPath = keysPath + "/rotate"
	revokeKeyPath  = keysPath + "/{kid}/revoke"
)

// keys lists the keys that sign identity tokens.
func (s *System) keys(w http.ResponseWriter, r *http.Request, v *Visit) error {
	list, err := s.Keys.List(r.Context())
	if err != nil {
		return err
	}
	t := ui.Table{
		ID: "keys", Caption: "Signing keys", Cards: true,
		Columns: []ui.Column{
			{Label: "Key", Wrap: true},
			{Label: "State"},
			{Label: "Signs from", Named: true, Wrap: true},
			{Label: "Published until", Named: true, Wrap: true},
			{Label: "Rotate before", Named: true, Wrap: true},
		},
	}
	dash := func(at time.Time) ui.Cell {
		if at.IsZero() {
			return ui.Cell{Text: "–"}
		}
		return ui.Cell{At: at}
	}
	for _, k := range list {
		age := plural.Of(int(s.Now().Sub(k.CreatedAt).Hours()/24), "day")
		key := ui.Cell{Text: k.ID, Code: true, Note: fmt.Sprintf("%s, %s old", k.Alg, age)}
		if v.May(account.Admin) {
			key.Acts = ui.Links(ui.RowLink{Label: "Revoke…", Of: k.ID, URL: v.Path(keysPath+"/%s/revoke", k.ID)})
		}
		t.Rows = append(t.Rows, ui.Row{ID: "key-" + k.ID, Cells: []ui.Cell{
			key,
			{Status: string(k.State)},
			dash(k.ActivatesAt), dash(k.ServedUntil), dash(k.EndsAt()),
		}})
	}
	view := recordsView{
		Heading: "Signing keys",
		Lead: "They sign identity tokens. The next one is published before it signs, and the previous one until " +
			"every token that it signed has expired.",
		Results: ui.Results{
			Table: t, Nothing: ui.Empty{Title: "No key yet", Text: "The first sign-in of a buyer makes them."},
		},
		Curl: s.call("The same by API", http.MethodGet, "/operator/v1/keys"),
	}
	if v.May(account.Admin) {
		for _, alg := range []oauth.Alg{oauth.RS256, oauth.ES256} {
			view.Acts = append(
				view.Acts,
				ui.Tab{Label: "Rotate " + string(alg) + "…", URL: v.Path(rotateKeysPath) + "?alg=" + string(alg)},
			)
		}
	}
	return s.render(w, r, v, "records", ui.View{Title: "Signing keys", Data: view})
}

// seenKeys returns the state of an algorithm's keys that a page showed.
func seenKeys(list []oauth.Key, alg oauth.Alg) area.Seen {
	seen := area.Seen{Version: string(alg)}
	for _, k := range list {
		if k.Alg == alg {
			seen.Version += " " + k.ID + " " + string(k.State)
			seen.Facts = append(seen.Facts, area.Fact{Name: "Key " + k.ID, Value: string(k.State)})
		}
	}
	return seen
}

// rotate rotates the keys of an algorithm, which the query of the page and its form name.
func (s *System) rotate(r *http.Request, v *Visit) (area.Action, error) {
	alg := oauth.Alg(r.URL.Query().Get("alg"))
	if r.Method == http.MethodPost {
		alg = oauth.Alg(ui.FormText(r, "alg"))
	}
	if alg != oauth.RS256 && alg != oauth.ES256 {
		return area.Action{
			Ask: ui.Confirm{Heading: "Rotate a key", Cancel: v.Path(keysPath)},
			Refused: fault.New(
				fault.Invalid, codeUnknownAlg, "The form does not say whether the RS256 key or the ES256 key is "+
					"meant. Nothing was rotated; go back and choose one.",
			),
		}, nil
	}
	list, err := s.Keys.List(r.Context())
	if err != nil {
		return area.Action{}, err
	}
	call := s.call("The same by API", http.MethodPost, "/operator/v1/keys/rotate")
	call.JSON = fmt.Sprintf(`{"alg": %q, "now": false}`, alg)
	view := ui.Confirm{
		Heading: "Rotate the " + string(alg) + " key", Cancel: v.Path(keysPath), Call: &call,
		Hidden: []ui.Param{{Name: "alg", Value: string(alg)}},
		Says: []string{
			"The next key becomes the one that signs, a day after it was first published: by then every application " +
				"that caches the keys has it. A new next key is made.",
			"The present key stays published until every token that it signed has expired. Nobody is signed out.",
			"If somebody else may know the present key, revoke it instead: a key that was rotated is still published " +
				"and trusted for two hours, and the next key was stored beside it.",
		},
		Form: ui.Form{Fields: []ui.Field{{
			Name: "now", Label: "Sign with the next key at once", Type: "checkbox",
			Hint: "Applications that cache the keys, for up to an hour, refuse sign-ins until they read them again.",
		}}},
		Button: ui.Button{Label: "Rotate it", Busy: "Rotating…", Kind: "danger"},
	}
	return area.Action{Ask: view, Seen: seenKeys(list, alg), Do: func(ctx context.Context) (string, error) {
		list, err := s.Keys.Rotate(ctx, v.Actor(), alg, ui.FormText(r, "now") != "")
		return s.rotated(list, alg), err
	}}, nil
}

// rotated says when the new key starts to sign.
func (s *System) rotated(list []oauth.Key, alg oauth.Alg) string {
	var from time.Time
	for _, k := range list {
		if k.Alg == alg && k.ActivatesAt.After(from) {
			from = k.ActivatesAt
		}
	}
	if from.After(s.Now()) {
		return fmt.Sprintf(
			"The next %s key signs from %s on; until then the present one does.", alg, ui.InSentence(from),
		)
	}
	return fmt.Sprintf("The next %s key signs from now on.", alg)
}
