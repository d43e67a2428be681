package area

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// Action is an act with the page that asks for it.
type Action struct {
	Ask     ui.Confirm // its form posts to the same path, unless it has another target, or no button
	Seen    Seen       // if not zero, the state that the page shows: a form from another state is refused
	Refused error      // the reason that the act is not possible now: the page gives it and has no form
	Skip    string     // if not "", the URL to go to in place of the page, because there is nothing to ask

	// First, if not "", is the URL to go to in place of the page and of the act, such as that of the sign-in.
	First string

	// Do performs the act and returns the message about it. It may read the form of the request.
	Do func(ctx context.Context) (done string, err error)
	// Make, in place of Do, makes secrets and returns the page that shows them. If it fails because
	// the form was sent before, the page says so.
	Make func(ctx context.Context) (ui.Secrets, error)
	// Create, in place of Do, makes a thing that has a page, and returns the URL of that page, too.
	Create func(ctx context.Context) (to, done string, err error)

	// Then, in place of Do, returns a second page that asks, for the completed first one.
	Then func(ask ui.Confirm) (ui.Confirm, error)

	To string // the URL afterwards, "" for Ask.Cancel
}

// Actions returns the rows of an act: the page that asks, and its form. read returns the act for
// both.
func Actions(path string, rule Rule, read func(r *http.Request, v Visit) (Action, error)) []Route {
	return []Route{
		{Kind: Page, Path: path, Needs: rule(Page, true), Ask: read},
		{Kind: Act, Path: path, Needs: rule(Act, true), Ask: read},
	}
}

// complete adds the parts of the page that the act does not name, and the typed values.
func (c *Action) complete(r *http.Request) {
	view := &c.Ask
	if view.Action == "" && view.Button.Label != "" {
		view.Action = r.URL.EscapedPath()
	}
	if c.Seen.Version != "" {
		view.Hidden = append(view.Hidden, c.Seen.Param())
	}
	if c.Refused != nil {
		view.Action = ""
		view.Fields = nil
	}
	if c.To == "" {
		c.To = view.Cancel
	}
	if r.Method != http.MethodPost {
		return
	}
	for i := range view.Fields {
		switch f := &view.Fields[i]; {
		case f.Type == "checkbox":
			f.Checked = r.PostForm.Has(f.Name)
		case r.PostForm.Has(f.Name):
			f.Value = ui.FormText(r, f.Name)
		}
	}
}

// ask shows the page of an act. An act that conflicts with the present state has a page like any
// other, without a form.
func (a *Area) ask(
	w http.ResponseWriter, r *http.Request, v Visit, read func(*http.Request, Visit) (Action, error),
) error {
	act, err := read(r, v)
	if err != nil {
		return err
	}
	if to := cmp.Or(act.First, act.Skip); to != "" {
		ui.SeeOther(w, r, to)
		return nil
	}
	act.complete(r)
	if f := fault.Of(act.Refused); act.Refused != nil && (f == nil || f.Kind != fault.Conflict) {
		return a.Refuse(w, r, v, act.Ask, act.Refused)
	}
	if act.Refused != nil {
		act.Ask.Refuse(act.Refused)
	}
	return a.Confirm(w, r, v, http.StatusOK, act.Ask)
}

// perform performs the act of a form.
func (a *Area) perform(
	w http.ResponseWriter, r *http.Request, v Visit, read func(*http.Request, Visit) (Action, error),
) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	act, err := read(r, v)
	if err != nil {
		return err
	}
	if act.First != "" {
		ui.SeeOther(w, r, act.First)
		return nil
	}
	act.complete(r)
	if act.Seen.Version != "" {
		err = act.Seen.Unchanged(r)
	}
	if err == nil {
		err = act.Refused
	}
	var shown ui.Secrets
	var done string
	switch {
	case err != nil:
	case act.Make != nil:
		shown, err = act.Make(r.Context())
		if WasSent(err) {
			shown.Repeated = true
			err = nil
		}
	case act.Then != nil:
		var second ui.Confirm
		if second, err = act.Then(act.Ask); err == nil {
			return a.Confirm(w, r, v, http.StatusOK, second)
		}
	case act.Create != nil:
		act.To, done, err = act.Create(r.Context())
	case act.Do != nil:
		done, err = act.Do(r.Context())
	default: // the page says why it is not possible
		return a.Confirm(w, r, v, http.StatusConflict, act.Ask)
	}
	switch {
	case err != nil:
		return a.Refuse(w, r, v, act.Ask, err)
	case act.Make != nil:
		shown.Back = cmp.Or(shown.Back, act.To)
		return a.ShowSecrets(w, r, v, shown)
	case done != "":
		a.Site.Sessions.Flash(r.Context(), done)
	}
	ui.SeeOther(w, r, act.To)
	return nil
}

// Confirm shows the page of an act. After a refusal, status is that of the refusal.
func (a *Area) Confirm(w http.ResponseWriter, r *http.Request, visit Visit, status int, view ui.Confirm) error {
	return a.Render(w, r, visit, ui.PageConfirm, ui.View{Title: view.Heading, Status: status, Data: view})
}

// Refuse shows the page of an act again with the error. An unknown id gets the answer of a missing
// page; an error that is not the sender's is returned.
func (a *Area) Refuse(w http.ResponseWriter, r *http.Request, visit Visit, view ui.Confirm, err error) error {
	f := fault.Of(err)
	if f == nil || f.Kind == fault.Missing {
		return Missing(err)
	}
	view.Refuse(err)
	if f.After > 0 {
		view.Problem += " Try again in " + ui.RetryAfter(w.Header(), f.After) + "."
	}
	return a.Confirm(w, r, visit, wire.Status(f.Kind), view)
}

// Done redirects to a page of the area, with a message about the act.
func (a *Area) Done(w http.ResponseWriter, r *http.Request, visit Visit, path, text string) error {
	a.Site.Sessions.Flash(r.Context(), text)
	ui.SeeOther(w, r, visit.Path("%s", path))
	return nil
}

// ShowSecrets answers with new secrets. It does not redirect, so they are only in this response.
func (a *Area) ShowSecrets(w http.ResponseWriter, r *http.Request, visit Visit, view ui.Secrets) error {
	status := http.StatusOK
	if view.Repeated {
		status = http.StatusConflict
	}
	return a.Render(w, r, visit, ui.PageSecrets, ui.View{Title: view.Heading, Status: status, Data: view})
}

// ID reads a number of the path. Anything else is 0, which is no valid id.
func ID(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// formNonce is the hidden field that tells a resent form from a new one.
const formNonce = "form"

// Nonce returns a new value of the hidden field that Once reads.
func Nonce() ui.Param { return ui.Param{Name: formNonce, Value: secret.Make("")[:32]} }

// Once identifies the form of a request. Sending it again, for example by a reload, creates nothing
// a second time.
func (a *Area) Once(r *http.Request, visit Visit) (idempotency.Request, error) {
	q := idempotency.Request{
		Scope: a.Name + ":user:" + strconv.FormatInt(visit.Common().User.ID, 10), Key: r.PostFormValue(formNonce),
		Body: secret.Hash(r.URL.Path + "?" + r.PostForm.Encode()),
	}
	if q.Valid() != nil {
		return q, fault.New(
			fault.Invalid,
			CodeIncompleteForm,
			"The form was not sent whole. Go back, reload the page and send it again.",
		)
	}
	return q, nil
}

// WasSent reports whether an error says that the form was sent before, or is being handled now.
func WasSent(err error) bool {
	return fault.Is(err, idempotency.CodeIdempotencyKeyInUse) || fault.Is(err, idempotency.CodeIdempotencyKeyReused)
}
