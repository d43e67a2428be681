package shop

import (
	"net/http"
	"slices"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// redeemView is the page of a redeem link: one sentence about the state of the license, and the one
// next step.
type redeemView struct {
	ownedView
	Host string // the buyer's next host
}

// CanRedeem reports whether the license can be redeemed, for the template.
func (v redeemView) CanRedeem() bool { return v.Stage.canRedeem() }

// errNotYours only says that the license belongs to another person.
func errNotYours() error {
	return fault.New(fault.Forbidden, license.CodeLicenseNotYours,
		"This license belongs to another account. Sign in with the account that it was bought with.")
}

// redeemable returns the license of a redeem link and its state. It checks the owner first and
// reveals nothing about another person's license.
func (s *Shop) redeemable(r *http.Request, v *visitor.Visitor) (redeemView, oauth.Request, error) {
	l, err := s.Licenses.ByRedemption(r.Context(), r.PathValue("id"))
	switch {
	case fault.Is(err, license.CodeUnknownLicense):
		return redeemView{}, oauth.Request{}, fault.New(
			fault.Missing,
			license.CodeUnknownLicense,
			"There is no license for this redeem link. Check that the link is complete, or open the license from My "+
				"licenses.",
		)
	case err != nil:
		return redeemView{}, oauth.Request{}, err
	case l.Erased || l.OwnerID != 0 && l.OwnerID != v.User.ID:
		return redeemView{}, oauth.Request{}, errNotYours()
	}
	views, err := s.ownedViews(r, []license.License{l})
	if err != nil {
		return redeemView{}, oauth.Request{}, err
	}
	views[0].Guest = v.Guest
	view := redeemView{ownedView: views[0]}
	req, err := s.OAuth.MarketplaceRequest(r.Context(), l.PartnerID)
	switch {
	case fault.Is(err, oauth.CodeNotConnected):
		if view.Stage.canRedeem() {
			view.Stage = notReady
		}
	case err != nil:
		return redeemView{}, oauth.Request{}, err
	default:
		view.Host = req.Host()
	}
	if view.Partner.Paused() && view.Stage.canRedeem() {
		view.Stage = paused
	}
	return view, req, nil
}

// redeemPage shows the state of the license.
func (s *Shop) redeemPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	view, req, err := s.redeemable(r, v)
	if fault.Is(err, license.CodeLicenseNotYours) {
		return s.Site.Render(
			w,
			r,
			v,
			"not-yours",
			ui.View{Title: "Another account's license", Status: http.StatusForbidden, Data: r.URL.Path},
		)
	}
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "redeem", ui.View{Title: view.Partner.Name, Data: view, FormTo: req.FormTo()})
}

// connectable is redeemable for the steps of a connection that starts here. ok is false if the
// visitor was redirected: to the page with the reason the license cannot be connected, or to an
// application that starts connections itself, which never gets a code that it did not request.
func (s *Shop) connectable(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
) (view redeemView, req oauth.Request, ok bool, err error) {
	if view, req, err = s.redeemable(r, v); err != nil {
		return view, req, false, err
	}
	to := s.OAuth.Initiation(req)
	switch {
	case !view.CanRedeem():
		to = view.Redeem
	case to != "":
		s.storeChoice(r, view.License)
	default:
		return view, req, true, nil
	}
	ui.SeeOther(w, r, to)
	return view, req, false, nil
}

// activate starts the connection: immediately if the buyer consented before, otherwise with the
// consent page.
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

// connect accepts the request for a license and sends the buyer to the application, after the first
// attempt to deliver its event or after WaitAtMost. If that takes longer than ShowAfter, it shows a
// page.
func (s *Shop) connect(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	req oauth.Request,
	redemptionID string,
) error {
	to, l, err := s.OAuth.Accept(
		r.Context(),
		v.Actor(),
		req,
		oauth.Authentication{UserID: v.User.ID, At: v.Signed.At},
		redemptionID,
	)
	if err != nil {
		return err
	}
	s.removeChoice(r, l.RedemptionID)
	wait := s.ShowAfter
	if slices.Contains(req.Prompt, "none") {
		wait = s.WaitAtMost // no page may be shown
	}
	attempted := req.Profile.WebhookURL == "" || s.Webhooks.AwaitAttempt(r.Context(), l.ID, wait)
	if attempted || wait >= s.WaitAtMost {
		ui.SeeOther(w, r, to)
		return nil
	}
	return s.Site.Render(w, r, v, "connecting", ui.View{
		Title: "Connecting you to " + req.Partner.Name, Data: req.Partner,
		DelayedRedirect: &ui.DelayedRedirect{
			To:   to,
			Wait: func() { s.Webhooks.AwaitAttempt(r.Context(), l.ID, s.WaitAtMost-wait) },
		},
	})
}

// consentView is the request of an application.
type consentView struct {
	Partner partner.Partner
	Product partner.Product
	Host    string
	Action  string
	Hidden  []hidden
	Choices []ownedView // one, or several to choose from
	Paid    bool        // the buyer comes from the payment
	Guest   bool        // the buyer has no account yet
}

// hidden is a parameter of the request that the form passes on.
type hidden struct{ Name, Value string }

// consentPage asks for the consent in the flow that started here.
func (s *Shop) consentPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	view, req, ok, err := s.connectable(w, r, v)
	if !ok {
		return err
	}
	return s.askConsent(w, r, v, req, consentView{
		Partner: req.Partner, Product: view.Product, Host: req.Host(), Action: r.URL.Path,
		Choices: []ownedView{view.ownedView}, Paid: r.URL.Query().Has("paid"), Guest: v.Guest,
	})
}

func (s *Shop) askConsent(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	req oauth.Request,
	view consentView,
) error {
	return s.Site.Render(w, r, v, "consent", ui.View{
		Title: "Connect " + view.Partner.Name, FormTo: req.FormTo(), Data: view,
	})
}

// consent receives the decision.
func (s *Shop) consent(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	if r.PostFormValue("decision") != "allow" {
		s.Site.Sessions.Flash(r.Context(), "Nothing was connected. You can activate the license here at any time.")
		to := "/licenses"
		if v.Guest {
			to += "/" + r.PathValue("id")
		}
		ui.SeeOther(w, r, to)
		return nil
	}
	view, req, ok, err := s.connectable(w, r, v)
	if !ok {
		return err
	}
	return s.connect(w, r, v, req, view.License.RedemptionID)
}
