package shop

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/validate"
	"claviger/internal/visitor"
)

// accountView is the page about oneself.
type accountView struct {
	account.Data
}

func (s *Shop) account(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	d, err := s.Accounts.Data(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "account", ui.View{Title: "Your account", Data: accountView{d}})
}

// keptRight is what a session remembers of a link that lets its user choose a
// password without the current one, and rightLife how long that counts.
const (
	keptRight = "may-choose-password"
	rightLife = 30 * time.Minute
)

// allowPassword lets a user choose a password in this browser. The account's own
// record of the link would let every browser of theirs.
func (s *Shop) allowPassword(r *http.Request, u account.User) {
	s.Site.Sessions.Keep(r.Context(), keptRight, strconv.FormatInt(u.ID, 10)+" "+s.Now().Format(time.RFC3339))
}

// mayChoose reports whether the visitor came here by such a link.
func (s *Shop) mayChoose(r *http.Request, v *visitor.Visitor) bool {
	id, at, _ := strings.Cut(s.Site.Sessions.Kept(r.Context(), keptRight), " ")
	t, err := time.Parse(time.RFC3339, at)
	return err == nil && id == strconv.FormatInt(v.User.ID, 10) && s.Now().Sub(t) < rightLife
}

// passwordView is the page that changes a password, or chooses the first one.
type passwordView struct {
	ui.Form
	Email string // for password managers
	By    bool   // the visitor came here by a link and may skip this
	First bool   // there is no password yet
}

func (s *Shop) passwordView(r *http.Request, v *visitor.Visitor) (passwordView, error) {
	d, err := s.Accounts.Data(r.Context(), v.User.ID)
	if err != nil {
		return passwordView{}, err
	}
	view := passwordView{Form: ui.Form{Next: next(r)}, Email: v.User.Email, By: s.mayChoose(r, v), First: !d.HasPassword}
	if !view.By && !view.First {
		view.Fields = append(view.Fields, ui.Field{
			Name: "current_password", Label: "Current password", Type: "password", Autocomplete: "current-password", Required: true,
		})
	}
	view.Fields = append(view.Fields, newPasswordField("New password"))
	return view, nil
}

func (s *Shop) showPassword(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, status int, view passwordView) error {
	title := "Change your password"
	if view.By || view.First {
		title = "Choose a password"
	}
	req, err := s.asked(r, view.Next)
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "password", ui.View{Title: title, Status: status, FormTo: ends(req), Data: view})
}

func (s *Shop) passwordPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	view, err := s.passwordView(r, v)
	if err != nil {
		return err
	}
	return s.showPassword(w, r, v, http.StatusOK, view)
}

// password gives the visitor a new password, which ends all sessions but this.
func (s *Shop) password(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, err := s.passwordView(r, v)
	if err != nil {
		return err
	}
	at := v.Signed.At
	var u account.User
	if view.By {
		u, err = s.Accounts.ResetPassword(r.Context(), v.Actor(), v.User.ID, r.PostFormValue("password"))
	} else {
		if wait := s.Throttle.OwnPassword(r, v.User.ID); wait > 0 {
			view.Problem = "There were too many tries. Wait " + ui.RetryAfter(w.Header(), wait) + "."
			return s.showPassword(w, r, v, http.StatusTooManyRequests, view)
		}
		u, err = s.Accounts.ChangePassword(r.Context(), v.Actor(), v.User.ID, r.PostFormValue("current_password"), r.PostFormValue("password"))
		at = s.Now()
	}
	switch f, ok := refused(view.Form, err); {
	case fault.Is(err, "reset_over"):
		s.Site.Sessions.Take(r.Context(), keptRight)
		ui.SeeOther(w, r, passwordPath)
		return nil
	case ok:
		view.Form = f
		return s.showPassword(w, r, v, http.StatusUnprocessableEntity, view)
	case err != nil:
		return err
	}
	s.Site.Sessions.Take(r.Context(), keptRight)
	return s.stay(w, r, u, at, "Your new password is set. Other browsers are signed out.", view.Next)
}

// stay keeps this browser signed in after all sessions of its user were ended.
func (s *Shop) stay(w http.ResponseWriter, r *http.Request, u account.User, at time.Time, done, next string) error {
	if err := s.Site.Sessions.SignIn(r.Context(), u.ID, u.SessionEpoch, at); err != nil {
		return err
	}
	s.Site.Sessions.Flash(r.Context(), done)
	if next = account.LocalPath(next); next == "" {
		next = accountPath
	}
	ui.SeeOther(w, r, next)
	return nil
}

// signOutEverywhere ends the visitor's sessions in all other browsers.
func (s *Shop) signOutEverywhere(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	u, err := s.Accounts.SignOutEverywhere(r.Context(), v.Actor(), v.User.ID)
	if err != nil {
		return err
	}
	return s.stay(w, r, u, v.Signed.At, "You are signed out everywhere but here.", accountPath)
}

// deleteView is the page that erases the visitor.
type deleteView struct {
	ui.Form
	Confirm  string // what is to be typed
	Licenses int
	Operator bool // who has to ask another operator
}

func (s *Shop) deleteView(r *http.Request, v *visitor.Visitor) (deleteView, error) {
	owned, err := s.Licenses.Owned(r.Context(), v.User.ID)
	if err != nil {
		return deleteView{}, err
	}
	view := deleteView{Confirm: v.User.Email, Licenses: len(owned), Operator: v.User.Operator}
	if view.Confirm == "" {
		view.Confirm = "delete" // Whom the operator's own systems know need not have an address.
	}
	view.Fields = []ui.Field{{
		Name: "confirm", Label: "Type " + view.Confirm + " to confirm", Value: ui.FormText(r, "confirm"), Autocomplete: "off", Required: true,
	}}
	return view, nil
}

func (s *Shop) deletePage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	view, err := s.deleteView(r, v)
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "delete", ui.View{Title: "Delete your account", Data: view})
}

// delete erases the visitor. Operators do not erase themselves, so that the
// marketplace is never left without one: another one does it.
func (s *Shop) delete(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, err := s.deleteView(r, v)
	if err != nil {
		return err
	}
	if view.Operator {
		return s.Site.Render(w, r, v, "delete", ui.View{Title: "Delete your account", Status: http.StatusForbidden, Data: view})
	}
	if validate.EmailKey(ui.FormText(r, "confirm")) != validate.EmailKey(view.Confirm) {
		view.Form = view.WithError("confirm", "This is not what it says above. Nothing was deleted.")
		return s.Site.Render(w, r, v, "delete", ui.View{Title: "Delete your account", Status: http.StatusUnprocessableEntity, Data: view})
	}
	if _, err := s.Licenses.EraseUser(r.Context(), v.Actor(), v.User.ID); err != nil {
		return err
	}
	if err := s.Site.Sessions.SignOut(r.Context()); err != nil {
		return err
	}
	s.Site.Pages.SetNote(w, goodbyePath, "deleted")
	ui.SeeOther(w, r, goodbyePath)
	return nil
}

// goodbye is the page after that. It tells nobody else that their account is gone.
func (s *Shop) goodbye(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if v.SignedIn() || ui.Note(r) == "" {
		ui.SeeOther(w, r, "/")
		return nil
	}
	return s.Site.Render(w, r, v, "goodbye", ui.View{Title: "Goodbye", NoIndex: true})
}
