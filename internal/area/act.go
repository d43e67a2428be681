package area

import (
	"net/http"
	"strconv"

	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// Confirm shows the page of an act. After a refusal it has the status of that.
func (a *Area[N, V]) Confirm(w http.ResponseWriter, r *http.Request, visit V, status int, view ui.Confirm) error {
	return a.Render(w, r, visit, ui.PageConfirm, ui.View{Title: view.Heading, Status: status, Data: view})
}

// Refuse shows the page of an act again with what is wrong. An id that is unknown is
// answered as a page that does not exist; what nobody can correct is an error of its own.
func (a *Area[N, V]) Refuse(w http.ResponseWriter, r *http.Request, visit V, view ui.Confirm, err error) error {
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

// Done leads on to a page of the area, which says what was done.
func (a *Area[N, V]) Done(w http.ResponseWriter, r *http.Request, visit V, path, text string) error {
	a.Site.Sessions.Flash(r.Context(), text)
	ui.SeeOther(w, r, visit.Path("%s", path))
	return nil
}

// ShowSecrets answers with new secrets: no redirect, so that they are in this answer and
// nowhere else.
func (a *Area[N, V]) ShowSecrets(w http.ResponseWriter, r *http.Request, visit V, view ui.Secrets) error {
	status := http.StatusOK
	if view.Repeated {
		status = http.StatusConflict
	}
	return a.Render(w, r, visit, ui.PageSecrets, ui.View{Title: view.Heading, Status: status, Data: view})
}

// ID reads a number of the path. What is no number is 0, which nothing has.
func ID(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// formNonce is the hidden field that tells a form that is sent again from a new one.
const formNonce = "form"

// Nonce is a new value of the hidden field that Once reads.
func Nonce() ui.Param { return ui.Param{Name: formNonce, Value: secret.Make("")[:32]} }

// Once identifies the form of a request. Whoever sends it again, by reloading the page
// that answered it, makes nothing a second time.
func (a *Area[N, V]) Once(r *http.Request, visit V) (idempotency.Request, error) {
	q := idempotency.Request{
		Scope: a.Name + ":user:" + strconv.FormatInt(visit.Common().User.ID, 10), Key: r.PostFormValue(formNonce),
		Body: secret.Hash(r.URL.Path + "?" + r.PostForm.Encode()),
	}
	if q.Valid() != nil {
		return q, fault.New(fault.Invalid, CodeIncompleteForm, "The form was not sent whole. Go back, reload the page and send it again.")
	}
	return q, nil
}

// WasSent reports whether an error says that the form was sent before, or is being
// handled at this moment.
func WasSent(err error) bool {
	return fault.Is(err, idempotency.CodeIdempotencyKeyInUse) || fault.Is(err, idempotency.CodeIdempotencyKeyReused)
}
