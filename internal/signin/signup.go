package signin

import (
	"net/http"
	"net/url"
	"strings"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/validate"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// signUpSecret is the session's record of a sign-up: a secret that identifies this browser when the
// emailed link is used.
const signUpSecret = "browser"

func (h *Handler) signUpPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if v.SignedIn() {
		return h.redirectToNext(w, r, v.User, next(r))
	}
	return h.showSignUp(w, r, v, http.StatusOK, signUpForm(r, "", ""))
}

// signUpForm returns the form with an address and a name.
func signUpForm(r *http.Request, email, name string) ui.Form {
	return ui.Form{Next: next(r), Fields: []ui.Field{
		{Name: "name", Label: "Name", Value: name, Autocomplete: "name"},
		emailField(email),
		newPasswordField("Password"),
	}}
}

func (h *Handler) showSignUp(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, status int, f ui.Form) error {
	return h.showForm(w, r, v, "sign-up", "Create an account", status, f)
}

// signUp emails a link that creates the account. The answer does not reveal whether the address has
// an account; the email does.
func (h *Handler) signUp(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	email := ui.FormText(r, "email")
	name := ui.FormText(r, "name")
	f := signUpForm(r, email, name)
	if v.SignedIn() {
		return h.redirectToNext(w, r, v.User, f.Next)
	}
	var browser string
	err := validEmail(email)
	if err == nil {
		if wait := h.Throttle.Mail(r, email); wait > 0 {
			return h.showSignUp(w, r, v, http.StatusTooManyRequests, f.WithProblem(tooManyEmails(w, wait)))
		}
		browser, err = h.Accounts.SignUp(
			r.Context(), account.Person{Email: email, Name: name}, r.PostFormValue("password"), f.Next,
			account.Client{From: wire.Address(r)},
		)
	}
	if f, ok := refused(f, err); ok {
		return h.showSignUp(w, r, v, http.StatusUnprocessableEntity, f)
	}
	if busy := fault.Of(err); busy != nil && busy.Code == account.CodeSignInBusy {
		wire.RequestLogOf(r.Context()).Err = err
		return h.showSignUp(
			w, r, v, wire.Status(busy.Kind),
			f.WithProblem(
				"Too many people are signing in or up right now. Try again in "+ui.RetryAfter(w.Header(), busy.After)+
					".",
			),
		)
	}
	if err != nil {
		return err
	}
	h.Site.Sessions.Put(r.Context(), signUpSecret, browser)
	h.redirectToCheckMail(w, r, signUpPath, email, f.Next)
	return nil
}

// validEmail checks an address before it is counted or looked up.
func validEmail(email string) error {
	_, err := validate.Email("email", email)
	return err
}

// Paths of forms that email a link.
const (
	signUpPath   = "/sign-up"
	resetPath    = "/reset"
	sendLinkPath = "/sign-in/send"
)

// emailSent is the page after a request for an email. It is the same whether or not one was sent.
type emailSent struct {
	Email    string
	Next     string
	SignUp   bool
	NewEmail bool   // the visitor wants another address
	Again    string // path of its form for another email; "" if it has none
	Mailbox  string // page that shows emails instead of sending them; "" if they are sent
}

// redirectToCheckMail redirects to the page with the next steps after a request for an email.
func (h *Handler) redirectToCheckMail(w http.ResponseWriter, r *http.Request, form, email, next string) {
	h.Site.Pages.SetNote(w, checkMailPath, form+" "+email)
	to := checkMailPath
	if next != "" {
		to += "?next=" + url.QueryEscape(next)
	}
	ui.SeeOther(w, r, to)
}

// checkMail is that page. Visitors without a request are redirected.
func (h *Handler) checkMail(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	form, email, _ := strings.Cut(ui.Note(r), " ")
	m := emailSent{Email: email, Next: next(r), Mailbox: h.Mailbox}
	switch {
	case validEmail(email) == nil && form == signUpPath:
		m.SignUp = true
	case validEmail(email) == nil && form == emailPath && v.SignedIn():
		m.NewEmail = true
	case validEmail(email) == nil && (form == resetPath || form == sendLinkPath):
		m.Again = form
	default:
		ui.SeeOther(w, r, visitor.SignIn(m.Next))
		return nil
	}
	return h.Site.Render(w, r, v, "check-mail", ui.View{Title: "Check your email", NoIndex: true, Data: m})
}

func (h *Handler) resetPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.showReset(w, r, v, http.StatusOK, resetForm(r, v.User.Email))
}

func resetForm(r *http.Request, email string) ui.Form {
	return ui.Form{Next: next(r), Fields: []ui.Field{emailField(email)}}
}

func (h *Handler) showReset(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, status int, f ui.Form) error {
	return h.showForm(w, r, v, "reset", "Reset your password", status, f)
}

// reset emails a link for choosing a new password if an account has the address.
func (h *Handler) reset(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	email := ui.FormText(r, "email")
	f := resetForm(r, email)
	err := validEmail(email)
	if err == nil {
		if wait := h.Throttle.Mail(r, email); wait > 0 {
			return h.showReset(w, r, v, http.StatusTooManyRequests, f.WithProblem(tooManyEmails(w, wait)))
		}
		err = h.Accounts.SendReset(r.Context(), email, f.Next)
	}
	if f, ok := refused(f, err); ok {
		return h.showReset(w, r, v, http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	h.redirectToCheckMail(w, r, resetPath, email, f.Next)
	return nil
}
