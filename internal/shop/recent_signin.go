package shop

import (
	"net/http"
	"slices"
	"time"

	"claviger/internal/oauth"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// arrivedFor is the session's record of the sign-in made for a request that showed a page; see
// visitor.Site.TakeSignIn.
const arrivedFor = "arrived-from-sign-in"

// returnTime is the time to return from the sign-in and read the consent page, if the application
// wants a newer sign-in than that. decisionTime is how long a sign-in made for a request is valid
// at the button of that page.
const (
	returnTime   = 30 * time.Second
	decisionTime = 10 * time.Minute
)

// wantsSignIn reports whether the application requires a sign-in for its request.
func wantsSignIn(req oauth.Request) bool {
	return slices.Contains(req.Prompt, "login") || slices.Contains(req.Prompt, "select_account")
}

// signedInFor reports whether the visitor signed in for this request. It does so once: the same
// request sent again is a new one.
func (s *Shop) signedInFor(r *http.Request, v *visitor.Visitor, a authorization) bool {
	record := s.Site.TakeSignIn(r.Context())
	if !v.SignedInFor(record, a.path()) {
		return false
	}
	s.Site.Sessions.Put(r.Context(), arrivedFor, record)
	return true
}

// signedInForPage is signedInFor for the button of a page that this request showed.
func (s *Shop) signedInForPage(r *http.Request, v *visitor.Visitor, a authorization) bool {
	record := s.Site.Sessions.Get(r.Context(), arrivedFor)
	return v.SignedInFor(record, a.path()) && s.Now().Sub(v.Signed.At) <= decisionTime
}

// needsSignIn reports whether the application requires another sign-in: one made for this request,
// a more recent one, or one of another person.
func (s *Shop) needsSignIn(v *visitor.Visitor, a authorization) bool {
	age := time.Duration(a.MaxAge)*time.Second + time.Second
	if a.signedInForIt {
		age = max(age, returnTime) // otherwise a slow visitor would sign in forever
	}
	return a.MaxAge >= 0 && s.Now().Sub(v.Signed.At) > age || wantsSignIn(a.Request) && !a.signedInForIt || !a.expected
}

// askToSignIn sends a person to the sign-in page and back, unless the application forbids it or a
// person other than the expected one has just signed in.
func (s *Shop) askToSignIn(w http.ResponseWriter, r *http.Request, a authorization) error {
	switch {
	case slices.Contains(a.Prompt, "none"):
		return s.refuse(
			w,
			r,
			a.Request,
			&oauth.Denial{
				Code: oauth.LoginRequired,
				Text: "Nobody is signed in as the request wants it, and prompt=none forbids asking.",
			},
		)
	case !a.expected && a.signedInForIt:
		return s.refuse(
			w,
			r,
			a.Request,
			&oauth.Denial{Code: oauth.LoginRequired, Text: "Somebody else signed in than id_token_hint names."},
		)
	}
	ui.SeeOther(w, r, visitor.SignInAgain(a.path()))
	return nil
}
