package shop

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/secret"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// A guest buys before there is an account. The cookie of the browser that pays is all that leads to
// the license until the address is proven; see package account.

// guestCookie is the name of that cookie. Over https, no other site and no path can set it.
func (s *Shop) guestCookie() string {
	if s.secure() {
		return "__Host-claviger-guest"
	}
	return "claviger-guest"
}

// guestBrowser returns the secret of this browser, "" if it has none.
func (s *Shop) guestBrowser(r *http.Request) string {
	c, err := r.Cookie(s.guestCookie())
	if err != nil {
		return ""
	}
	return c.Value
}

// markGuest gives the browser its secret, or the same one for longer.
func (s *Shop) markGuest(w http.ResponseWriter, browser string) {
	s.setCookie(
		w,
		http.Cookie{Name: s.guestCookie(), Value: browser, Path: "/", MaxAge: int(account.GuestLife / time.Second)},
	)
}

// asGuest returns the visitor as the guest of this browser with the id, or else unchanged.
func (s *Shop) asGuest(r *http.Request, v *visitor.Visitor, userID int64) (*visitor.Visitor, error) {
	if v.User.ID == userID {
		return v, nil
	}
	u, found, err := s.Site.Accounts.GuestIn(r.Context(), s.guestBrowser(r), userID)
	if err != nil || !found {
		return v, err
	}
	return &visitor.Visitor{User: u, Guest: true, Signed: ui.Signed{At: u.CreatedAt}, Client: v.Client}, nil
}

// buyers returns the route of a page about a license, for its owner, who may be a guest of this
// browser. Others sign in first, then return.
func (s *Shop) buyers(method, path string, h visitor.Handler) wire.Route {
	return s.forOwner(method, path, h, func(r *http.Request) (int64, error) {
		l, err := s.Licenses.ByRedemption(r.Context(), r.PathValue("id"))
		if fault.Is(err, license.CodeUnknownLicense) {
			return 0, nil
		}
		return l.OwnerID, err
	})
}

// payers is buyers for pages about a purchase.
func (s *Shop) payers(method, path string, h visitor.Handler) wire.Route {
	return s.forOwner(method, path, h, func(r *http.Request) (int64, error) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			return 0, nil //nolint:nilerr // the page says that there is no such receipt
		}
		return s.Licenses.Payer(r.Context(), id)
	})
}

func (s *Shop) forOwner(method, path string, h visitor.Handler, owner func(*http.Request) (int64, error)) wire.Route {
	return s.public(method, path, func(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
		if s.guestBrowser(r) != "" {
			id, err := owner(r)
			if err != nil {
				return err
			}
			if v, err = s.asGuest(r, v, id); err != nil {
				return err
			}
		}
		if v.User.ID == 0 {
			return visitor.ErrSignIn
		}
		return h(w, r, v)
	})
}

// asChosenGuest returns the visitor as the guest whose license was chosen here before the
// application started its request. An application alone never meets a guest.
func (s *Shop) asChosenGuest(r *http.Request, v *visitor.Visitor, a authorization) (*visitor.Visitor, error) {
	c, ok := s.readChoice(r, a)
	if !ok || v.SignedIn() || s.guestBrowser(r) == "" {
		return v, nil
	}
	l, err := s.Licenses.ByRedemption(r.Context(), c.license)
	if err != nil || l.PartnerID != a.Partner.ID {
		return v, nil //nolint:nilerr // the sign-in follows
	}
	return s.asGuest(r, v, l.OwnerID)
}

// sellsToGuests reports whether the plan can be bought without an account. A free plan needs a proven
// address first, and without emails no guest could prove one.
func (s *Shop) sellsToGuests(plan partner.Plan) bool {
	return plan.PriceCents > 0 && s.Payments.Takes() && s.Guests
}

func guestPath(p partner.Partner, plan partner.Plan) string {
	return partner.ProductPath(p.ID) + "/guest?" + url.Values{"tier": {strconv.Itoa(plan.Tier)}}.Encode()
}

// guestView asks for the address of a visitor who buys.
type guestView struct {
	ui.Form
	Partner partner.Partner
	Product partner.Product
	Plan    partner.Plan
	Action  string
	SignIn  string // leads to the payment, too
}

// guestPlan returns what the path and the tier of a guest's order name.
func (s *Shop) guestPlan(r *http.Request, tier string) (partner.Partner, partner.Plan, error) {
	p, err := s.partnerInPath(r)
	if err != nil {
		return p, partner.Plan{}, err
	}
	if p.Paused() {
		return p, partner.Plan{}, errPaused()
	}
	plan, err := s.soldHere(r, p.ID, tier)
	return p, plan, err
}

// guestPage asks for an address. People who are signed in buy without it.
func (s *Shop) guestPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	p, plan, err := s.guestPlan(r, r.URL.Query().Get("tier"))
	if err != nil {
		return err
	}
	if v.SignedIn() || !s.sellsToGuests(plan) {
		ui.SeeOther(w, r, chosenPath(p, plan))
		return nil
	}
	return s.askAddress(w, r, v, p, plan, http.StatusOK, guestForm(""))
}

func guestForm(email string) ui.Form {
	return ui.Form{Fields: []ui.Field{{
		Name: "email", Label: "Email address", Type: "email", Value: email, Autocomplete: "email", Required: true,
		Autofocus: true, Hint: "For the receipt and your license. The application never sees it.",
	}}}
}

func (s *Shop) askAddress(
	w http.ResponseWriter, r *http.Request, v *visitor.Visitor, p partner.Partner, plan partner.Plan, status int,
	f ui.Form,
) error {
	product, err := s.Partners.Product(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "guest", ui.View{
		Title: "Buy " + p.Name, Status: status, NoIndex: true, FormTo: s.formTo(),
		Data: guestView{
			Form: f, Partner: p, Product: product, Plan: plan, Action: guestPath(p, plan),
			SignIn: visitor.SignIn(chosenPath(p, plan)),
		},
	})
}

// buyAsGuest starts the payment of a visitor who typed an address. The answer does not depend on
// whether the address has an account.
func (s *Shop) buyAsGuest(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	p, plan, err := s.guestPlan(r, r.URL.Query().Get("tier"))
	if err != nil {
		return err
	}
	if v.SignedIn() || !s.sellsToGuests(plan) {
		ui.SeeOther(w, r, chosenPath(p, plan))
		return nil
	}
	email := ui.FormText(r, "email")
	f := guestForm(email)
	if wait := s.Throttle.Mail(r, email); wait > 0 {
		again := ui.RetryAfter(w.Header(), wait)
		f = f.WithProblem("Too many purchases were started from here. Try again in " + again + ".")
		return s.askAddress(w, r, v, p, plan, http.StatusTooManyRequests, f)
	}
	browser := cmp.Or(s.guestBrowser(r), secret.Make(""))
	u, err := s.Site.Accounts.StartGuest(r.Context(), account.GuestOrder{
		Email: email, Browser: browser, PartnerID: p.ID, Tier: plan.Tier,
	})
	if refused := fault.Of(err); refused != nil && refused.Field == "email" {
		f = f.WithError("email", "Enter an email address, such as name@example.com.")
		return s.askAddress(w, r, v, p, plan, http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	guest := &visitor.Visitor{User: u, Guest: true, Client: v.Client}
	price := payment.Amount{Units: plan.PriceCents, Currency: plan.Currency}
	to, err := s.pay(w, r, paidOrder(guest, p, plan, price, partner.ProductPath(p.ID)))
	if err != nil {
		return err
	}
	s.markGuest(w, browser)
	ui.SeeOther(w, r, to)
	return nil
}

// mailAgain mails a guest the link to the license again. It is for the browser that paid.
func (s *Shop) mailAgain(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	c, err := s.Payments.ByRef(r.Context(), r.PathValue("ref"))
	if err != nil {
		return err
	}
	guest, err := s.guestOf(r, c)
	if err != nil {
		return err
	}
	if !s.paysHere(r, c, guest) {
		return visitor.ErrSignIn
	}
	if err := s.Site.Accounts.MailGuestAgain(r.Context(), c.UserID); err != nil {
		return err
	}
	s.Site.Pages.SetNote(w, checkoutPath(c), "mailed")
	ui.SeeOther(w, r, checkoutPath(c))
	return nil
}

// guestOf returns the guest who ordered, a zero User for orders of others.
func (s *Shop) guestOf(r *http.Request, c payment.Checkout) (account.User, error) {
	u, err := s.Site.Accounts.Get(r.Context(), c.UserID)
	if fault.Is(err, account.CodeUnknownUser) || err == nil && !u.Guest() {
		return account.User{}, nil
	}
	return u, err
}

// maskedAddress shows enough of an address for its owner to recognize it.
func maskedAddress(email string) string {
	name, domain, ok := strings.Cut(email, "@")
	if !ok || name == "" {
		return ""
	}
	return string([]rune(name)[:1]) + "•••@" + domain
}
