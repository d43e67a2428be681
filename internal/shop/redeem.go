package shop

import (
	"net/http"
	"slices"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// redeemView is the page behind a redeem link: one sentence on where the license
// stands, and the one next step.
type redeemView struct {
	ownedView
	Stage stage
	Host  string // where the buyer would go
}

// stage is where a license stands for the person who wants to redeem it.
type stage string

// The stages, each with its own words in the template.
const (
	ready     stage = "ready"     // bought and not activated
	connected stage = "connected" // active
	released  stage = "released"  // was disconnected
	refunded  stage = "refunded"
	held      stage = "held"
	unready   stage = "unready" // the application cannot receive anybody yet
	paused    stage = "paused"  // the marketplace has paused the application
)

// can reports whether the license can be redeemed in this stage.
func (s stage) can() bool { return s == ready || s == connected || s == released }

// Can is for the template.
func (v redeemView) Can() bool { return v.Stage.can() }

// errNotYours tells nothing of the license but that it is somebody else's.
func errNotYours() error {
	return fault.New(fault.Forbidden, "license_not_yours",
		"This license belongs to another account. Sign in with the account that it was bought with.")
}

// redeemable finds the license of a redeem link and where it stands. Whose it is
// is looked at first, and nothing of somebody else's is told.
func (s *Shop) redeemable(r *http.Request, v *visitor.Visitor) (redeemView, oauth.Request, error) {
	l, err := s.Licenses.ByRedemption(r.Context(), r.PathValue("id"))
	switch {
	case fault.Is(err, "unknown_license"):
		return redeemView{}, oauth.Request{}, fault.New(fault.Missing, "unknown_license",
			"There is no license for this redeem link. Check that the link is complete, or open the license from My licenses.")
	case err != nil:
		return redeemView{}, oauth.Request{}, err
	case l.Erased || l.OwnerID != 0 && l.OwnerID != v.User.ID:
		return redeemView{}, oauth.Request{}, errNotYours()
	}
	views, err := s.owned(r, []license.License{l})
	if err != nil {
		return redeemView{}, oauth.Request{}, err
	}
	standing, err := s.Licenses.Standing(r.Context(), l)
	if err != nil {
		return redeemView{}, oauth.Request{}, err
	}
	view := redeemView{ownedView: views[0], Stage: stageOf(l, standing)}
	req, err := s.OAuth.MarketplaceRequest(r.Context(), l.PartnerID)
	switch {
	case fault.Is(err, "not_connected"):
		if view.Stage.can() {
			view.Stage = unready
		}
	case err != nil:
		return redeemView{}, oauth.Request{}, err
	default:
		view.Host = req.Host()
	}
	if view.Partner.Paused() && view.Stage.can() {
		view.Stage = paused
	}
	return view, req, nil
}

func stageOf(l license.License, standing license.Standing) stage {
	switch {
	case standing.Refunded:
		return refunded
	case l.Held != 0:
		return held
	case l.Released:
		return released
	case l.Status == event.Active:
		return connected
	default:
		return ready
	}
}

// redeemPage shows where the license stands.
func (s *Shop) redeemPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	view, req, err := s.redeemable(r, v)
	if fault.Is(err, "license_not_yours") {
		return s.Site.Render(w, r, v, "not-yours", ui.View{Title: "Another account's license", Status: http.StatusForbidden, Data: r.URL.Path})
	}
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "redeem", ui.View{Title: view.Partner.Name, Data: view, FormTo: req.FormTo()})
}

// connectable is redeemable for the steps of a connection that begins here. Where
// it cannot, the visitor is sent elsewhere and it is not ok: to the page that says
// why, or to an application that wants to begin itself, which is never given a code
// that it did not ask for.
func (s *Shop) connectable(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) (view redeemView, req oauth.Request, ok bool, err error) {
	if view, req, err = s.redeemable(r, v); err != nil {
		return view, req, false, err
	}
	to := s.OAuth.Initiation(req)
	switch {
	case !view.Can():
		to = view.Redeem
	case to != "":
		s.remember(r, view.License)
	default:
		return view, req, true, nil
	}
	ui.SeeOther(w, r, to)
	return view, req, false, nil
}

// activate begins the connection: straight on for whoever consented before, else
// to the consent.
func (s *Shop) activate(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	view, req, ok, err := s.connectable(w, r, v)
	if !ok {
		return err
	}
	known, err := s.OAuth.Consented(r.Context(), v.User.ID, []license.License{view.License})
	if err != nil {
		return err
	}
	if len(known) > 0 {
		return s.connect(w, r, v, req, view.License.RedemptionID)
	}
	ui.SeeOther(w, r, "/licensing/"+view.License.RedemptionID+"/consent")
	return nil
}

// connect accepts the request for a license and sends the buyer to the
// application, once it has heard of the license or Patience is over. Who has to
// wait for that longer than Glance is shown a page meanwhile.
func (s *Shop) connect(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, req oauth.Request, redemptionID string) error {
	to, l, err := s.OAuth.Accept(r.Context(), v.Actor(), req, oauth.Authentication{UserID: v.User.ID, At: v.Signed.At}, redemptionID)
	if err != nil {
		return err
	}
	s.served(r, l.RedemptionID)
	glance := s.Glance
	if slices.Contains(req.Prompt, "none") {
		glance = s.Patience // nothing may be shown
	}
	told := req.Profile.WebhookURL == "" || s.Webhooks.AwaitAttempt(r.Context(), l.ID, glance)
	if told || glance >= s.Patience {
		ui.SeeOther(w, r, to)
		return nil
	}
	return s.Site.Render(w, r, v, "connecting", ui.View{
		Title: "Connecting you to " + req.Partner.Name, Data: req.Partner,
		DelayedRedirect: &ui.DelayedRedirect{To: to, Wait: func() { s.Webhooks.AwaitAttempt(r.Context(), l.ID, s.Patience-glance) }},
	})
}

// consentView is what an application asks for.
type consentView struct {
	Partner partner.Partner
	Host    string
	Action  string
	Hidden  []hidden
	Choices []ownedView // one, or several to choose from
}

// hidden is a member of the request that the form carries on.
type hidden struct{ Name, Value string }

// consentPage asks for the consent in the flow that began here.
func (s *Shop) consentPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	view, req, ok, err := s.connectable(w, r, v)
	if !ok {
		return err
	}
	return s.askConsent(w, r, v, req, consentView{
		Partner: req.Partner, Host: req.Host(), Action: r.URL.Path, Choices: []ownedView{view.ownedView},
	})
}

func (s *Shop) askConsent(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, req oauth.Request, view consentView) error {
	return s.Site.Render(w, r, v, "consent", ui.View{
		Title: "Connect " + view.Partner.Name, FormTo: req.FormTo(), Data: view,
	})
}

// consent takes the answer.
func (s *Shop) consent(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if r.PostFormValue("decision") != "allow" {
		s.Site.Sessions.Flash(r.Context(), "Nothing was connected. You can activate the license here at any time.")
		ui.SeeOther(w, r, "/licenses")
		return nil
	}
	view, req, ok, err := s.connectable(w, r, v)
	if !ok {
		return err
	}
	return s.connect(w, r, v, req, view.License.RedemptionID)
}
