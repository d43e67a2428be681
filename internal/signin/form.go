package signin

import (
	"cmp"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

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
		Hint: "At least 8 characters. Several words are easy to remember.",
	}
}

// next is the page that a form says to go on to.
func next(r *http.Request) string { return account.LocalPath(r.FormValue("next")) }

// showForm shows a page with a form.
func (h *Handler) showForm(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, name, title string, status int, f ui.Form) error {
	req, err := h.OAuth.RequestAt(r.Context(), f.Next)
	if err != nil {
		return err
	}
	return h.Site.Render(w, r, v, name, ui.View{Title: title, Status: status, NoIndex: true, FormTo: req.FormTo(), Data: f})
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
