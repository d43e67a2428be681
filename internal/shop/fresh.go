package shop

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"claviger/internal/oauth"
	"claviger/internal/secret"
)

// askedAt is when somebody was last sent to sign in, and by which request (its
// hash: sessions are small), and wayBack how long the way back from there may take
// where the application wants a newer sign-in than that.
const (
	askedAt = "asked-to-sign-in"
	wayBack = 30 * time.Second
)

// wantsSignIn reports whether the application wants a sign-in made because of its
// request.
func wantsSignIn(req oauth.Request) bool {
	return slices.Contains(req.Prompt, "login") || slices.Contains(req.Prompt, "select_account")
}

// obeyed reports whether who is signed in did so because of this very request. It
// is told once: the same request sent again is a new one.
func (s *Shop) obeyed(r *http.Request, v *visit) bool {
	at, request, _ := strings.Cut(s.Sessions.Take(r.Context(), askedAt), " ")
	asked, err := time.Parse(time.RFC3339Nano, at)
	return err == nil && request == secret.Hash(r.URL.RequestURI()) && !v.signed.At.Before(asked)
}

// stale reports whether the application wants another sign-in than there is: one
// made because of this very request, one of a certain age, or somebody else's.
func (s *Shop) stale(v *visit, req oauth.Request, obeyed bool) bool {
	age := time.Duration(req.MaxAge)*time.Second + time.Second
	if obeyed {
		age = max(age, wayBack) // or who is slow would be asked for ever
	}
	return req.MaxAge >= 0 && s.Now().Sub(v.signed.At) > age || wantsSignIn(req) && !obeyed || !s.OAuth.Expects(req, v.user.ID)
}

// askToSignIn has a person sign in for a request and come back, unless the
// application forbids asking, or somebody else than it expects has just done so.
func (s *Shop) askToSignIn(w http.ResponseWriter, r *http.Request, v *visit, req oauth.Request, obeyed bool) error {
	other := !s.OAuth.Expects(req, v.user.ID)
	switch {
	case slices.Contains(req.Prompt, "none"):
		return s.deny(w, r, req, &oauth.Denial{Code: "login_required", Text: "Nobody is signed in as the request wants it, and prompt=none forbids asking."})
	case other && obeyed:
		return s.deny(w, r, req, &oauth.Denial{Code: "login_required", Text: "Somebody else signed in than id_token_hint names."})
	case other:
		s.Sessions.Flash(r.Context(), "Sign in with the account that "+req.Partner.Name+" is connected with.")
	}
	if req.MaxAge >= 0 || wantsSignIn(req) || other {
		// Whoever comes back from there has signed in after this moment.
		s.Sessions.Keep(r.Context(), askedAt, s.Now().Format(time.RFC3339Nano)+" "+secret.Hash(r.URL.RequestURI()))
	}
	seeOther(w, r, "/sign-in?again=1&next="+url.QueryEscape(r.URL.RequestURI()))
	return nil
}
