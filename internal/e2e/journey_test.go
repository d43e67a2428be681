package e2e_test

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"claviger/internal/devserver"
	"claviger/internal/e2e/browser"
	"claviger/internal/sqldb/sqldbtest"
)

// buyer is a person with a browser in the marketplace.
type buyer struct {
	*browser.Tab
	t    *testing.T
	card devserver.Card
	mail string // path of the newest link from newestLink
}

// newBuyer starts the service and a browser; change may alter the service's configuration. Pages
// look the same on either database.
func newBuyer(t *testing.T, change func(*devserver.Config)) *buyer {
	t.Helper()
	if sqldbtest.Postgres() {
		t.Skip("looked at on SQLite")
	}
	card := devNode(t, change)
	return &buyer{Tab: chromium(t).Tab(t), t: t, card: card}
}

// on fails the test unless the page's heading has this text.
func (b *buyer) on(heading string) {
	b.t.Helper()
	if got := b.Text("h1"); !strings.Contains(got, heading) {
		b.t.Fatalf("the page is %q at %s, want %q", got, b.Location(), heading)
	}
}

// arrives checks that the buyer is in the application, on slow machines after a waiting page.
func (b *buyer) arrives() {
	b.t.Helper()
	b.Await("#license")
	b.on("Welcome to Sample App")
}

// visit opens a page of the marketplace.
func (b *buyer) visit(path string) {
	b.t.Helper()
	b.Open(b.card.BaseURL + path)
}

// linkInMail opens the newest email and returns its link to the marketplace.
func (b *buyer) linkInMail(look string) string {
	b.t.Helper()
	b.Open(b.card.MailURL)
	b.Look(look + "-mails")
	b.Press("main a[href*='/dev/mail/']")
	b.Look(look + "-mail")
	return b.link()
}

// newestLink is linkInMail without checking the pages. It waits for an email with a link that it
// has not returned before: links are mailed after the answer.
func (b *buyer) newestLink() string {
	b.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		res, err := http.Get(b.card.MailURL) //nolint:noctx // ends with the test's server
		if err != nil {
			b.t.Fatal(err)
		}
		list, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			b.t.Fatal(err)
		}
		if mail := regexp.MustCompile(`/dev/mail/\d+`).FindString(string(list)); mail != "" && mail != b.mail {
			b.mail = mail
			b.Open(b.card.BaseURL + mail)
			if link := b.findLink(); link != "" {
				return link
			}
		}
	}
}

// link returns the link to the marketplace in the shown email.
func (b *buyer) link() string {
	b.t.Helper()
	link := b.findLink()
	if link == "" {
		b.t.Fatalf("no link in the mail: %s", b.Text("main"))
	}
	return link
}

// findLink is link, or "" for an email without one.
func (b *buyer) findLink() string {
	b.t.Helper()
	return regexp.MustCompile(regexp.QuoteMeta(b.card.BaseURL) + `/(sign-in/link|portal/invitation|console/invitation)\?token=[0-9a-f]+`).FindString(b.Text("main"))
}

// TestJourney walks the whole way of a buyer in a real browser: from signing up to the application,
// then a plan change, a release, and leaving. Every page is checked in light and dark, on desktop
// and phone.
func TestJourney(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)

	b.visit("/")
	b.on("Software licenses")
	b.Look("01-home")
	b.Press("main a[href^='/products/']")
	b.on("Sample App")
	b.Look("02-product")

	b.signUp("new-buyer@example.com", "correct horse battery")

	b.menuOnAPhone()
	b.visit("/products/1")
	b.buys()
	b.on("Connect Sample App?") // the payment leads there; a redeem link begins a page earlier
	redeem := strings.Replace(b.Location(), "/consent?paid=1", "/redeem/", 1)
	b.Open(redeem)
	b.on("is ready")
	b.Look("07-redeem")
	b.Press("main form button") // the first of three clicks
	b.on("Connect Sample App?")
	b.Look("08-consent")
	b.Press("button[value=allow]")
	b.arrives()
	b.Look("09-inside")
	if text := b.Text("main"); !strings.Contains(text, "Status\nactive") || !strings.Contains(text, "activate") {
		t.Errorf("the application knows %s", text)
	}

	b.returns(redeem)
	b.changesPlan()
	b.releases()
	b.startsAtTheApplication()
	b.leaves("new-buyer@example.com")
}

// buys presses Buy on the page of a product, and Pay.
func (b *buyer) buys() {
	b.t.Helper()
	b.Press("form[action$='/buy'] button")
	b.pays()
}

// pays presses Pay on the fake Stripe's page.
func (b *buyer) pays() {
	b.t.Helper()
	if text := b.Text("main"); !strings.Contains(text, "No money moves") {
		b.t.Fatalf("the page at %s is not where a buyer pays: %s", b.Location(), text)
	}
	b.Press("button[value=pay]")
}

// signUp creates an account and confirms its address by a mailed link.
func (b *buyer) signUp(email, password string) {
	b.t.Helper()
	b.visit("/sign-up")
	b.on("Create an account")
	b.Look("03-sign-up")
	b.Type("#email", email)
	b.Type("#password", password)
	b.Press("main form button")
	b.on("Check your email")
	b.Look("04-check-mail")
	b.Back()
	b.on("Create an account")
	b.Forward()
	b.on("Check your email") // without a question to resend the form
	b.Open(b.linkInMail("05"))
	b.Look("05-link")
	b.Press("main form button")
	b.on("My licenses")
	b.Look("06-no-licenses")
}

// menuOnAPhone opens the menu in the header, which is one row.
func (b *buyer) menuOnAPhone() {
	b.t.Helper()
	b.Resize(390)
	if high := browser.Eval[float64](b.Tab, `document.querySelector('.top').getBoundingClientRect().height`); high > 72 {
		b.t.Errorf("the header is %v pixels high", high)
	}
	b.Click(".top-small summary")
	b.Look("06-menu")
	b.Resize(390)
	b.Press(".top-small a[href='/account']")
	b.on("Your account")
	b.Resize(browser.Desk)
}

// returns comes back by the redeem link: after a consent the buyer passes straight through.
func (b *buyer) returns(redeem string) {
	b.t.Helper()
	b.Open(redeem)
	b.on("is active")
	b.Look("10-redeem-active")
	b.Press("main form button")
	b.arrives()
}

func (b *buyer) changesPlan() {
	b.t.Helper()
	b.visit("/licenses")
	b.Look("11-licenses")
	b.Click(".more > summary")
	b.Look("11-licenses-more")
	b.Press("main a[href$='/change_plan/']")
	b.on("Change plan")
	b.Look("12-change-plan")
	b.Press("main a[href*='?tier=']")
	b.on("Change to ")
	b.Look("12-confirm-plan")
	b.Press("main form button")
	b.pays()
	b.on("Sample App")
	b.Look("13-license")
	b.Press("main a[href^='/receipts/']")
	b.on("Receipt")
	b.Look("13-receipt")
	b.Back()
	b.on("Sample App")
}

func (b *buyer) releases() {
	b.t.Helper()
	b.Press("main a[href$='/release']")
	b.on("Disconnect Sample App?")
	b.Look("14-disconnect")
	b.Press("form[action$='/release'] button")
	b.on("is not connected")
	b.Look("14-redeem-released")
}

// startsAtTheApplication connects from the application, with state, nonce and PKCE; the release
// ended the consent.
func (b *buyer) startsAtTheApplication() {
	b.t.Helper()
	b.Open(b.card.BaseURL + "/dev/partner/")
	b.Look("15-application")
	b.Press("main a[href*='/dev/partner/login']")
	b.on("Connect Sample App?")
	b.Press("button[value=allow]")
	b.arrives()
	b.Open(b.card.BaseURL + "/dev/partner/login")
	b.arrives() // straight through this time
}

// leaves checks the account, downloads its data and deletes it.
func (b *buyer) leaves(email string) {
	b.t.Helper()
	b.visit("/account")
	b.on("Your account")
	b.Look("16-account")
	b.visit("/account/name")
	b.Look("16-name")
	b.visit("/account/email")
	b.Look("16-email")
	b.Type("#email", "another-"+email)
	b.Press("main form button")
	b.on("Check your email")
	b.Look("16-email-sent")
	b.visit("/account/password")
	b.Look("17-password")
	b.visit("/account/delete")
	b.Look("18-delete")
	b.Type("#confirm", email)
	b.Press("main form button")
	b.on("Your account is deleted")
	b.Look("19-goodbye")
	b.visit("/licenses")
	b.on("Sign in")
	b.Look("20-sign-in")
}

// sold sells a license of the dev partner, to its buyer or to another person.
func (b *buyer) sold(email, order string) (key, redeem string) {
	b.t.Helper()
	market := caller{base: b.card.BaseURL, token: b.card.OperatorToken}
	sold := read[sale](b.t, market.must(b.t, 201, "POST", "/operator/v1/purchases", object{
		"partner_id": b.card.Partner.ID, "tier": 1, "external_id": order, "user": object{"email": email},
	})).Licenses.Items[0]
	return sold.Key, sold.RedeemURL
}

// TestPagesOfTrouble checks the error pages and the chooser.
func TestPagesOfTrouble(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	card := b.card
	b.Expect("status of 4")
	market := caller{base: card.BaseURL, token: card.OperatorToken}

	b.visit("/sign-in")
	b.Type("#email", card.Buyer.Email)
	b.Type("#password", "wrong password")
	b.Press("main form button")
	b.Look("30-wrong-password")
	b.Type("#password", card.Buyer.Password)
	b.Press("main form button")
	b.on("My licenses")

	refunded, page := b.sold(card.Buyer.Email, "o-1")
	market.must(t, 201, "POST", "/operator/v1/refunds", map[string]string{"license_key": refunded, "external_id": "r-1"})
	b.Open(page)
	b.on("was refunded")
	b.Look("31-refunded")

	held, page := b.sold(card.Buyer.Email, "o-2")
	market.must(t, 200, "POST", "/operator/v1/licenses/"+held+"/hold", map[string]string{"reason": "chargeback"})
	b.Open(page)
	b.on("is on hold")
	b.Look("32-held")

	_, page = b.sold("other@example.com", "o-3")
	b.Open(page)
	b.on("another account")
	b.Look("33-not-yours")

	b.visit("/openid/authorize?response_type=code&client_id=" + card.Partner.ClientID + "&redirect_uri=https://evil.example/")
	b.Look("34-wrong-redirect")
	b.visit("/sign-in/link?token=0123")
	b.Look("35-dead-link")
	b.visit("/nowhere")
	b.Look("36-nowhere")
	b.visit("/reset")
	b.Look("36-reset")

	b.sold(card.Buyer.Email, "o-4")
	b.sold(card.Buyer.Email, "o-5")
	b.Open(card.BaseURL + "/dev/partner/login")
	b.on("Connect Sample App?")
	b.Look("37-chooser")
	b.Press("button[value=cancel]")
	b.Look("38-cancelled")
	b.visit("/licenses")
	b.Look("39-many-licenses")
}
