package shop

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

func checkoutPath(c payment.Checkout) string { return "/checkout/" + c.Ref }

// paysCookie identifies the browser that pressed Buy. A bank may take days, and the buyer's session
// may have ended by then.
const (
	paysCookie = "claviger-pays"
	paysLife   = 30 * 24 * time.Hour
)

// markBrowser marks the browser that starts a payment. The cookie is only sent to the page of this
// checkout.
func (s *Shop) markBrowser(w http.ResponseWriter, c payment.Checkout, guest account.User) {
	s.setCookie(w, http.Cookie{
		Name: paysCookie, Value: s.markOf(c, guest), Path: checkoutPath(c), MaxAge: int(paysLife / time.Second),
	})
}

// markOf returns the mark. A guest's mark is valid only while the guest exists: the person who typed an
// address must not see the license after its owner has taken it over.
func (s *Shop) markOf(c payment.Checkout, guest account.User) string {
	what := "browser that pays " + c.Ref
	if guest.Guest() {
		what += fmt.Sprintf(" as guest %d", guest.ID)
	}
	return s.OAuth.Sealer.Pepper(what)
}

// paysHere reports whether the request comes from the browser that pressed Buy for this checkout.
func (s *Shop) paysHere(r *http.Request, c payment.Checkout, guest account.User) bool {
	sent, err := r.Cookie(paysCookie)
	return err == nil && secret.Equal(sent.Value, s.markOf(c, guest))
}

// setCookie sets a cookie that scripts cannot read.
func (s *Shop) setCookie(w http.ResponseWriter, c http.Cookie) {
	c.HttpOnly, c.SameSite, c.Secure = true, http.SameSiteLaxMode, s.secure()
	http.SetCookie(w, &c)
}

// secure reports whether the site is served over https.
func (s *Shop) secure() bool { return strings.HasPrefix(s.Site.Pages.PublicURL, "https://") }

// checkoutView is the page that a buyer returns to. Visitors who are not known as the buyer learn
// only whether the payment is done, and that they can sign in.
type checkoutView struct {
	State   string
	Known   bool // the buyer, or the paying browser
	Item    string
	Amount  payment.Amount
	Product string
	SignIn  string     // leads back here
	License *ownedView // the sold license, for the browser that paid
	Refused bool       // the bank refused the payment
	Pay     string     // the payment page while it is open
	Until   time.Time  // when that page ends
	Masked  string     // enough of the address that a guest typed; "" for people with an account
	Again   string     // mails the guest's link again
	Mailed  bool       // it was just mailed again
}

// waitSeconds is the interval at which a waiting browser asks again.
const waitSeconds = 3

// checkout is the page that Stripe redirects a buyer to. The URL proves nothing: only the buyer's
// own login, or the browser that pressed Buy, sees the result of the payment, and only Stripe says
// that it was paid.
func (s *Shop) checkout(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	c, err := s.Payments.ByRef(r.Context(), r.PathValue("ref"))
	if err != nil {
		return err
	}
	if v, err = s.asGuest(r, v, c.UserID); err != nil {
		return err
	}
	guest, err := s.guestOf(r, c)
	if err != nil {
		return err
	}
	own := v.User.ID != 0 && c.UserID == v.User.ID
	known := own || s.paysHere(r, c, guest)
	if v.SignedIn() && !known {
		return fault.New(fault.Missing, payment.CodeUnknownCheckout,
			"You have no such purchase. If you bought with another account, sign in with that account.")
	}
	view := checkoutView{
		Known:   known,
		SignIn:  visitor.SignIn(checkoutPath(c)),
		Product: partner.ProductPath(c.PartnerID),
	}
	if known {
		if c, err = s.Payments.Look(r.Context(), c); err != nil {
			return err
		}
		view.Item = c.Item
		view.Amount = payment.Amount{Units: c.Amount, Currency: c.Currency}
		view.Refused = c.Refused
		if c.State == payment.Open && s.Now().Before(c.ExpiresAt) {
			view.Pay = c.SessionURL
			view.Until = c.ExpiresAt
		}
	}
	if known && guest.Guest() {
		if err = s.addGuest(r, c, guest, &view); err != nil {
			return err
		}
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

// addGuest adds the guest who ordered, and mails the guest once the order is sold.
func (s *Shop) addGuest(r *http.Request, c payment.Checkout, guest account.User, view *checkoutView) error {
	view.Masked = maskedAddress(guest.GuestEmail)
	view.Again = checkoutPath(c) + "/mail"
	view.Mailed = ui.Note(r) != ""
	return s.Payments.TellGuest(r.Context(), c)
}

// sold redirects to the license: a new one to the last step before the application.
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
	case !list[0].Redeemed:
		ui.SeeOther(w, r, "/licensing/"+list[0].RedemptionID+"/consent?paid=1")
	default:
		ui.SeeOther(w, r, redeemPath(list[0].RedemptionID))
	}
	return nil
}

// showSold adds the sold license, unless it is no longer the buyer's.
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
