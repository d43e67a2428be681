package shop

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"claviger/internal/oauth"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// arrivedFor is the session's record of the sign-in that a request which shows a page
// was preceded by; see visitor.Site.TakeSignIn.
const arrivedFor = "arrived-from-sign-in"

// wayBack is how long the way from the sign-in may take, and reading a page that
// asks for consent, where the application wants a newer sign-in than that; decision
// is how long a sign-in made for a request counts at the button of that page.
const (
	wayBack  = 30 * time.Second
	decision = 10 * time.Minute
)

// wantsSignIn reports whether the application wants a sign-in made because of its
// request.
func wantsSignIn(req oauth.Request) bool {
	return slices.Contains(req.Prompt, "login") || slices.Contains(req.Prompt, "select_account")
}

// arrived reports whether the visitor signed in because of this very request. It
// does so once: the same request sent again is a new one.
func (s *Shop) arrived(r *http.Request, v *visitor.Visitor, a asking) bool {
	record := s.Site.TakeSignIn(r.Context())
	if !v.SignedInFor(record, a.address()) {
		return false
	}
	s.Site.Sessions.Keep(r.Context(), arrivedFor, record)
	return true
}

// arrivedBefore is arrived for the button of a page that this request showed.
func (s *Shop) arrivedBefore(r *http.Request, v *visitor.Visitor, a asking) bool {
	record := s.Site.Sessions.Kept(r.Context(), arrivedFor)
	return v.SignedInFor(record, a.address()) && s.Now().Sub(v.Signed.At) <= decision
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
