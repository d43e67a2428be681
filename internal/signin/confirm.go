package signin

import (
	"net/http"
	"net/url"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// proofLife is how long a proof of identity counts for critical changes: of the ways to sign in, or
// deleting the account.
const proofLife = 15 * time.Minute

// fresh reports whether the visitor proved their identity recently.
func (h *Handler) fresh(v *visitor.Visitor) bool {
	return !v.Signed.Assisted && h.Now().Sub(v.Signed.At) < proofLife
}

// signInFirst redirects a visitor with an assisted session to the sign-in page, and from there to
// the page then. It reports whether it did. The maker of the link may use the session. They must
// not delete the account, or take it over by a password, an address or a second factor of their
// own.
func (h *Handler) signInFirst(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, then string) bool {
	switch {
	case !v.Signed.Assisted:
		return false
	case v.User.Email == "": // no other way to sign in
		h.Site.Pages.Fail(w, r, fault.New(
			fault.Forbidden,
			codeAssisted,
			"You signed in with a link that we made for you, and your account has no email address. Contact us to "+
				"change this.",
		))
	default:
		ui.SeeOther(w, r, visitor.SignInAgain(then))
	}
	return true
}

// confirmFirst redirects a visitor without a fresh proof to the page that asks for it, and from
// there to the page then. It reports whether it did.
func (h *Handler) confirmFirst(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, then string) bool {
	if h.signInFirst(w, r, v, then) {
		return true
	}
	if h.fresh(v) {
		return false
	}
	ui.SeeOther(w, r, confirmPath+"?next="+url.QueryEscape(then))
	return true
}

// confirmView is the page that asks for a proof of identity: the second factor if there is one,
// else the password. Visitors with neither sign in again by link.
func (h *Handler) confirmView(r *http.Request, v *visitor.Visitor) (stepView, error) {
	d, err := h.Accounts.Data(r.Context(), v.User.ID)
	if err != nil {
		return stepView{}, err
	}
	view := stepView{Form: ui.Form{Next: next(r)}, Action: confirmPath}
	switch {
	case v.User.SecondFactor:
		has, err := h.Accounts.Factors(r.Context(), v.User.ID)
		if err != nil {
			return stepView{}, err
		}
		view.Codes, view.Passkeys = has.TOTP, len(has.Passkeys) > 0 && h.passkeysHere(r)
		view.Fields = []ui.Field{codeField(has.TOTP)}
	case d.HasPassword:
		view.Password = true
		view.Fields = []ui.Field{
			{
				Name:         "current_password",
				Label:        "Password",
				Type:         "password",
				Autocomplete: "current-password",
				Required:     true,
				Autofocus:    true,
			},
		}
	default:
		view.Link = true
		view.Masked = v.User.Email
	}
	return view, nil
}

func (h *Handler) showConfirm(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	status int,
	view stepView,
) error {
	return h.Site.Render(
		w,
		r,
		v,
		"confirm-it-is-you",
		ui.View{Title: "Confirm that it is you", Status: status, NoIndex: true, Data: view},
	)
}

func (h *Handler) confirmPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	view, err := h.confirmView(r, v)
	if err != nil {
		return err
	}
	return h.showConfirm(w, r, v, http.StatusOK, view)
}

// confirm checks the password or a code.
func (h *Handler) confirm(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	return h.confirmBy(w, r, v, func(view stepView) error {
		switch {
		case view.Password:
			return h.Accounts.ConfirmPassword(r.Context(), v.Actor(), v.User.ID, r.PostFormValue("current_password"))
		case view.Link:
			return fault.New(
				fault.Forbidden,
				account.CodeInvalidCredentials,
				"You have no password. Sign in again with a link.",
			)
		}
		return h.Accounts.ConfirmCode(r.Context(), v.Actor(), v.User.ID, ui.FormText(r, "code"))
	})
}

// confirmByPasskey checks the answer of a passkey.
func (h *Handler) confirmByPasskey(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	state := h.Site.Sessions.Pop(r.Context(), challengeRecord)
	return h.confirmBy(w, r, v, func(stepView) error {
		return h.Accounts.ConfirmPasskey(r.Context(), v.Actor(), v.User.ID, state, []byte(r.PostFormValue("answer")))
	})
}

func (h *Handler) confirmBy(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	prove func(stepView) error,
) error {
	view, err := h.confirmView(r, v)
	if err != nil {
		return err
	}
	if wait := h.Throttle.Code(r, v.User.ID); wait > 0 {
		view.Problem = "Too many attempts. Wait " + ui.RetryAfter(w.Header(), wait) + "."
		return h.showConfirm(w, r, v, http.StatusTooManyRequests, view)
	}
	err = prove(view)
	if f := fault.Of(err); f != nil {
		wire.RequestLogOf(r.Context()).Err = err
		if text := refusedProof(w, err); text != "" && !view.Password && !view.Link {
			view.Form = view.WithError("code", text)
		} else {
			view.Refuse(err)
		}
		return h.showConfirm(w, r, v, wire.Status(f.Kind), view)
	}
	if err != nil {
		return err
	}
	if err := h.Site.StaySignedIn(r, v, v.User, h.Now()); err != nil {
		return err
	}
	to := view.Next
	if to == "" {
		to = accountPath
	}
	ui.SeeOther(w, r, to)
	return nil
}
