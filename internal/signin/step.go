package signin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// firstStepRecord is the session's record of a sign-in that waits for its second step. It signs no
// one in: the session gets its user only after both steps.
const (
	firstStepRecord = "first-step"
	firstStepLife   = 10 * time.Minute
)

// firstStep is a sign-in that waits for its second step.
type firstStep struct {
	account.FirstStep
	At            time.Time
	Purpose       account.Purpose
	Next          string
	NeedsPassword bool
}

// firstStepDone continues after a correct password or link. It asks users with a second factor for
// it, and signs others in. In both cases the session gets a new token.
func (h *Handler) firstStepDone(w http.ResponseWriter, r *http.Request, e account.Entry) error {
	if !e.User.SecondFactor {
		return h.signedIn(w, r, e)
	}
	if err := h.Site.Sessions.Renew(r.Context()); err != nil {
		return err
	}
	text, err := json.Marshal(firstStep{
		FirstStep: account.FirstStep{UserID: e.User.ID, Epoch: e.User.SessionEpoch},
		At:        h.Now(), Purpose: e.Purpose, Next: account.LocalPath(e.Next), NeedsPassword: e.NeedsPassword,
	})
	if err != nil {
		return err
	}
	h.Site.Sessions.Put(r.Context(), firstStepRecord, string(text))
	ui.SeeOther(w, r, secondStepPath)
	return nil
}

// signedIn signs a user in after all steps.
func (h *Handler) signedIn(w http.ResponseWriter, r *http.Request, e account.Entry) error {
	if err := h.signUserIn(w, r, e); err != nil {
		return err
	}
	if e.NeedsPassword {
		h.allowPassword(r, e.User)
		ui.SeeOther(w, r, PasswordPath+"?next="+url.QueryEscape(account.LocalPath(e.Next)))
		return nil
	}
	if e.Purpose == account.ForSignUp {
		h.Site.Sessions.Flash(r.Context(), "Your email address is confirmed. Welcome!")
	}
	return h.redirectToNext(w, r, e.User, e.Next)
}

// waiting returns the sign-in of this browser that waits for its second step.
func (h *Handler) waiting(r *http.Request) (firstStep, bool) {
	var f firstStep
	text := h.Site.Sessions.Get(r.Context(), firstStepRecord)
	if text == "" || json.Unmarshal([]byte(text), &f) != nil || f.UserID == 0 {
		return firstStep{}, false
	}
	return f, h.Now().Sub(f.At) < firstStepLife
}

// stepView is the page of the second step, and of a new proof of identity.
type stepView struct {
	ui.Form
	Masked   string // address of the user
	Codes    bool   // the user has one-time codes; else the field is for a recovery code
	Password bool   // confirm by password
	Link     bool   // confirm by signing in with a link
	Passkeys bool   // they can be used here
	Action   string // path of the forms
}

func codeField(codes bool) ui.Field {
	f := ui.Field{
		Name: "code", Label: "Recovery code", Autocomplete: "off", Required: true, Autofocus: true,
		Hint: "One of those that you stored when you added your passkey.",
	}
	if codes {
		f.Label = "Code"
		f.Autocomplete = "one-time-code"
		f.Hint = "The six digits from your authenticator app, or one of your recovery codes."
	}
	return f
}

// stepView returns the page of a waiting sign-in.
func (h *Handler) stepView(r *http.Request, f firstStep) (stepView, error) {
	u, err := h.Accounts.Get(r.Context(), f.UserID)
	if err != nil {
		return stepView{}, err
	}
	has, err := h.Accounts.Factors(r.Context(), f.UserID)
	if err != nil {
		return stepView{}, err
	}
	return stepView{
		Masked: masked(u.Email), Codes: has.TOTP, Passkeys: len(has.Passkeys) > 0 && h.passkeysHere(r),
		Action: secondStepPath,
		Form:   ui.Form{Next: f.Next, Fields: []ui.Field{codeField(has.TOTP)}},
	}, nil
}

func (h *Handler) secondStepPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	f, ok := h.waiting(r)
	if !ok {
		ui.SeeOther(w, r, visitor.SignInPath)
		return nil
	}
	view, err := h.stepView(r, f)
	if err != nil {
		return err
	}
	return h.showStep(w, r, v, http.StatusOK, view)
}

func (h *Handler) showStep(
	w http.ResponseWriter, r *http.Request, v *visitor.Visitor, status int, view stepView,
) error {
	req, err := h.OAuth.RequestAt(r.Context(), view.Next)
	if err != nil {
		return err
	}
	return h.Site.Render(
		w, r, v, "second-step",
		ui.View{Title: "Second step", Status: status, NoIndex: true, FormTo: req.FormTo(), Data: view},
	)
}

// secondStep completes a sign-in by a code.
func (h *Handler) secondStep(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	return h.completeStep(w, r, v, func(f firstStep) (account.User, error) {
		return h.Accounts.SecondStep(r.Context(), f.FirstStep, ui.FormText(r, "code"), client(r))
	})
}

// passkeyStep completes a sign-in by a passkey.
func (h *Handler) passkeyStep(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	state := h.Site.Sessions.Pop(r.Context(), challengeRecord)
	return h.completeStep(w, r, v, func(f firstStep) (account.User, error) {
		return h.Accounts.PasskeyStep(r.Context(), f.FirstStep, state, []byte(r.PostFormValue("answer")), client(r))
	})
}

// completeStep completes the waiting sign-in of this browser, if prove accepts it.
func (h *Handler) completeStep(
	w http.ResponseWriter, r *http.Request, v *visitor.Visitor, prove func(firstStep) (account.User, error),
) error {
	f, ok := h.waiting(r)
	if !ok {
		h.Site.Sessions.Pop(r.Context(), firstStepRecord)
		h.Site.Sessions.Flash(r.Context(), "That took too long. Sign in again.")
		ui.SeeOther(w, r, visitor.SignInPath)
		return nil
	}
	view, err := h.stepView(r, f)
	if err != nil {
		return err
	}
	if wait := h.Throttle.Code(r, f.UserID); wait > 0 {
		view.Problem = "Too many attempts. Wait " + ui.RetryAfter(w.Header(), wait) + "."
		return h.showStep(w, r, v, http.StatusTooManyRequests, view)
	}
	u, err := prove(f)
	switch refusal := refusedProof(w, err); {
	case fault.Is(err, account.CodeStepOver), fault.Is(err, account.CodeUserErased):
		h.Site.Sessions.Pop(r.Context(), firstStepRecord)
		h.Site.Sessions.Flash(r.Context(), "Your account changed while you signed in. Sign in again.")
		ui.SeeOther(w, r, visitor.SignInPath)
		return nil
	case refusal != "":
		wire.RequestLogOf(r.Context()).Err = err
		view.Form = view.WithError("code", refusal)
		return h.showStep(w, r, v, wire.Status(fault.Of(err).Kind), view)
	case err != nil:
		return err
	}
	h.Site.Sessions.Pop(r.Context(), firstStepRecord)
	return h.signedIn(w, r, account.Entry{User: u, Purpose: f.Purpose, Next: f.Next, NeedsPassword: f.NeedsPassword})
}

// refusedProof returns the text for a refused code or passkey, "" for other errors.
func refusedProof(w http.ResponseWriter, err error) string {
	switch f := fault.Of(err); {
	case f == nil:
		return ""
	case f.Code == account.CodeInvalidCode:
		return "The code is wrong, or it was used already. Each code works once: wait for the next one."
	case f.Code == account.CodeTooManyTries:
		ui.RetryAfter(w.Header(), f.After)
		return f.Text
	case f.Code == account.CodeInvalidPasskey, f.Code == account.CodePasskeyCloned:
		return f.Text
	}
	return ""
}

// client returns the client of the request, as a known one.
func client(r *http.Request) account.Client {
	return account.Client{Known: true, From: wire.Address(r), Address: wire.Client(r)}
}
