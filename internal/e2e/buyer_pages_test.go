package e2e_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/devserver"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// shopper is a buyer with access to their checkouts.
type shopper struct {
	*buyer
	db *sqldb.DB
}

// checkoutPage returns the path to which Stripe redirects the buyer of the newest checkout.
func (s *shopper) checkoutPage() string {
	s.t.Helper()
	ref, err := sqldb.One(s.t.Context(), s.db, sqldb.Value[string], `SELECT ref FROM checkouts ORDER BY id DESC LIMIT 1`)
	if err != nil {
		s.t.Fatal(err)
	}
	return "/checkout/" + ref
}

// act applies an action to the newest payment, and waits until a page has the text.
func (s *shopper) act(act, path, text string) {
	s.t.Helper()
	s.visit("/dev/stripe/")
	s.Press("button[value=" + act + "]")
	s.awaitText(path, text)
}

// awaitText loads a page until it has the text: webhooks and emails come after an answer.
func (s *shopper) awaitText(path, text string) {
	s.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		if s.visit(path); strings.Contains(s.Text("main"), text) {
			return
		}
	}
}

// caught is an email of the dev server.
type caught struct {
	ID                int64
	To, Subject, Text string
}

func (s *shopper) mails() []caught {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.card.MailURL, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	var all list[caught]
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		s.t.Fatal(err)
	}
	return all.Items
}

// awaitMail waits for an email with this in its subject.
func (s *shopper) awaitMail(subject string) caught {
	s.t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		all := s.mails()
		if i := slices.IndexFunc(all, func(m caught) bool { return strings.Contains(m.Subject, subject) }); i >= 0 {
			return all[i]
		}
	}
}

// TestBuyerPages walks through the pages of a payment, from a plan chosen before sign-in to a
// refund, and checks each of them and every email.
func TestBuyerPages(t *testing.T) {
	t.Parallel()
	s := &shopper{}
	s.buyer = newBuyer(t, func(cfg *devserver.Config) {
		cfg.App.SupportURL, cfg.App.LegalName = "https://example.com/help", "Example Software Ltd"
		cfg.App.DB = sqldbtest.URL(t)
		s.db = sqldbtest.OpenWith(t, cfg.App.DB, sqldb.Options{})
	})
	s.buysBeforeSignIn()
	s.comesBack()
	s.buysAsGuest()
	s.isDisputed()
	s.looksAtMails(map[string]string{
		"license-ready": "is ready", "receipt": "Your receipt", "plan-changed": "Your plan for", "on-hold": "is on hold", "reinstated": "no longer on hold",
		"refunded": "was refunded", "new-sign-in": "New sign-in",
	})
	s.leavesForGood()
	s.looksAtMails(map[string]string{"email-changed": "was changed", "account-deleted": "deleted"})
}

// buysBeforeSignIn presses Buy and signs in; the browser then continues to the payment.
func (s *shopper) buysBeforeSignIn() {
	s.t.Helper()
	s.visit("/products/1")
	s.Press("form[action$='/buy'] button")
	s.on("Where do we send your receipt?")
	s.Press("main a[href^='/sign-in']")
	s.on("Sign in")
	s.wantText("Sign in to buy Sample App")
	s.look("buyer-sign-in-to-buy")
	s.Type("#email", s.card.Buyer.Email)
	s.Type("#password", s.card.Buyer.Password)
	s.Press("main form button")
	s.Await("button[value=pay]")
	s.look("buyer-stand-in-pay")
	s.visit(s.checkoutPage())
	s.on("Waiting for your payment")
	s.look("buyer-checkout-open")
	s.visit("/products/1")
	s.buys()
	s.on("Connect Sample App?")
	s.look("buyer-paid")
	s.visit("/products/1/buy?tier=2")
	s.on("Buy Sample App")
	s.look("buyer-confirm-buy")
}

// comesBack checks the page of a payment in each state, for the buyer, for their browser without a
// login, and for others.
func (s *shopper) comesBack() {
	s.t.Helper()
	later := func() string {
		s.t.Helper()
		s.visit("/products/1")
		s.Press("form[action$='/buy'] button")
		s.Press("button[value=later]")
		s.on("We're waiting for your bank")
		return s.checkoutPage()
	}
	page := later()
	s.look("buyer-checkout-pending")
	s.act("bank-refuses", page, "Your payment was refused")
	s.look("buyer-checkout-closed")
	page = later()
	s.visit("/account")
	s.Press("form[action='/sign-out'] button")
	s.act("bank-pays", page, "is ready")
	s.look("buyer-checkout-sold")

	stranger := &buyer{Tab: chromium(s.t).Tab(s.t), t: s.t, card: s.card}
	stranger.visit(page)
	stranger.on("The payment is done")
	stranger.look("buyer-checkout-stranger")
	s.signInAs(s.card.Buyer.Email, s.card.Buyer.Password)
	s.visit(page)
	s.on("Connect Sample App?")
}

// buysAsGuest is inside the application after five clicks from the front page, without a mailbox.
func (s *shopper) buysAsGuest() {
	s.t.Helper()
	b := &buyer{Tab: chromium(s.t).Tab(s.t), t: s.t, card: s.card}
	b.visit("/")
	b.Press("main a[href^='/products/']") // one
	b.on("Sample App")
	b.Press("form[action$='/buy'] button") // two
	b.on("Where do we send your receipt?")
	b.look("guest-address")
	b.Type("#email", "guest@example.com")
	b.Press("main form button") // three
	b.pays()                    // four
	b.on("Connect Sample App?")
	b.look("guest-paid")
	license := strings.Replace(b.Location(), "/consent?paid=1", "", 1)
	b.Press("button[value=allow]") // five
	b.arrives()
	b.Open(strings.Replace(license, "/licensing/", "/licenses/", 1))
	b.on("Sample App")
	b.wantText("This browser knows your license for 24 hours")
	b.look("guest-license")
}

// isDisputed changes the plan of the newest license, whose payment is then disputed, won and
// refunded.
func (s *shopper) isDisputed() {
	s.t.Helper()
	s.visit("/licenses")
	s.Press("main .licenses li:first-child h2 a")
	page := strings.TrimPrefix(s.Location(), s.card.BaseURL)
	s.Press("main a[href$='/change_plan/']")
	s.look("buyer-change-plan")
	s.Press("main a[href*='?tier=']")
	s.look("buyer-confirm-plan")
	s.Press("main form button")
	s.pays()
	s.on("Sample App")
	s.act("dispute", page, "The payment for it is disputed")
	s.look("buyer-license-held")
	s.visit("/licenses")
	s.wantText("Contact Claviger")
	s.look("buyer-licenses")
	s.act("win", page, "Activate it to connect it")
	s.act("refund", page, "Refunded")
	s.look("buyer-license")
	s.Press("main a[href^='/receipts/']")
	s.look("buyer-receipt")
}

// leavesForGood changes the email address, and then deletes the account.
func (s *shopper) leavesForGood() {
	s.t.Helper()
	s.visit("/account/email")
	s.Type("#email", "moved@example.com")
	s.Press("main form button")
	s.on("Check your email")
	mail := s.awaitMail("onfirm")
	s.Open(regexp.MustCompile(regexp.QuoteMeta(s.card.BaseURL) + `\S*token=[0-9a-f]+`).FindString(mail.Text))
	s.look("buyer-email-confirm")
	s.Press("main form button")
	s.visit("/account/delete")
	s.Type("#confirm", "moved@example.com")
	s.Press("main form button")
	s.on("Your account is deleted")
}

// looksAtMails takes pictures of emails, found by a part of their subject.
func (s *shopper) looksAtMails(kinds map[string]string) {
	s.t.Helper()
	for name, subject := range kinds {
		m := s.awaitMail(subject)
		s.Open(s.card.BaseURL + "/dev/mail/" + strconv.FormatInt(m.ID, 10) + "/html")
		s.Await("h1")
		s.Shots("mail-"+name, 1280, 390)
	}
}
