package signin

import (
	"html/template"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// securityView is the page about the visitor's ways to sign in and their sessions.
type securityView struct {
	account.Factors
	Required    bool // the visitor must have a second factor and has none
	Passkey     bool // one can be added here
	PasskeyAt   string
	Sessions    []account.SignedSession
	Current     string // the id of this session
	Next        string // the page that the visitor came from
	PasskeyName string
}

func (h *Handler) security(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.showSecurity(w, r, v, http.StatusOK, "")
}

func (h *Handler) showSecurity(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	status int,
	problem string,
) error {
	has, err := h.Accounts.Factors(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	view := securityView{
		Factors: has, Required: h.Accounts.Require.Of(v.User) && !v.User.SecondFactor, Current: v.Session,
		Next:    next(r),
		Passkey: h.passkeysHere(r), PasskeyName: "Passkey of " + visitor.Browser(r.UserAgent()),
	}
	_, origin := h.Accounts.PasskeyOrigin()
	if !view.Passkey {
		view.PasskeyAt = origin
	}
	if view.Sessions, err = h.Accounts.SessionsOf(r.Context(), v.User); err != nil {
		return err
	}
	return h.Site.Render(w, r, v, "security", ui.View{Title: "Security", Status: status, Problem: problem, Data: view})
}

// codesView is the page that adds one-time codes.
type codesView struct {
	ui.Form
	account.Enrolment
	QR      template.HTML
	Groups  []string // of the secret, for reading
	Replace bool     // the visitor already has codes
}

func (h *Handler) codesPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if h.confirmFirst(w, r, v, r.URL.RequestURI()) {
		return nil
	}
	return h.showCodes(w, r, v, http.StatusOK, h.Accounts.EnrolTOTP(v.User), nil)
}

func (h *Handler) showCodes(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	status int,
	e account.Enrolment,
	refusal error,
) error {
	has, err := h.Accounts.Factors(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	view := codesView{Enrolment: e, Replace: has.TOTP, Form: ui.Form{Next: next(r), Fields: []ui.Field{{
		Name: "code", Label: "Code from the app", Autocomplete: "one-time-code", Required: true,
		Hint: "Six digits. They change every 30 seconds.",
	}}}}
	view.Refuse(refusal)
	if view.QR, err = ui.QR(e.URI, "QR code with the secret"); err != nil {
		return err
	}
	for s := e.Secret; s != ""; s = s[min(4, len(s)):] {
		view.Groups = append(view.Groups, s[:min(4, len(s))])
	}
	return h.Site.Render(
		w,
		r,
		v,
		"codes",
		ui.View{Title: "Add one-time codes", Status: status, NoIndex: true, Data: view},
	)
}

// addCodes stores the secret of the page once a code proves that an app has it.
func (h *Handler) addCodes(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if h.confirmFirst(w, r, v, codesPath) {
		return nil
	}
	u, codes, err := h.Accounts.AddTOTP(
		r.Context(),
		v.Actor(),
		v.User.ID,
		r.PostFormValue("enrolment"),
		ui.FormText(r, "code"),
	)
	if f := fault.Of(err); f != nil {
		e, over := h.Accounts.OpenEnrolment(v.User, r.PostFormValue("enrolment"))
		if over != nil {
			e = h.Accounts.EnrolTOTP(v.User)
		}
		return h.showCodes(w, r, v, wire.Status(f.Kind), e, err)
	}
	if err != nil {
		return err
	}
	return h.factorAdded(w, r, v, u, codes, "One-time codes are on. Other browsers are signed out.")
}

// recoveryView shows recovery codes, once.
type recoveryView struct {
	Codes []string
	Next  string
}

// factorAdded continues after a second factor was added: with the recovery codes if it was the
// first one. They are only in the answer to the form.
func (h *Handler) factorAdded(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	u account.User,
	codes []string,
	done string,
) error {
	if len(codes) == 0 {
		return h.staySignedIn(w, r, v, u, v.Signed.At, done, visitor.SecurityPath)
	}
	return h.showRecovery(w, r, v, u, codes, done)
}

func (h *Handler) showRecovery(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	u account.User,
	codes []string,
	done string,
) error {
	if err := h.Site.StaySignedIn(r, v, u, v.Signed.At); err != nil {
		return err
	}
	v.User = u
	to := next(r)
	if to == "" {
		to = visitor.SecurityPath
	}
	return h.Site.Render(w, r, v, "recovery-codes", ui.View{
		Title: "Your recovery codes", NoIndex: true, Notice: done, Data: recoveryView{codes, to},
	})
}

// removeView asks for confirmation of something that cannot be undone.
type removeView struct {
	Title, Text, Button, Action string
}

// removePage asks before a second factor is removed.
func (h *Handler) removePage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if h.confirmFirst(w, r, v, r.URL.Path) {
		return nil
	}
	has, err := h.Accounts.Factors(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	view := removeView{Title: "Remove one-time codes", Button: "Remove one-time codes", Action: codesPath + "/remove"}
	with := "them"
	last := "They are"
	if r.URL.Path != view.Action {
		view = removeView{Action: r.URL.Path, Button: "Remove the passkey"}
		with = "it"
		last = "It is"
		for _, k := range has.Passkeys {
			if k.ID == passkeyID(r) {
				view.Title = "Remove “" + k.Name + "”"
			}
		}
		if view.Title == "" {
			return fault.New(
				fault.Missing,
				account.CodeUnknownPasskey,
				"There is no such passkey; it may have been removed meanwhile.",
			)
		}
	}
	view.Text = "You will no longer be able to sign in with " + with + ". Other browsers are signed out."
	if (has.TOTP && len(has.Passkeys) == 0) || (!has.TOTP && len(has.Passkeys) == 1) {
		view.Text += " " + last + " your last second factor: your recovery codes go with " + with +
			", and your password or a mailed link alone will sign you in."
	}
	return h.Site.Render(w, r, v, "remove-factor", ui.View{Title: view.Title, NoIndex: true, Data: view})
}

func (h *Handler) removeCodes(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.remove(w, r, v, "One-time codes are off. Other browsers are signed out.", func() (account.User, error) {
		return h.Accounts.RemoveTOTP(r.Context(), v.Actor(), v.User.ID)
	})
}

func (h *Handler) removePasskey(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	return h.remove(w, r, v, "The passkey is removed. Other browsers are signed out.", func() (account.User, error) {
		return h.Accounts.RemovePasskey(r.Context(), v.Actor(), v.User.ID, passkeyID(r))
	})
}

func (h *Handler) remove(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	done string,
	act func() (account.User, error),
) error {
	if h.confirmFirst(w, r, v, r.URL.Path) {
		return nil
	}
	u, err := act()
	if f := fault.Of(err); f != nil {
		return h.showSecurity(w, r, v, wire.Status(f.Kind), f.Text)
	}
	if err != nil {
		return err
	}
	return h.staySignedIn(w, r, v, u, v.Signed.At, done, visitor.SecurityPath)
}

func (h *Handler) recoveryPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if h.confirmFirst(w, r, v, r.URL.Path) {
		return nil
	}
	return h.Site.Render(w, r, v, "remove-factor", ui.View{Title: "New recovery codes", NoIndex: true, Data: removeView{
		Title: "New recovery codes", Button: "Make new codes", Action: recoveryPath,
		Text: "The codes that you have now stop working, and other browsers are signed out. You see the new ones once.",
	}})
}

func (h *Handler) newRecoveryCodes(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if h.confirmFirst(w, r, v, r.URL.Path) {
		return nil
	}
	u, codes, err := h.Accounts.NewRecoveryCodes(r.Context(), v.Actor(), v.User.ID)
	if f := fault.Of(err); f != nil {
		return h.showSecurity(w, r, v, wire.Status(f.Kind), f.Text)
	}
	if err != nil {
		return err
	}
	return h.showRecovery(w, r, v, u, codes, "The old codes no longer work.")
}

// endSession signs the visitor out in another browser.
func (h *Handler) endSession(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	err := h.Accounts.EndSession(r.Context(), v.Actor(), v.User, r.PathValue("id"))
	if f := fault.Of(err); f != nil {
		return h.showSecurity(w, r, v, wire.Status(f.Kind), f.Text)
	}
	if err != nil {
		return err
	}
	if r.PathValue("id") == v.Session {
		ui.SeeOther(w, r, visitor.SignInPath)
		return nil
	}
	h.Site.Sessions.Flash(r.Context(), "That browser is signed out.")
	ui.SeeOther(w, r, visitor.SecurityPath)
	return nil
}
