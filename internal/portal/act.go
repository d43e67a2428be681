package portal

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// confirmView is a page that says what an act will do and asks for it.
type confirmView struct {
	ui.Form
	Heading string
	Says    []string // what will happen, in paragraphs
	Action  string   // where the form is sent
	Hidden  []ui.Param
	Button  ui.Button
	Cancel  string // back, without doing it
	Call    *ui.Curl
}

// confirm shows the page of an act. After a refusal it has the status of that.
func (h *Handler) confirm(w http.ResponseWriter, r *http.Request, v *Visit, status int, view confirmView) error {
	return h.render(w, r, v, "confirm", ui.View{Title: view.Heading, Status: status, Data: view})
}

// refuse shows the page of an act again with what is wrong. An id that is not the
// partner's is answered as a page that does not exist; what nobody can correct is an
// error of its own.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, v *Visit, view confirmView, err error) error {
	f := fault.Of(err)
	if f == nil || f.Kind == fault.Missing {
		return missing(err)
	}
	view.Refuse(err)
	if f.After > 0 {
		view.Problem += " Try again in " + ui.RetryAfter(w.Header(), f.After) + "."
	}
	return h.confirm(w, r, v, wire.Status(f.Kind), view)
}

// missing answers an id that is unknown, or another partner's, like every page that does
// not exist.
func missing(err error) error {
	if f := fault.Of(err); f != nil && f.Kind == fault.Missing {
		return NotFound()
	}
	return err
}

// done leads on to a page of the partner, which says what was done.
func (h *Handler) done(w http.ResponseWriter, r *http.Request, v *Visit, path, text string) error {
	h.Site.Sessions.Flash(r.Context(), text)
	ui.SeeOther(w, r, v.Path("%s", path))
	return nil
}

// id reads a number of the path. What is no number is 0, which nothing has.
func id(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// formNonce is the hidden field that tells a form that is sent again from a new one.
const formNonce = "form"

// nonce is a new value of that field.
func nonce() ui.Param { return ui.Param{Name: formNonce, Value: secret.Make("")[:32]} }

// once identifies the form of a request. Whoever sends it again, by reloading the page
// that answered it, makes nothing a second time.
func once(r *http.Request, v *Visit) (idempotency.Request, error) {
	q := idempotency.Request{
		Scope: "portal:user:" + strconv.FormatInt(v.User.ID, 10), Key: r.PostFormValue(formNonce),
		Body: secret.Hash(r.URL.Path + "?" + r.PostForm.Encode()),
	}
	if q.Valid() != nil {
		return q, fault.New(fault.Invalid, codeIncompleteForm, "The form was not sent whole. Go back, reload the page and send it again.")
	}
	return q, nil
}

// wasSent reports whether an error says that the form was sent before, or is being
// handled at this moment.
func wasSent(err error) bool {
	return fault.Is(err, idempotency.CodeIdempotencyKeyInUse) || fault.Is(err, idempotency.CodeIdempotencyKeyReused)
}

// secretView is the answer to a form that made secrets. It is the only page that shows
// them.
type secretView struct {
	Heading  string
	Repeated bool // the form was sent before: there is nothing to show
	Secrets  []ui.Key
	Says     []string // what to do now
	Back     string
}

// showSecret answers with new secrets: no redirect, so that they are in this answer and
// nowhere else.
func (h *Handler) showSecret(w http.ResponseWriter, r *http.Request, v *Visit, view secretView) error {
	status := http.StatusOK
	if view.Repeated {
		status = http.StatusConflict
	}
	return h.render(w, r, v, "secret", ui.View{Title: view.Heading, Status: status, Data: view})
}

// span is about how long something lasts, in words.
func span(d time.Duration) string {
	count := func(n int64, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return count(int64(d.Round(time.Minute)/time.Minute), "minute")
	case d < 48*time.Hour:
		return count(int64(d.Round(time.Hour)/time.Hour), "hour")
	default:
		return count(int64(d.Round(24*time.Hour)/(24*time.Hour)), "day")
	}
}
