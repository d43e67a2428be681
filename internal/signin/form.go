package signin

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// redirectToNext redirects a signed-in user to the page that they came from, or to their home page.
func (h *Handler) redirectToNext(w http.ResponseWriter, r *http.Request, u account.User, next string) error {
	to := account.LocalPath(next)
	if to == "" {
		var err error
		if to, err = h.Site.Home(r.Context(), u); err != nil {
			return err
		}
	}
	ui.SeeOther(w, r, to)
	return nil
}

// emailField returns the field for the address of an account.
func emailField(typed string) ui.Field {
	return ui.Field{
		Name:         "email",
		Label:        "Email address",
		Type:         "email",
		Value:        typed,
		Autocomplete: "username",
		Required:     true,
	}
}

// newPasswordField returns the field for a new password.
func newPasswordField(label string) ui.Field {
	return ui.Field{
		Name: "password", Label: label, Type: "password", Autocomplete: "new-password", Required: true,
		Hint: "At least 8 characters. Several words are easy to remember.",
	}
}

// next returns the page that a form leads to.
func next(r *http.Request) string { return account.LocalPath(r.FormValue("next")) }

// showForm shows a page with a form.
func (h *Handler) showForm(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	name, title string,
	status int,
	f ui.Form,
) error {
	req, err := h.OAuth.RequestAt(r.Context(), f.Next)
	if err != nil {
		return err
	}
	return h.Site.Render(
		w,
		r,
		v,
		name,
		ui.View{Title: title, Status: status, NoIndex: true, FormTo: req.FormTo(), Data: f},
	)
}

// refused adds the error of a domain package to its field, in the words of a page. ok is false if
// err is not about a field of the form.
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
			return f.WithError(
				field.Name,
				"This name cannot be used. Use one line of up to 100 characters, or leave it empty.",
			), true
		}
	}
	return f, f.Refuse(err)
}
