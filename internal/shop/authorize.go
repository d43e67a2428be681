package shop

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// decidePath takes the answer to the consent that an application asked for.
const decidePath = oauth.AuthorizePath + "/decide"

// connectingRoutes are the pages between a license and its application.
func (s *Shop) connectingRoutes() []wire.Route {
	return append(secretPath(
		s.own(http.MethodGet, "/licensing/{id}/redeem", s.redeemPage),
		s.own(http.MethodPost, "/licensing/{id}/redeem", s.activate),
		s.own(http.MethodGet, "/licensing/{id}/consent", s.consentPage),
		s.own(http.MethodPost, "/licensing/{id}/consent", s.consent),
	),
		s.open(http.MethodGet, oauth.AuthorizePath, s.authorize),
		// OpenID lets an application send its request as a form, which comes from
		// another site by its nature. It changes nothing here.
		s.Site.CrossSiteRoute(http.MethodPost, oauth.AuthorizePath, visitor.Anyone, withPause(s.authorizeByForm)),
		s.open(http.MethodPost, decidePath, s.decide),
	)
}

// parameters are the members of a request that steps hand on.
var parameters = []string{
	"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
	"code_challenge", "code_challenge_method", "prompt", "max_age", "id_token_hint",
}

// authorizeByForm turns a request that came as a form, or as JSON, into a link: a
// form from another site brings no cookie, a link does.
func (s *Shop) authorizeByForm(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
	sent, err := wire.Decoder{Limit: ui.MaxForm}.Values(w, r)
	if err != nil {
		return err
	}
	ui.SeeOther(w, r, oauth.AuthorizePath+"?"+sent.Encode())
	return nil
}

// authorize serves a connection that an application began.
func (s *Shop) authorize(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	// What cannot be read of it must not count as not sent: a lost code_challenge
	// would be a request without PKCE.
	q, err := wire.LenientQuery(r)
	if err != nil {
		return err
	}
	a, err := s.begin(r, q)
	if err != nil {
		return s.deny(w, r, a.Request, err)
	}
	if r.Method == http.MethodHead {
		return nil // it was only looked at: nothing is connected, and nobody's sign-in used up
	}
	a.obeyed = s.arrived(r, v, a)
	if !v.SignedIn() || s.stale(v, a) {
		return s.askToSignIn(w, r, v, a)
	}
	list, err := s.candidates(r, v, a)
	if err != nil {
		return err
	}
	return s.choose(w, r, v, a, list)
}

// asking is a request of an application under way.
type asking struct {
	oauth.Request
	params url.Values // what steps hand on
	obeyed bool       // who is signed in did so because of this very request
}

// begin reads a request, wherever its members come from.
func (s *Shop) begin(r *http.Request, sent url.Values) (asking, error) {
	a := asking{params: url.Values{}}
	for _, name := range parameters {
		if sent.Has(name) {
			a.params[name] = sent[name]
		}
	}
	var err error
	a.Request, err = s.OAuth.ParseAuthorize(r.Context(), sent)
	if err == nil && account.LocalPath(a.address()) == "" {
		// It would be lost on the way through the sign-in.
		err = &oauth.Denial{Code: "invalid_request", Text: "the request is too long; shorten scope or id_token_hint"}
	}
	return a, err
}

// address is where the request begins again.
func (a asking) address() string { return oauth.AuthorizePath + "?" + a.params.Encode() }

// choose goes straight on for whoever consented before, and else asks, for which
// license when there are several.
func (s *Shop) choose(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, a asking, list []license.License) error {
	req := a.Request
	if len(list) == 0 {
		return s.deny(w, r, req, &oauth.Denial{Code: "access_denied", Text: "The buyer has no license for this application that could be used."})
	}
	known, err := s.OAuth.Consented(r.Context(), v.User.ID, list)
	if err != nil {
		return err
	}
	switch asks := slices.Contains(req.Prompt, "consent") || slices.Contains(req.Prompt, "select_account"); {
	case len(known) == 1 && !asks:
		return s.answer(w, r, v, req, known[0].RedemptionID)
	case slices.Contains(req.Prompt, "none") && len(list) > 1:
		return s.deny(w, r, req, &oauth.Denial{Code: "interaction_required", Text: "The buyer has to choose one of several licenses, and prompt=none forbids asking."})
	case slices.Contains(req.Prompt, "none"):
		return s.deny(w, r, req, &oauth.Denial{Code: "consent_required", Text: "The buyer has to consent, and prompt=none forbids asking."})
	}
	choices, err := s.owned(r, list)
	if err != nil {
		return err
	}
	s.tie(r, a, list)
	view := consentView{Partner: req.Partner, Host: req.Host(), Action: decidePath, Choices: choices}
	for _, name := range parameters {
		if a.params.Has(name) {
			view.Hidden = append(view.Hidden, hidden{name, a.params.Get(name)})
		}
	}
	return s.askConsent(w, r, v, req, view)
}

// decide takes the answer to a consent that an application asked for. The form
// carries the request, which is looked at again as if it were new; so is the
// sign-in, which may have become too old while the page was read.
func (s *Shop) decide(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	a, err := s.begin(r, r.PostForm)
	switch {
	case err != nil:
		return s.deny(w, r, a.Request, err)
	case r.PostFormValue("decision") != "allow":
		return s.deny(w, r, a.Request, &oauth.Denial{Code: "access_denied", Text: "The buyer did not consent."})
	}
	a.obeyed = s.arrivedBefore(r, v, a)
	if !v.SignedIn() || s.stale(v, a) {
		return s.askToSignIn(w, r, v, a)
	}
	return s.answer(w, r, v, a.Request, r.PostFormValue("license"))
}

// unconnected is what an application reads of a license that cannot be connected,
// by the code of the fault.
var unconnected = map[string]string{
	"unknown_license":   "There is no such license of this application, or none was chosen.",
	"license_not_yours": "The license belongs to another account than the one that is signed in.",
	"license_refunded":  "The license was refunded.",
	"license_held":      "The license is on hold.",
	"user_erased":       "The account of the buyer was deleted.",
}

// answer is connect for an application that asked and waits: it learns why the
// license cannot be connected. All else, such as that its redirect URL has just
// changed, is no matter of the license and shown here.
func (s *Shop) answer(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, req oauth.Request, redemptionID string) error {
	err := s.connect(w, r, v, req, redemptionID)
	if fault.Is(err, "partner_paused") {
		wire.RequestLogOf(r.Context()).Err = err
		err = oauth.Unavailable()
	}
	if f := fault.Of(err); f != nil && unconnected[f.Code] != "" {
		wire.RequestLogOf(r.Context()).Err = err
		err = &oauth.Denial{Code: "access_denied", Text: unconnected[f.Code]}
	}
	if err != nil {
		return s.deny(w, r, req, err)
	}
	return nil
}

// deny takes a refusal back to the application, when it is known where that is,
// or else shows it.
func (s *Shop) deny(w http.ResponseWriter, r *http.Request, req oauth.Request, err error) error {
	d, ok := errors.AsType[*oauth.Denial](err)
	if !ok {
		return err
	}
	ui.SeeOther(w, r, req.Refused(s.OAuth.Issuer, *d))
	return nil
}
