package shop

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/oauth"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// signedFor is when somebody signed in on the way to a request, and to which (its
// hash: sessions are small); arrivedAt is the same of whoever has come there. Who
// is sent to sign in is not noted: anybody could fill the table of sessions.
const (
	signedFor = "signed-in-for"
	arrivedAt = "arrived-from-sign-in"
)

// wayBack is how long the way from the sign-in may take, and reading a page that
// asks for consent, where the application wants a newer sign-in than that; decision
// is how long a sign-in made for a request counts at the button of that page.
const (
	wayBack  = 30 * time.Second
	decision = 10 * time.Minute
)

// enter makes this the session of a user who signs in now, on the way to next, and
// their browser a known one.
func (s *Shop) enter(w http.ResponseWriter, r *http.Request, u account.User, next string) error {
	now := s.Now()
	if err := s.Site.Sessions.SignIn(r.Context(), u.ID, u.SessionEpoch, now); err != nil {
		return err
	}
	s.know(w, u)
	if strings.HasPrefix(next, authorizePath+"?") {
		s.Site.Sessions.Keep(r.Context(), signedFor, now.Format(time.RFC3339Nano)+" "+secret.Hash(next))
	} else {
		s.Site.Sessions.Take(r.Context(), signedFor)
	}
	return nil
}

// wantsSignIn reports whether the application wants a sign-in made because of its
// request.
func wantsSignIn(req oauth.Request) bool {
	return slices.Contains(req.Prompt, "login") || slices.Contains(req.Prompt, "select_account")
}

// arrived reports whether who is signed in did so because of this very request. It
// is told once: the same request sent again is a new one.
func (s *Shop) arrived(r *http.Request, v *visitor.Visitor, a asking) bool {
	note := s.Site.Sessions.Take(r.Context(), signedFor)
	if !obeys(note, v, a) {
		return false
	}
	s.Site.Sessions.Keep(r.Context(), arrivedAt, note)
	return true
}

// arrivedBefore is arrived for the button of a page that this request showed.
func (s *Shop) arrivedBefore(r *http.Request, v *visitor.Visitor, a asking) bool {
	return obeys(s.Site.Sessions.Kept(r.Context(), arrivedAt), v, a) && s.Now().Sub(v.Signed.At) <= decision
}

// obeys reports whether a note is of this very request, and who is signed in has
// been so since.
func obeys(note string, v *visitor.Visitor, a asking) bool {
	at, request, _ := strings.Cut(note, " ")
	signed, err := time.Parse(time.RFC3339Nano, at)
	return err == nil && request == secret.Hash(a.address()) && !v.Signed.At.Before(signed)
}

// stale reports whether the application wants another sign-in than there is: one
// made because of this very request, one of a certain age, or somebody else's.
func (s *Shop) stale(v *visitor.Visitor, a asking) bool {
	age := time.Duration(a.MaxAge)*time.Second + time.Second
	if a.obeyed {
		age = max(age, wayBack) // or who is slow would be asked for ever
	}
	return a.MaxAge >= 0 && s.Now().Sub(v.Signed.At) > age || wantsSignIn(a.Request) && !a.obeyed || !s.OAuth.Expects(a.Request, v.User.ID)
}

// askToSignIn has a person sign in for a request and come back, unless the
// application forbids asking, or somebody else than it expects has just done so.
func (s *Shop) askToSignIn(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, a asking) error {
	switch other := !s.OAuth.Expects(a.Request, v.User.ID); {
	case slices.Contains(a.Prompt, "none"):
		return s.deny(w, r, a.Request, &oauth.Denial{Code: "login_required", Text: "Nobody is signed in as the request wants it, and prompt=none forbids asking."})
	case other && a.obeyed:
		return s.deny(w, r, a.Request, &oauth.Denial{Code: "login_required", Text: "Somebody else signed in than id_token_hint names."})
	}
	ui.SeeOther(w, r, "/sign-in?again=1&next="+url.QueryEscape(a.address()))
	return nil
}
