package signin

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// Pages that change the visitor's name and address.
const (
	namePath         = "/account/name"
	emailPath        = "/account/email"
	emailConfirmPath = "/account/email/confirm"
)

func nameForm(name string) ui.Form {
	return ui.Form{Fields: []ui.Field{{
		Name: "name", Label: "Name", Value: name, Autocomplete: "name", Hint: "How we address you. You can leave it " +
			"empty.",
	}}}
}

func (h *Handler) namePage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.showForm(w, r, v, "name", "Change your name", http.StatusOK, nameForm(v.User.Name))
}

func (h *Handler) rename(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	name := ui.FormText(r, "name")
	_, err := h.Accounts.Rename(r.Context(), v.Actor(), v.User.ID, name)
	if f, ok := refused(nameForm(name), err); ok {
		return h.showForm(w, r, v, "name", "Change your name", http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	h.Site.Sessions.Flash(r.Context(), "Your name is changed.")
	ui.SeeOther(w, r, accountPath)
	return nil
}

func newEmailForm(email string) ui.Form {
	return ui.Form{Fields: []ui.Field{{
		Name: "email", Label: "New email address", Type: "email", Value: email, Autocomplete: "email", Required: true,
		Hint: "We mail a link there. Your address changes when you open it.",
	}}}
}

func (h *Handler) emailPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if h.confirmFirst(w, r, v, emailPath) {
		return nil
	}
	return h.showForm(w, r, v, "email", "Change your email address", http.StatusOK, newEmailForm(""))
}

// askEmail emails a link to the new address. The answer does not reveal whether an account has it.
func (h *Handler) askEmail(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if h.confirmFirst(w, r, v, emailPath) {
		return nil
	}
	const title = "Change your email address"
	email := ui.FormText(r, "email")
	f := newEmailForm(email)
	err := validEmail(email)
	if err == nil {
		if wait := h.Throttle.Mail(r, email); wait > 0 {
			return h.showForm(
				w,
				r,
				v,
				"email",
				title,
				http.StatusTooManyRequests,
				f.WithProblem(tooManyEmails(w, wait)),
			)
		}
		if err = h.Accounts.AskEmail(r.Context(), v.User.ID, email); fault.Of(err) != nil {
			return h.showForm(
				w,
				r,
				v,
				"email",
				title,
				http.StatusUnprocessableEntity,
				f.WithError("email", "This is your email address already."),
			)
		}
	}
	if f, ok := refused(f, err); ok {
		return h.showForm(w, r, v, "email", title, http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	h.redirectToCheckMail(w, r, emailPath, email, "")
	return nil
}

// newEmailView is the page of the link to a new address. Email programs and scanners open links
// automatically, so only its button changes the address.
type newEmailView struct{ Token, Old, New string }

func (h *Handler) confirmEmailPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if h.signInFirst(w, r, v, r.URL.RequestURI()) {
		return nil
	}
	token := r.URL.Query().Get("token")
	email, err := h.Accounts.NewEmail(r.Context(), v.User.ID, token)
	if err != nil {
		return h.lostEmailLink(w, r, err)
	}
	return h.Site.Render(
		w,
		r,
		v,
		"email-confirm",
		ui.View{Title: "Confirm your new email address", NoIndex: true, Data: newEmailView{token, v.User.Email, email}},
	)
}

func (h *Handler) confirmEmail(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if h.signInFirst(w, r, v, accountPath) {
		return nil
	}
	u, err := h.Merges.ConfirmEmail(r.Context(), v.Actor(), v.User.ID, r.PostFormValue("token"))
	if err != nil {
		return h.lostEmailLink(w, r, err)
	}
	h.setKnownCookie(w, u) // a browser is known for one address
	return h.staySignedIn(
		w,
		r,
		v,
		u,
		v.Signed.At,
		"Your email address is now "+u.Email+". Other browsers are signed out.",
		"",
	)
}

// lostEmailLink redirects visitors with an invalid link to the page where they can get another.
func (h *Handler) lostEmailLink(w http.ResponseWriter, r *http.Request, err error) error {
	switch {
	case fault.Is(err, account.CodeLinkUsed):
		h.Site.Sessions.Flash(r.Context(), "This link was used already.")
		ui.SeeOther(w, r, accountPath)
		return nil
	case fault.Is(err, account.CodeLinkExpired), fault.Is(err, account.CodeInvalidLink):
		h.Site.Sessions.Flash(
			r.Context(),
			"This link does not work: it has expired, or another account asked for it. Your address is as it was; "+
				"you can ask for a new link.",
		)
		ui.SeeOther(w, r, accountPath)
		return nil
	}
	return err
}
