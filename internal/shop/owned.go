package shop

import (
	"net/http"
	"strconv"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// ownedView is a license as its owner sees it.
type ownedView struct {
	License license.License
	Partner partner.Partner
	Product partner.Product
	Plan    partner.Plan // only its tier if it is no longer sold
	Stage   stage
	State   state
	Redeem  string // the page that connects it
	Change  string // the page that changes its plan
	Details string
	Guest   bool // its owner has no account yet

	plans map[int]partner.Plan // all plans of the partner, by tier
}

// KeyEnd returns the end of the license key: it distinguishes licenses of the same plan, and is
// useless on its own.
func (o ownedView) KeyEnd() string {
	const shown = 6
	return o.License.Key[max(0, len(o.License.Key)-shown):]
}

// ownedViews returns licenses as their owner sees them.
func (s *Shop) ownedViews(r *http.Request, list []license.License) ([]ownedView, error) {
	views, err := s.namedViews(r, list)
	if err == nil {
		err = s.addStates(r, views)
	}
	return views, err
}

// namedViews is ownedViews without the states. Each partner and its plans are read once.
func (s *Shop) namedViews(r *http.Request, list []license.License) ([]ownedView, error) {
	type shelf struct {
		partner partner.Partner
		product partner.Product
		plans   map[int]partner.Plan
	}
	seen := map[int64]shelf{}
	views := make([]ownedView, len(list))
	for i, l := range list {
		of, ok := seen[l.PartnerID]
		if !ok {
			var err error
			if of.partner, err = s.Partners.Get(r.Context(), l.PartnerID); err != nil {
				return nil, err
			}
			if of.product, err = s.Partners.Product(r.Context(), l.PartnerID); err != nil {
				return nil, err
			}
			plans, err := s.Partners.Plans(r.Context(), l.PartnerID)
			if err != nil {
				return nil, err
			}
			of.plans = map[int]partner.Plan{}
			for _, p := range plans {
				of.plans[p.Tier] = p
			}
			seen[l.PartnerID] = of
		}
		plan, ok := of.plans[l.Tier]
		if !ok {
			plan.Tier = l.Tier
		}
		views[i] = ownedView{
			License: l, Partner: of.partner, Product: of.product, Plan: plan, Redeem: redeemPath(l.RedemptionID),
			Change: "/licensing/" + l.RedemptionID + "/change_plan/", Details: "/licenses/" + l.RedemptionID,
			plans: of.plans,
		}
	}
	return views, nil
}

// ownLicense returns the license of the path if it is the visitor's. Another person's license is
// reported as missing.
func (s *Shop) ownLicense(r *http.Request, v *visitor.Visitor) (ownedView, error) {
	l, err := s.Licenses.ByRedemption(r.Context(), r.PathValue("id"))
	if err == nil && (l.OwnerID != v.User.ID || l.Erased) || fault.Is(err, license.CodeUnknownLicense) {
		return ownedView{}, fault.New(fault.Missing, license.CodeUnknownLicense,
			"You have no such license. If you bought it with another account, sign in with that account.")
	}
	if err != nil {
		return ownedView{}, err
	}
	views, err := s.ownedViews(r, []license.License{l})
	if err != nil {
		return ownedView{}, err
	}
	views[0].Guest = v.Guest
	return views[0], nil
}

// licenseView is a license with the possible actions, in the list and on its own page.
type licenseView struct {
	ownedView
	Receipts ui.Receipt // on its own page
	Refund   refundView
	Masked   string // enough of the address that a guest typed
}

func (s *Shop) license(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	o, err := s.ownLicense(r, v)
	if err != nil {
		return err
	}
	receipts, err := s.Licenses.Receipts(r.Context(), o.License.ID, v.User.ID)
	if err != nil {
		return err
	}
	refund, err := s.refundOf(r, o, v)
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "license", ui.View{Title: o.Partner.Name, Data: licenseView{
		ownedView: o, Receipts: s.receiptRows(o, receipts), Refund: refund,
		Masked: maskedAddress(v.User.GuestEmail),
	}})
}

// releasePage explains the effect of disconnecting a license and asks for it.
func (s *Shop) releasePage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	o, err := s.ownLicense(r, v)
	if err != nil {
		return err
	}
	if o.Stage != connected {
		ui.SeeOther(w, r, o.Details)
		return nil
	}
	return s.Site.Render(w, r, v, "disconnect", ui.View{Title: "Disconnect " + o.Partner.Name, Data: o})
}

// release disconnects a license that was connected to the wrong account.
func (s *Shop) release(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	o, err := s.ownLicense(r, v)
	if err != nil {
		return err
	}
	done := "The license is disconnected. You can activate it again with the right account."
	_, err = s.Licenses.Disconnect(r.Context(), v.Actor(), o.License.RedemptionID, v.User.ID)
	switch {
	case fault.Is(err, license.CodeLicenseNotActive):
		done = "Nothing was changed: the license was already disconnected."
	case err != nil:
		return err
	}
	s.Site.Sessions.Flash(r.Context(), done)
	ui.SeeOther(w, r, o.Redeem)
	return nil
}

// plansView is the page that changes a license's plan.
type plansView struct {
	ownedView
	Tiers []tierView
}

// CanChange reports whether the plan of the license can be changed in the shop.
func (o ownedView) CanChange() bool { return o.Stage != refunded && o.Stage != held && !o.Guest }

func (s *Shop) plans(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	o, err := s.ownLicense(r, v)
	if err != nil {
		return err
	}
	plans, err := s.Partners.Plans(r.Context(), o.Partner.ID)
	if err != nil {
		return err
	}
	tiers := s.tiers(o.Partner, plans, &o.License, o.Change)
	if err := s.pricePlans(r, o, tiers); err != nil {
		return err
	}
	if to := planIn(tiers, r.URL.Query().Get("tier")); to != nil && o.CanChange() {
		return s.Site.Render(
			w, r, v, "confirm-plan",
			ui.View{Title: "Change plan", FormTo: s.formTo(), Data: confirmPlanView{o, *to}},
		)
	}
	return s.Site.Render(w, r, v, "change-plan", ui.View{
		Title: "Change plan", Wide: true, FormTo: s.formTo(),
		Data: plansView{
			ownedView: o, Tiers: tiers,
		},
	})
}

// confirmPlanView asks before a plan is changed.
type confirmPlanView struct {
	ownedView
	To tierView
}

// planIn returns the plan of the query, if the license can change to it here.
func planIn(tiers []tierView, tier string) *tierView {
	for i := range tiers {
		if t := &tiers[i]; strconv.Itoa(t.Tier) == tier && t.OnSale() && t.Checkout == "" && !t.Current {
			return t
		}
	}
	return nil
}

// errNoChange refuses a plan change of a license that is on hold or was refunded.
func errNoChange(s stage) error {
	if s == held {
		return fault.New(fault.Conflict, license.CodeLicenseHeld,
			"You can't change the plan while the license is on hold. Contact the marketplace to have the hold lifted.")
	}
	return fault.New(fault.Conflict, license.CodeLicenseRefunded,
		"You can't change the plan of a refunded license. You can buy a new license.")
}

// changeOrder returns the order of a plan change.
func changeOrder(v *visitor.Visitor, o ownedView, plan partner.Plan, price payment.PlanPrice) payment.Order {
	order := paidOrder(v, o.Partner, plan, price.Amount, o.Change)
	order.LicenseKey = o.License.Key
	order.Credit = price.Credits
	return order
}

// changePlan sends the owner to the payment page of another plan. A free change, or one paid with
// test money, is done immediately.
func (s *Shop) changePlan(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	o, err := s.ownLicense(r, v)
	if err != nil {
		return err
	}
	plan, order, err := s.order(r, o.Partner.ID)
	if err != nil {
		return err
	}
	if !o.CanChange() {
		return errNoChange(o.Stage)
	}
	price, err := s.planPrice(r, o, plan)
	if err != nil {
		return err
	}
	if price.Amount.Units > 0 && s.Payments.Takes() {
		to, err := s.pay(w, r, changeOrder(v, o, plan, price))
		if err == nil {
			ui.SeeOther(w, r, to)
		}
		return err
	}
	if s.Payments.Takes() {
		err = s.Payments.ChangeFree(r.Context(), v.Actor(), o.License, plan, order)
	} else {
		_, err = s.Licenses.ChangePlan(r.Context(), v.Actor(), o.License.Key, license.PlanChange{
			Tier: plan.Tier, AmountCents: price.Amount.Units, Currency: plan.Currency, ExternalID: order, Shop: true,
			Then: s.Payments.FreeOrder(changeOrder(v, o, plan, price)),
		})
	}
	if err != nil {
		return err
	}
	s.Site.Sessions.Flash(r.Context(), "Your plan is now "+plan.DisplayName()+".")
	ui.SeeOther(w, r, o.Details)
	return nil
}
