package shop

import (
	"cmp"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// personalRoutes are the pages about the person: signing up, in and out, and the
// account. A path that only takes a form sends who opens it by hand to the page
// that the form stands on.
func (s *Shop) personalRoutes() []wire.Route {
	return []wire.Route{
		s.open(http.MethodGet, "/sign-in", s.signInPage),
		s.open(http.MethodPost, "/sign-in", s.signIn),
		s.open(http.MethodGet, askedBySignIn, to("/sign-in")),
		s.open(http.MethodPost, askedBySignIn, s.sendLink),
		s.open(http.MethodGet, "/sign-in/link", s.linkPage),
		s.open(http.MethodPost, "/sign-in/link", s.useLink),
		s.open(http.MethodGet, "/sign-up", s.signUpPage),
		s.open(http.MethodPost, askedBySignUp, s.signUp),
		s.open(http.MethodGet, "/reset", s.resetPage),
		s.open(http.MethodPost, askedByReset, s.reset),
		s.open(http.MethodGet, checkMailPath, s.checkMail),
		s.open(http.MethodGet, "/sign-out", to(accountPath)),
		s.open(http.MethodPost, "/sign-out", s.signOut),
		s.own(http.MethodGet, accountPath, s.account),
		s.own(http.MethodGet, passwordPath, s.passwordPage),
		s.own(http.MethodPost, passwordPath, s.password),
		s.own(http.MethodGet, "/account/sign-out-everywhere", to(accountPath)),
		s.own(http.MethodPost, "/account/sign-out-everywhere", s.signOutEverywhere),
		s.own(http.MethodGet, "/account/data", s.data),
		s.own(http.MethodGet, "/account/delete", s.deletePage),
		s.own(http.MethodPost, "/account/delete", s.delete),
		s.open(http.MethodGet, goodbyePath, s.goodbye),
	}
}

// The pages that others lead to.
const (
	accountPath   = "/account"
	passwordPath  = "/account/password"
	licensesPath  = "/licenses"
	checkMailPath = "/check-mail"
	goodbyePath   = "/goodbye"
)

// to sends whoever comes to another page.
func to(path string) visitor.Handler {
	return func(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
		ui.SeeOther(w, r, path)
		return nil
	}
}

// goOn sends a person who has signed in to where they were going.
func goOn(w http.ResponseWriter, r *http.Request, next string) {
	ui.SeeOther(w, r, cmp.Or(account.LocalPath(next), licensesPath))
}

// emailField asks who somebody is.
func emailField(typed string) ui.Field {
	return ui.Field{Name: "email", Label: "Email address", Type: "email", Value: typed, Autocomplete: "username", Required: true}
}

// newPasswordField asks for a password to be chosen.
func newPasswordField(label string) ui.Field {
	return ui.Field{
		Name: "password", Label: label, Type: "password", Autocomplete: "new-password", Required: true,
		Hint: "At least 8 characters. A few words in a row are easy to remember.",
	}
}

// next is the page that a form says to go on to.
func next(r *http.Request) string { return account.LocalPath(r.FormValue("next")) }

// showForm shows a page with a form.
func (s *Shop) showForm(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, name, title string, status int, f ui.Form) error {
	req, err := s.asked(r, f.Next)
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, name, ui.View{Title: title, Status: status, NoIndex: true, FormTo: ends(req), Data: f})
}

// refused writes at its field what a room did not take, in the words of a page.
// It is not ok when err is not about a field of the form.
func refused(f ui.Form, err error) (ui.Form, bool) {
	e := fault.Of(err)
	if e == nil || e.Kind != fault.Unprocessable {
		return f, false
	}
	for _, field := range f.Fields {
		if field.Name != e.Field {
			continue
		}
		switch {
		case field.Name == "email" && field.Value == "":
			return f.WithError(field.Name, "Enter your email address."), true
		case field.Name == "email":
			return f.WithError(field.Name, "This is not an email address. It should look like ann@example.com."), true
		case field.Name == "name":
			return f.WithError(field.Name, "This name cannot be used. Use one line of up to 100 characters, or leave it empty."), true
		}
	}
	return f, f.Refuse(err)
}
