package signin

import (
	"net"
	"net/http"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// challengeRecord is the session's record of a challenge for a passkey. The first answer removes
// it, right or wrong.
const challengeRecord = "passkey-challenge"

// passkeysHere reports whether passkeys can be used at the address that the browser shows.
func (h *Handler) passkeysHere(r *http.Request) bool {
	host, _ := h.Accounts.PasskeyOrigin()
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	return host != "" && name == host
}

// sendChallenge stores a challenge in the session and sends it to the browser's script.
func (h *Handler) sendChallenge(w http.ResponseWriter, r *http.Request, c account.Ceremony, err error) error {
	if f := fault.Of(err); f != nil {
		wire.RequestLogOf(r.Context()).Err = err
		http.Error(w, f.Text, wire.Status(f.Kind))
		return nil
	}
	if err != nil {
		return err
	}
	h.Site.Sessions.Put(r.Context(), challengeRecord, c.State)
	return wire.JSON(w, http.StatusOK, c.Options)
}

func (h *Handler) passkeySignInOptions(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
	// Each call makes a session: without a limit, anyone could fill the table.
	if wait := h.Throttle.Passkey(r); wait > 0 {
		http.Error(w, "Too many attempts. Wait "+ui.RetryAfter(w.Header(), wait)+".", http.StatusTooManyRequests)
		return nil
	}
	c, err := h.Accounts.BeginPasskeySignIn()
	return h.sendChallenge(w, r, c, err)
}

// passkeySignIn signs in by a passkey instead of a password.
func (h *Handler) passkeySignIn(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	f := signInForm(r, "")
	state := h.Site.Sessions.Pop(r.Context(), challengeRecord)
	if wait := h.Throttle.Passkey(r); wait > 0 {
		return h.showSignIn(
			w, r, v, http.StatusTooManyRequests,
			f.WithProblem("Too many attempts to sign in. Wait "+ui.RetryAfter(w.Header(), wait)+"."),
		)
	}
	u, err := h.Accounts.PasskeySignIn(r.Context(), state, []byte(r.PostFormValue("answer")), client(r))
	if text := refusedProof(w, err); text != "" {
		wire.RequestLogOf(r.Context()).Err = err
		return h.showSignIn(w, r, v, wire.Status(fault.Of(err).Kind), f.WithProblem(text))
	}
	if err != nil {
		return err
	}
	return h.signedIn(w, r, account.Entry{User: u, Purpose: account.ForSignIn, Next: f.Next})
}

func (h *Handler) passkeyStepOptions(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
	f, ok := h.waiting(r)
	if !ok {
		http.Error(w, "That took too long. Sign in again.", http.StatusUnauthorized)
		return nil
	}
	c, err := h.Accounts.BeginPasskeyProof(r.Context(), f.UserID)
	return h.sendChallenge(w, r, c, err)
}

func (h *Handler) confirmOptions(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	c, err := h.Accounts.BeginPasskeyProof(r.Context(), v.User.ID)
	return h.sendChallenge(w, r, c, err)
}

func (h *Handler) addPasskeyOptions(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if !h.fresh(v) {
		http.Error(w, "Load this page again to confirm that it is you.", http.StatusForbidden)
		return nil
	}
	c, err := h.Accounts.BeginPasskey(r.Context(), v.User)
	return h.sendChallenge(w, r, c, err)
}

// addPasskey registers the passkey that the browser made.
func (h *Handler) addPasskey(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if h.confirmFirst(w, r, v, visitor.SecurityPath) {
		return nil
	}
	state := h.Site.Sessions.Pop(r.Context(), challengeRecord)
	name := ui.FormText(r, "name")
	if name == "" {
		name = "Passkey of " + visitor.Browser(r.UserAgent())
	}
	u, codes, err := h.Accounts.AddPasskey(
		r.Context(), v.Actor(), v.User, state, []byte(r.PostFormValue("answer")), name,
	)
	if f := fault.Of(err); f != nil {
		return h.showSecurity(w, r, v, wire.Status(f.Kind), f.Text)
	}
	if err != nil {
		return err
	}
	return h.factorAdded(w, r, v, u, codes, "The passkey is added. Other browsers are signed out.")
}

// passkeyID returns the passkey id in the path, 0 for none.
func passkeyID(r *http.Request) int64 {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	return id
}

func (h *Handler) renamePasskey(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if h.confirmFirst(w, r, v, visitor.SecurityPath) {
		return nil
	}
	err := h.Accounts.RenamePasskey(r.Context(), v.Actor(), v.User.ID, passkeyID(r), ui.FormText(r, "name"))
	if f := fault.Of(err); f != nil {
		return h.showSecurity(w, r, v, wire.Status(f.Kind), "The passkey was not renamed: "+f.Text)
	}
	if err != nil {
		return err
	}
	h.Site.Sessions.Flash(r.Context(), "The passkey has its new name.")
	ui.SeeOther(w, r, visitor.SecurityPath)
	return nil
}
