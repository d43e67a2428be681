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
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// decidePath receives the buyer's decision about the consent.
const decidePath = oauth.AuthorizePath + "/decide"

// connectingRoutes returns the pages that connect a license to its application.
func (s *Shop) connectingRoutes() []wire.Route {
	return append(secretPath(
		s.buyers(http.MethodGet, "/licensing/{id}/redeem", s.redeemPage),
		s.buyers(http.MethodPost, "/licensing/{id}/redeem", s.activate),
		s.buyers(http.MethodGet, "/licensing/{id}/consent", s.consentPage),
		s.buyers(http.MethodPost, "/licensing/{id}/consent", s.consent),
	),
		s.public(http.MethodGet, oauth.AuthorizePath, s.authorize),
		// OpenID lets an application send its request as a form, always from another site. It
		// changes nothing here.
		s.Site.CrossSiteRoute(http.MethodPost, oauth.AuthorizePath, visitor.Anyone, withPause(s.authorizeByForm)),
		s.public(http.MethodPost, decidePath, s.decide),
	)
}

// parameters are the members of a request that each step passes on.
var parameters = []string{
	"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
	"code_challenge", "code_challenge_method", "prompt", "max_age", "id_token_hint",
}

// authorizeByForm turns a request that came as a form, or as JSON, into a link: a form from another
// site carries no cookie, a link does.
func (s *Shop) authorizeByForm(w http.ResponseWriter, r *http.Request, _ *visitor.Visitor) error {
	sent, err := wire.Decoder{Limit: ui.MaxForm}.Values(w, r)
	if err != nil {
		return err
	}
	ui.SeeOther(w, r, oauth.AuthorizePath+"?"+sent.Encode())
	return nil
}

// authorize serves a connection that an application started.
func (s *Shop) authorize(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	// An unreadable parameter must not be ignored: without its code_challenge the
	// request would be one without PKCE.
	q, err := wire.LenientQuery(r)
	if err != nil {
		return err
	}
	a, err := s.readAuthorization(r, q)
	if err != nil {
		return s.refuse(w, r, a.Request, err)
	}
	if r.Method == http.MethodHead {
		return nil // HEAD connects nothing and uses up no sign-in
	}
	if v, err = s.asChosenGuest(r, v, a); err != nil {
		return err
	}
	a.signedInForIt = s.signedInFor(r, v, a)
	if a.expected, err = s.OAuth.Expects(r.Context(), a.Request, v.User.ID); err != nil {
		return err
	}
	if v.User.ID == 0 || s.needsSignIn(v, a) {
		return s.askToSignIn(w, r, a)
	}
	list, err := s.candidates(r, v, a)
	if err != nil {
		return err
	}
	return s.choose(w, r, v, a, list)
}

// authorization is a request of an application that is being served.
type authorization struct {
	oauth.Request
	params        url.Values // passed on by each step
	signedInForIt bool       // the visitor signed in for this request
	expected      bool       // the visitor is the user that id_token_hint names, if any
}

// readAuthorization reads a request from a query or a form.
func (s *Shop) readAuthorization(r *http.Request, sent url.Values) (authorization, error) {
	a := authorization{params: url.Values{}}
	for _, name := range parameters {
		if sent.Has(name) {
			a.params[name] = sent[name]
		}
	}
	var err error
	a.Request, err = s.OAuth.ParseAuthorize(r.Context(), sent)
	if err == nil && account.LocalPath(a.path()) == "" {
		// The sign-in pages could not return to it.
		err = &oauth.Denial{Code: oauth.InvalidRequest, Text: "the request is too long; shorten scope or id_token_hint"}
	}
	return a, err
}

// path returns the path that repeats the request.
func (a authorization) path() string { return oauth.AuthorizePath + "?" + a.params.Encode() }

// choose connects immediately if the buyer consented before. Otherwise it asks for the consent, and
// for the license if there are several.
func (s *Shop) choose(
	w http.ResponseWriter, r *http.Request, v *visitor.Visitor, a authorization, list []license.License,
) error {
	req := a.Request
	if len(list) == 0 {
		return s.refuse(
			w, r, req,
			&oauth.Denial{
				Code: oauth.AccessDenied,
				Text: "The buyer has no license for this application that could be used.",
			},
		)
	}
	known, err := s.OAuth.Consented(r.Context(), v.User.ID, list)
	if err != nil {
		return err
	}
	switch asks := slices.Contains(req.Prompt, "consent") || slices.Contains(req.Prompt, "select_account"); {
	case len(known) == 1 && !asks:
		return s.connectForApplication(w, r, v, req, known[0].RedemptionID)
	case slices.Contains(req.Prompt, "none") && len(list) > 1:
		return s.refuse(
			w, r, req,
			&oauth.Denial{
				Code: oauth.InteractionRequired,
				Text: "The buyer has to choose one of several licenses, and prompt=none forbids asking.",
			},
		)
	case slices.Contains(req.Prompt, "none"):
		return s.refuse(
			w, r, req,
			&oauth.Denial{
				Code: oauth.ConsentRequired,
				Text: "The buyer has to consent, and prompt=none forbids asking.",
			},
		)
	}
	choices, err := s.ownedViews(r, list)
	if err != nil {
		return err
	}
	s.bindChoice(r, a, list)
	view := consentView{
		Partner: req.Partner, Product: choices[0].Product, Host: req.Host(), Action: decidePath,
		Choices: choices,
	}
	for _, name := range parameters {
		if a.params.Has(name) {
			view.Hidden = append(view.Hidden, hidden{name, a.params.Get(name)})
		}
	}
	return s.askConsent(w, r, v, req, view)
}

// decide receives the buyer's decision. The form carries the request, which is checked again as if
// it were new; so is the sign-in, which may be too old by now.
func (s *Shop) decide(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	a, err := s.readAuthorization(r, r.PostForm)
	switch {
	case err != nil:
		return s.refuse(w, r, a.Request, err)
	case r.PostFormValue("decision") != "allow":
		return s.refuse(w, r, a.Request, &oauth.Denial{Code: oauth.AccessDenied, Text: "The buyer did not consent."})
	}
	if v, err = s.asChosenGuest(r, v, a); err != nil {
		return err
	}
	a.signedInForIt = s.signedInForPage(r, v, a)
	if a.expected, err = s.OAuth.Expects(r.Context(), a.Request, v.User.ID); err != nil {
		return err
	}
	if v.User.ID == 0 || s.needsSignIn(v, a) {
		return s.askToSignIn(w, r, a)
	}
	return s.connectForApplication(w, r, v, a.Request, r.PostFormValue("license"))
}

// refusalTexts tell the application the reason a license cannot be connected, by fault code.
var refusalTexts = map[string]string{
	license.CodeUnknownLicense:  "There is no such license of this application, or none was chosen.",
	license.CodeLicenseNotYours: "The license belongs to another account than the one that is signed in.",
	license.CodeLicenseRefunded: "The license was refunded.",
	license.CodeLicenseHeld:     "The license is on hold.",
	account.CodeUserErased:      "The account of the buyer was deleted.",
}

// connectForApplication is connect for a request of an application: it gets the reason if the
// license cannot be connected. Other errors, such as a redirect URL that has just changed, are
// shown to the buyer.
func (s *Shop) connectForApplication(
	w http.ResponseWriter, r *http.Request, v *visitor.Visitor, req oauth.Request, redemptionID string,
) error {
	err := s.connect(w, r, v, req, redemptionID)
	if fault.Is(err, partner.CodePartnerPaused) {
		wire.RequestLogOf(r.Context()).Err = err
		err = oauth.Unavailable()
	}
	if f := fault.Of(err); f != nil && refusalTexts[f.Code] != "" {
		wire.RequestLogOf(r.Context()).Err = err
		err = &oauth.Denial{Code: oauth.AccessDenied, Text: refusalTexts[f.Code]}
	}
	if err != nil {
		return s.refuse(w, r, req, err)
	}
	return nil
}

// refuse redirects a refusal to the application if its URL is known, and shows it
// otherwise.
func (s *Shop) refuse(w http.ResponseWriter, r *http.Request, req oauth.Request, err error) error {
	d, ok := errors.AsType[*oauth.Denial](err)
	if !ok {
		return err
	}
	if note := wire.RequestLogOf(r.Context()); note.Err == nil {
		note.Err = fault.New(fault.Invalid, d.Code, "%s", d.Text)
	}
	ui.SeeOther(w, r, req.Refused(s.OAuth.Issuer, *d))
	return nil
}
