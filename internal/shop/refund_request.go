package shop

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/refundrequest"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// refundRoutes returns the page on which the owner of a license asks for the money back.
func (s *Shop) refundRoutes() []wire.Route {
	return secretPath(
		s.signedIn(http.MethodGet, "/licenses/{id}/refund", s.refundPage),
		s.signedIn(http.MethodPost, "/licenses/{id}/refund", s.requestRefund),
	)
}

// refundView is the part of a license's page about refunds.
type refundView struct {
	Offer string // the page that asks for one; "": not possible now
	Until string // the last day
	Last  *refundrequest.Request
}

// Shown reports whether there is anything to say.
func (v refundView) Shown() bool { return v.Offer != "" || v.Last != nil }

// refundOf returns the part of a license's page about refunds. It shows only requests of the
// visitor.
func (s *Shop) refundOf(r *http.Request, o ownedView, v *visitor.Visitor) (refundView, error) {
	var view refundView
	if !s.Payments.Takes() || s.Payments.Requests == nil || v.Guest {
		return view, nil
	}
	list, err := refundrequest.OfLicense(r.Context(), s.Payments.DB, o.License.ID)
	if err != nil {
		return view, err
	}
	list = slices.DeleteFunc(list, func(q refundrequest.Request) bool { return q.UserID != v.User.ID })
	if len(list) > 0 {
		view.Last = &list[0]
		if list[0].State == refundrequest.Requested {
			return view, nil
		}
	}
	c, err := s.Payments.Claim(r.Context(), o.License)
	if fault.Of(err) != nil {
		return view, nil
	}
	if err == nil {
		view.Offer = o.Details + "/refund"
		view.Until = c.LastDay()
	}
	return view, err
}

// askRefund builds the page that asks for a refund, with its effect.
func (s *Shop) askRefund(r *http.Request, o ownedView, c payment.Claim) (ui.Confirm, error) {
	view := ui.Confirm{
		Heading: "Request a refund", Action: o.Details + "/refund", Cancel: o.Details, Back: "Keep the license",
		Button: ui.Button{Label: "Request a refund", Busy: "Sending…", Kind: "danger"},
	}
	view.Fields = []ui.Field{{
		Name: "reason", Label: "Reason", Type: "textarea", Rows: 4,
		Hint: fmt.Sprintf("Up to %d characters. Tell us what didn't work for you.", refundrequest.MaxReason),
	}}
	for _, p := range c.Payments {
		view.Says = append(view.Says, fmt.Sprintf(
			"You get %s back for %s.", refundrequest.Total([]refundrequest.Payment{p}), p.Item,
		))
	}
	after, err := s.Licenses.AfterRefund(r.Context(), o.License, c.Purchases())
	if err != nil {
		return view, err
	}
	effect := fmt.Sprintf("The license then no longer works in %s.", o.Partner.Name)
	if !after.Ended {
		plan := o.plans[after.Tier]
		plan.Tier = after.Tier
		effect = fmt.Sprintf("Your license then continues on %s.", plan.DisplayName())
	}
	next := fmt.Sprintf("%s answers your request by email. Until then, nothing changes.", s.brand())
	if s.Payments.Requested == payment.Automatic {
		next = "When the money arrives depends on how you paid; it can take a few days."
	}
	view.Says = append(view.Says, effect, next)
	return view, nil
}

func (s *Shop) brand() string { return cmp.Or(s.Site.Pages.Brand, "Claviger") }

// refundPage explains the effect of a refund and asks for the reason.
func (s *Shop) refundPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	o, err := s.ownLicense(r, v)
	if err != nil {
		return err
	}
	c, err := s.Payments.Claim(r.Context(), o.License)
	if err != nil {
		return err
	}
	view, err := s.askRefund(r, o, c)
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, ui.PageConfirm, ui.View{Title: view.Heading, Data: view})
}

// requestRefund stores the request.
func (s *Shop) requestRefund(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	o, err := s.ownLicense(r, v)
	if err != nil {
		return err
	}
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	reason := ui.FormText(r, "reason")
	made, err := s.Payments.RequestRefund(r.Context(), v.Actor(), o.License, v.User.ID, reason)
	if f := fault.Of(err); f != nil && f.Kind == fault.Unprocessable {
		return s.refusedReason(w, r, v, o, err)
	}
	if err != nil {
		return err
	}
	done := "We received your request. You'll get an email when it's decided."
	if made.UnderWay() {
		done = "Your refund is on its way. You'll get an email when it's done."
	}
	s.Site.Sessions.Flash(r.Context(), done)
	ui.SeeOther(w, r, o.Details)
	return nil
}

// refusedReason shows the page again, with a reason that cannot be stored.
func (s *Shop) refusedReason(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	o ownedView,
	refused error,
) error {
	c, err := s.Payments.Claim(r.Context(), o.License)
	if err != nil {
		return err
	}
	view, err := s.askRefund(r, o, c)
	if err != nil {
		return err
	}
	view.Fields[0].Value = ui.FormText(r, "reason")
	view.Refuse(refused)
	return s.Site.Render(w, r, v, ui.PageConfirm, ui.View{
		Title: view.Heading, Status: http.StatusUnprocessableEntity, Data: view,
	})
}

// refundDay returns the last day on which the buyer of a purchase may ask for the money back, ""
// if there is none or it has passed.
func (s *Shop) refundDay(r *http.Request, c license.Receipt) (string, error) {
	if !s.Payments.Takes() || c.Refunded {
		return "", nil
	}
	list, err := s.Payments.OfPurchases(r.Context(), []int64{c.ID})
	if err != nil || len(list) == 0 || !s.Now().Before(list[0].RefundUntil) {
		return "", err
	}
	return payment.LastDay(list[0].RefundUntil), nil
}

// RefundDays returns for how many days the buyers of the product may ask for their money back. Only
// payments by Stripe have such days.
func (v productView) RefundDays() int {
	if !v.Pays {
		return 0
	}
	return v.Product.RefundDays
}
