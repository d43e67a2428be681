package signin

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/validate"
	"claviger/internal/visitor"
)

// accountView is the page about the visitor's account.
type accountView struct {
	account.Data
}

func (h *Handler) account(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	d, err := h.Accounts.Data(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	return h.Site.Render(w, r, v, "account", ui.View{Title: "Your account", Data: accountView{d}})
}

// resetRecord is the session's record of a link that lets its user choose a password without the
// current one. It is valid for resetLife.
const (
	resetRecord = "may-choose-password"
	resetLife   = 30 * time.Minute
)

// allowPassword lets a user choose a password in this browser. The account's own record of the link
// would allow it in every browser of theirs.
func (h *Handler) allowPassword(r *http.Request, u account.User) {
	h.Site.Sessions.Put(r.Context(), resetRecord, strconv.FormatInt(u.ID, 10)+" "+h.Now().Format(time.RFC3339))
}

// mayChoose reports whether the visitor used such a link here.
func (h *Handler) mayChoose(r *http.Request, v *visitor.Visitor) bool {
	id, at, _ := strings.Cut(h.Site.Sessions.Get(r.Context(), resetRecord), " ")
	t, err := time.Parse(time.RFC3339, at)
	return err == nil && id == strconv.FormatInt(v.User.ID, 10) && h.Now().Sub(t) < resetLife
}

// passwordView is the page that changes a password, or chooses the first one.
type passwordView struct {
	ui.Form
	Email  string // for password managers
	ByLink bool   // the visitor used a link and may skip this
	First  bool   // there is no password yet
}

func (h *Handler) passwordView(r *http.Request, v *visitor.Visitor) (passwordView, error) {
	d, err := h.Accounts.Data(r.Context(), v.User.ID)
	if err != nil {
		return passwordView{}, err
	}
	view := passwordView{
		Form: ui.Form{Next: next(r)}, Email: v.User.Email, ByLink: h.mayChoose(r, v), First: !d.HasPassword,
	}
	if !view.ByLink && !view.First {
		view.Fields = append(view.Fields, ui.Field{
			Name: "current_password", Label: "Current password", Type: "password",
			Autocomplete: "current-password", Required: true,
		})
	}
	view.Fields = append(view.Fields, newPasswordField("New password"))
	return view, nil
}

func (h *Handler) showPassword(
	w http.ResponseWriter, r *http.Request, v *visitor.Visitor, status int, view passwordView,
) error {
	title := "Change your password"
	if view.ByLink || view.First {
		title = "Choose a password"
	}
	req, err := h.OAuth.RequestAt(r.Context(), view.Next)
	if err != nil {
		return err
	}
	return h.Site.Render(w, r, v, "password", ui.View{Title: title, Status: status, FormTo: req.FormTo(), Data: view})
}

func (h *Handler) passwordPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if h.signInFirst(w, r, v, r.URL.RequestURI()) {
		return nil
	}
	view, err := h.passwordView(r, v)
	if err != nil {
		return err
	}
	return h.showPassword(w, r, v, http.StatusOK, view)
}

// password gives the visitor a new password, which ends all other sessions.
func (h *Handler) password(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if h.signInFirst(w, r, v, PasswordPath) {
		return nil
	}
	view, err := h.passwordView(r, v)
	if err != nil {
		return err
	}
	at := v.Signed.At
	var u account.User
	if view.ByLink {
		u, err = h.Accounts.ResetPassword(r.Context(), v.Actor(), v.User.ID, r.PostFormValue("password"))
	} else {
		if wait := h.Throttle.OwnPassword(r, v.User.ID); wait > 0 {
			view.Problem = "Too many attempts. Wait " + ui.RetryAfter(w.Header(), wait) + "."
			return h.showPassword(w, r, v, http.StatusTooManyRequests, view)
		}
		u, err = h.Accounts.ChangePassword(
			r.Context(), v.Actor(), v.User.ID, r.PostFormValue("current_password"),
			r.PostFormValue("password"),
		)
		at = h.Now()
	}
	switch f, ok := refused(view.Form, err); {
	case fault.Is(err, account.CodeResetOver):
		h.Site.Sessions.Pop(r.Context(), resetRecord)
		ui.SeeOther(w, r, PasswordPath)
		return nil
	case ok:
		view.Form = f
		return h.showPassword(w, r, v, http.StatusUnprocessableEntity, view)
	case err != nil:
		return err
	}
	h.Site.Sessions.Pop(r.Context(), resetRecord)
	return h.staySignedIn(w, r, v, u, at, "Your new password is set. Other browsers are signed out.", view.Next)
}

// staySignedIn signs this browser in again after all sessions of its user were ended.
func (h *Handler) staySignedIn(
	w http.ResponseWriter, r *http.Request, v *visitor.Visitor, u account.User, at time.Time, done,
	next string,
) error {
	if err := h.Site.StaySignedIn(r, v, u, at); err != nil {
		return err
	}
	h.Site.Sessions.Flash(r.Context(), done)
	if next = account.LocalPath(next); next == "" {
		next = accountPath
	}
	ui.SeeOther(w, r, next)
	return nil
}

// signOutEverywhere ends the visitor's sessions in all other browsers.
func (h *Handler) signOutEverywhere(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	u, err := h.Accounts.SignOutEverywhere(r.Context(), v.Actor(), v.User.ID)
	if err != nil {
		return err
	}
	return h.staySignedIn(w, r, v, u, v.Signed.At, "You are signed out everywhere else.", next(r))
}

// deleteView is the page that erases the visitor.
type deleteView struct {
	ui.Form
	Confirm  string // the text to type
	Licenses int
	Operator bool              // they must ask another operator
	LastOf   []partner.Partner // they are the last admin of these: they must make another one first
}

func (h *Handler) deleteView(r *http.Request, v *visitor.Visitor) (deleteView, error) {
	owned, err := h.Licenses.Owned(r.Context(), v.User.ID)
	if err != nil {
		return deleteView{}, err
	}
	last, err := h.Partners.SoleAdminOf(r.Context(), v.User.ID)
	if err != nil {
		return deleteView{}, err
	}
	view := deleteView{Confirm: v.User.Email, Licenses: len(owned), Operator: v.User.Operator(), LastOf: last}
	if view.Confirm == "" {
		view.Confirm = "delete" // a user of the operator's own systems may have no address
	}
	view.Fields = []ui.Field{{
		Name: "confirm", Label: "Type " + view.Confirm + " to confirm", Value: ui.FormText(r, "confirm"),
		Autocomplete: "off", Required: true,
	}}
	return view, nil
}

func (h *Handler) deletePage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if h.confirmFirst(w, r, v, deletePath) {
		return nil
	}
	view, err := h.deleteView(r, v)
	if err != nil {
		return err
	}
	return h.Site.Render(w, r, v, "delete", ui.View{Title: "Delete your account", Data: view})
}

// delete erases the visitor. Operators cannot erase themselves, so that the marketplace always has
// one: another operator does it. The same applies to the last admin of a partner.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if h.confirmFirst(w, r, v, deletePath) {
		return nil
	}
	view, err := h.deleteView(r, v)
	if err != nil {
		return err
	}
	if view.Operator || len(view.LastOf) > 0 {
		return h.Site.Render(
			w, r, v, "delete",
			ui.View{Title: "Delete your account", Status: http.StatusForbidden, Data: view},
		)
	}
	if validate.EmailKey(ui.FormText(r, "confirm")) != validate.EmailKey(view.Confirm) {
		view.Form = view.WithError("confirm", "The text does not match. Nothing was deleted.")
		return h.Site.Render(
			w, r, v, "delete",
			ui.View{Title: "Delete your account", Status: http.StatusUnprocessableEntity, Data: view},
		)
	}
	if _, err := h.Licenses.EraseUser(r.Context(), v.Actor(), v.User.ID); err != nil {
		return err
	}
	if err := h.Site.SignOut(w, r); err != nil {
		return err
	}
	h.Site.Pages.SetNote(w, deletedPath, "deleted")
	ui.SeeOther(w, r, deletedPath)
	return nil
}

// deleted is the page after that. Other visitors are redirected.
func (h *Handler) deleted(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if v.SignedIn() || ui.Note(r) == "" {
		ui.SeeOther(w, r, "/")
		return nil
	}
	return h.Site.Render(w, r, v, "goodbye", ui.View{Title: "Your account is deleted", NoIndex: true})
}
