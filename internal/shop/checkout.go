package shop

import (
	"net/http"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

func checkoutPath(c payment.Checkout) string { return "/checkout/" + c.Ref }

// paysCookie tells the browser that pressed Buy from others. A bank may take days, and the
// buyer's session may be over by then.
const (
	paysCookie = "claviger-pays"
	paysLife   = 30 * 24 * time.Hour
)

// markBrowser gives the browser that begins a payment a mark of that checkout, which it
// sends to the checkout's own page alone.
func (s *Shop) markBrowser(w http.ResponseWriter, c payment.Checkout) {
	s.setCookie(w, http.Cookie{Name: paysCookie, Value: s.markOf(c), Path: checkoutPath(c), MaxAge: int(paysLife / time.Second)})
}

func (s *Shop) markOf(c payment.Checkout) string {
	return s.OAuth.Sealer.Pepper("browser that pays " + c.Ref)
}

// paysHere reports whether the request comes from a browser that pressed Buy for this.
func (s *Shop) paysHere(r *http.Request, c payment.Checkout) bool {
	sent, err := r.Cookie(paysCookie)
	return err == nil && secret.Equal(sent.Value, s.markOf(c))
}

// setCookie sends a cookie that no script reads.
func (s *Shop) setCookie(w http.ResponseWriter, c http.Cookie) {
	c.HttpOnly, c.SameSite, c.Secure = true, http.SameSiteLaxMode, strings.HasPrefix(s.Site.Pages.PublicURL, "https://")
	http.SetCookie(w, &c)
}

// checkoutView is the page that a buyer comes back to. Whoever is not known to be the buyer
// learns only whether the payment is done, and that they can sign in.
type checkoutView struct {
	State   string
	Known   bool // it is the buyer, or the browser that pays
	Item    string
	Amount  payment.Amount
	Product string
	SignIn  string     // leads back here
	License *ownedView // what was sold, for the browser that paid
}

// waitSeconds is how long a buyer's browser waits before it asks again.
const waitSeconds = 3

// checkout is where Stripe sends a buyer back to. The address is no proof of anything: only
// the buyer's own login, or the browser that pressed Buy, sees what became of the payment,
// and only Stripe says that it was paid.
func (s *Shop) checkout(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	c, err := s.Payments.ByRef(r.Context(), r.PathValue("ref"))
	if err != nil {
		return err
	}
	own := v.SignedIn() && c.UserID == v.User.ID
	known := own || s.paysHere(r, c)
	if v.SignedIn() && !known {
		return fault.New(fault.Missing, payment.CodeUnknownCheckout,
			"You have no such purchase. If you bought with another account, sign in with that account.")
	}
	view := checkoutView{Known: known, SignIn: visitor.SignIn(checkoutPath(c)), Product: partner.ProductPath(c.PartnerID)}
	if known {
		if c, err = s.Payments.Look(r.Context(), c); err != nil {
			return err
		}
		view.Item, view.Amount = c.Item, payment.Amount{Units: c.Amount, Currency: c.Currency}
	}
	view.State = c.State.String()
	if c.State == payment.Sold {
		switch {
		case own:
			return s.sold(w, r, c)
		case known:
			err = s.showSold(r, c, &view)
		}
	}
	if err != nil {
		return err
	}
	page := ui.View{Title: "Your purchase", NoIndex: true, Data: view}
	if c.State == payment.Open {
		page.Refresh = waitSeconds
	}
	return s.Site.Render(w, r, v, "checkout", page)
}

// sold leads on to the license.
func (s *Shop) sold(w http.ResponseWriter, r *http.Request, c payment.Checkout) error {
	list, err := s.Licenses.OfSale(r.Context(), c.PurchaseID)
	if err != nil {
		return err
	}
	switch {
	case len(list) == 0 || list[0].OwnerID != c.UserID:
		ui.SeeOther(w, r, "/licenses")
	case c.LicenseKey != "":
		s.Site.Sessions.Flash(r.Context(), "Your plan is now "+c.PlanName+".")
		ui.SeeOther(w, r, "/licenses/"+list[0].RedemptionID)
	default:
		ui.SeeOther(w, r, redeemPath(list[0].RedemptionID))
	}
	return nil
}

// showSold adds the license that was sold, unless it is no longer the buyer's.
func (s *Shop) showSold(r *http.Request, c payment.Checkout, view *checkoutView) error {
	list, err := s.Licenses.OfSale(r.Context(), c.PurchaseID)
	if err != nil || len(list) == 0 || list[0].OwnerID != c.UserID || list[0].Erased {
		return err
	}
	views, err := s.ownedViews(r, list[:1])
	if err == nil {
		view.License = &views[0]
	}
	return err
}
