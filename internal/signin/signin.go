package signin

import (
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// signInPage shows the form. A signed-in visitor is redirected immediately, unless they have to
// sign in again.
func (h *Handler) signInPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if v.SignedIn() && r.FormValue("again") == "" {
		return h.redirectToNext(w, r, v.User, next(r))
	}
	return h.showSignIn(w, r, v, http.StatusOK, signInForm(r, v.User.Email))
}

// signInView is the sign-in page.
type signInView struct {
	ui.Form
	purpose
	Passkeys bool // they can be used at this address
}

// signInForm returns the form with an address in it.
func signInForm(r *http.Request, email string) ui.Form {
	return ui.Form{Next: next(r), Fields: []ui.Field{
		emailField(email),
		{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true},
	}}
}

func (h *Handler) showSignIn(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, status int, f ui.Form) error {
	req, err := h.OAuth.RequestAt(r.Context(), f.Next)
	if err != nil {
		return err
	}
	of, err := h.purposeOf(r, f.Next, req)
	if err != nil {
		return err
	}
	if of.Text == "" && v.SignedIn() {
		of.Text = "Sign in again to continue."
	}
	view := ui.View{
		Title: "Sign in", Status: status, NoIndex: true, FormTo: req.FormTo(),
		Data: signInView{Form: f, purpose: of, Passkeys: h.passkeysHere(r)},
	}
	expected, err := h.OAuth.Expects(r.Context(), req, v.User.ID)
	if err != nil {
		return err
	}
	if !expected {
		view.Notice = "Sign in with the account that is connected to " + req.Partner.Name + "."
	}
	return h.Site.Render(w, r, v, "sign-in", view)
}

// signIn checks an address and its password. The answer does not reveal whether an
// account has the address.
func (h *Handler) signIn(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	email := ui.FormText(r, "email")
	password := r.PostFormValue("password")
	f := signInForm(r, email)
	switch {
	case email == "":
		return h.showSignIn(w, r, v, http.StatusUnprocessableEntity, f.WithError("email", "Enter your email address."))
	case password == "":
		return h.showSignIn(w, r, v, http.StatusUnprocessableEntity,
			f.WithError("password", "Enter your password, or request a sign-in link."))
	}
	browser := h.knownBrowser(r, email)
	if wait := h.Throttle.Password(r, email, browser); wait > 0 {
		return h.showSignIn(w, r, v, http.StatusTooManyRequests, f.WithProblem("Too many attempts to sign in. Wait "+
			ui.RetryAfter(w.Header(), wait)+", or request a sign-in link."))
	}
	u, err := h.Accounts.SignIn(
		r.Context(), email, password,
		account.Client{Known: browser != "", From: wire.Address(r), Address: wire.Client(r)},
	)
	if text := refusedSignIn(w, err); text != "" {
		wire.RequestLogOf(r.Context()).Err = err
		return h.showSignIn(w, r, v, wire.Status(fault.Of(err).Kind), f.WithProblem(text))
	}
	if err != nil {
		return err
	}
	return h.firstStepDone(w, r, account.Entry{User: u, Purpose: account.ForSignIn, Next: f.Next})
}

// refusedSignIn returns the text for a failed sign-in, "" for other errors. It is the same for
// known and unknown addresses.
func refusedSignIn(w http.ResponseWriter, err error) string {
	switch f := fault.Of(err); {
	case f == nil:
		return ""
	case f.Code == account.CodeInvalidCredentials:
		return "The email address or the password is wrong. Try again, or request a sign-in link."
	case f.Code == account.CodeTooManyTries:
		ui.RetryAfter(w.Header(), f.After)
		return "A wrong password was entered too often for this address. Request a sign-in link: it works immediately."
	case f.Code == account.CodeSignInBusy:
		return "Too many people are signing in right now. Try again in " + ui.RetryAfter(w.Header(), f.After) +
			", or request a sign-in link."
	}
	return ""
}

// sendLink emails a sign-in link to the address if an account has it. The answer does not reveal
// whether one has.
func (h *Handler) sendLink(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	email := ui.FormText(r, "email")
	f := signInForm(r, email)
	err := validEmail(email)
	if err == nil {
		if wait := h.Throttle.Mail(r, email); wait > 0 {
			return h.showSignIn(w, r, v, http.StatusTooManyRequests, f.WithProblem(tooManyEmails(w, wait)))
		}
		err = h.Accounts.SendLink(r.Context(), email, f.Next)
	}
	if f, ok := refused(f, err); ok {
		return h.showSignIn(w, r, v, http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	h.redirectToCheckMail(w, r, sendLinkPath, email, f.Next)
	return nil
}

// tooManyEmails returns the text for too many requested emails.
func tooManyEmails(w http.ResponseWriter, wait time.Duration) string {
	return "You requested several emails just now. Use the newest one; if none arrived, wait " +
		ui.RetryAfter(w.Header(), wait) + " and try again."
}

// signOut ends the session of this browser. A form with a next page is for signing in with another
// account.
func (h *Handler) signOut(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if err := h.Site.SignOut(w, r); err != nil {
		return err
	}
	if next := next(r); next != "" {
		ui.SeeOther(w, r, visitor.SignIn(next))
		return nil
	}
	if v.SignedIn() { // otherwise anyone could fill the table of sessions
		h.Site.Sessions.Flash(r.Context(), "You are signed out.")
	}
	ui.SeeOther(w, r, "/")
	return nil
}
