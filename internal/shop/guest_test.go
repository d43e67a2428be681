package shop_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/visitor/pagetest"
	"claviger/internal/wire"
)

// guests is a shop with a fake Stripe, in which people buy without an account.
type guests struct {
	*pagetest.Service
	stripe *fakestripe.Server
}

func newGuests(t *testing.T) guests {
	h := pagetest.New(t)
	return guests{h, withStripe(t, h)}
}

// start presses Buy and types an address. It returns the id of the session at Stripe, and the path
// of the page after it.
func (g guests) start(b *pagetest.Browser, email string) (session, back string) {
	g.Helper()
	ask := b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 1"))
	ask.Want(http.StatusOK, "Where do we send your receipt?")
	to := b.Press(ask, "Continue to payment", "email", email)
	session, back = ref(g.stripe)
	if at := to.Header.Get("Location"); at != g.stripe.URL+"/pay/"+session {
		g.Fatalf("the form leads to %d %s: %s", to.Status, at, to.Text())
	}
	return session, back
}

// buy buys as a guest, and returns the consent page that follows the payment.
func (g guests) buy(b *pagetest.Browser, email string) (*pagetest.Page, license.License) {
	g.Helper()
	session, back := g.start(b, email)
	g.stripe.Pay(session)
	page := b.Follow(b.Get(back)).Want(http.StatusOK, "Connect Tide Planner?")
	c, err := g.Shop.Payments.ByRef(g.Context(), strings.TrimPrefix(back, "/checkout/"))
	if err != nil {
		g.Fatal(err)
	}
	list, err := g.Shop.Licenses.OfSale(g.Context(), c.PurchaseID)
	if err != nil || len(list) != 1 {
		g.Fatalf("%d licenses, %v", len(list), err)
	}
	return page, list[0]
}

// tokens are the answer to the exchange of a code.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
}

// token calls the token endpoint.
func (g guests) token(pairs ...string) (t tokens, status int) {
	g.Helper()
	form := pagetest.Fields(append(pairs, "client_id", g.Partner.ClientID, "client_secret", g.Credentials.ClientSecret))
	req := httptest.NewRequestWithContext(g.Context(), http.MethodPost, "/openid/token/", strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	wire.NewMux(g.Shop.OAuth.Routes()...).ServeHTTP(w, req)
	_ = json.Unmarshal(w.Body.Bytes(), &t)
	return t, w.Code
}

// exchange exchanges the code that the application got.
func (g guests) exchange(back url.Values) tokens {
	g.Helper()
	g.AddSecret(back.Get("code"))
	t, status := g.token("grant_type", "authorization_code", "code", back.Get("code"), "redirect_uri", g.RedirectURL)
	if status != http.StatusOK {
		g.Fatalf("the code is exchanged: %d", status)
	}
	return t
}

// subject returns the subject of an identity token.
func (g guests) subject(t tokens) string {
	g.Helper()
	var claims struct {
		Subject string `json:"sub"`
	}
	body, err := base64.RawURLEncoding.DecodeString(strings.Split(t.ID, ".")[1])
	if err != nil || json.Unmarshal(body, &claims) != nil || claims.Subject == "" {
		g.Fatalf("no subject in %q", t.ID)
	}
	return claims.Subject
}

// userinfo returns the subject of an access token, or the status of its refusal.
func (g guests) userinfo(t tokens) (subject string, status int) {
	g.Helper()
	req := httptest.NewRequestWithContext(g.Context(), http.MethodGet, "/openid/userinfo", nil)
	req.Header.Set("Authorization", "Bearer "+t.Access)
	w := httptest.NewRecorder()
	wire.NewMux(g.Shop.OAuth.Routes()...).ServeHTTP(w, req)
	var answer struct {
		Subject string `json:"sub"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	return answer.Subject, w.Code
}

// confirm opens the newest link that was mailed to an address, and presses its button.
func (g guests) confirm(b *pagetest.Browser, email string) *pagetest.Page {
	g.Helper()
	page := b.Get(g.MailedLink(email))
	label := ""
	for _, form := range []string{"Continue as " + email[:1] + "•••@example.com", "Continue"} {
		if strings.Contains(page.Text(), form) {
			label = form
			break
		}
	}
	return b.Press(page, label)
}

// owner returns the owner of a license.
func (g guests) owner(l license.License) account.User {
	g.Helper()
	u, err := g.SignIn.Accounts.Get(g.Context(), stored(g.Service, l).OwnerID)
	if err != nil {
		g.Fatal(err)
	}
	return u
}

const newcomer = "new@example.com"

// TestGuestBuys: a newcomer is inside the application after product, Buy, address, payment and
// consent, without a mailbox. The mailed link turns the guest into an account with the same subject.
func TestGuestBuys(t *testing.T) {
	g := newGuests(t)
	b := g.NewBrowser()
	consent, l := g.buy(b, newcomer)
	_, paid := ref(g.stripe)
	if text := consent.Text(); !strings.Contains(text, "You have paid") || strings.Contains(text, newcomer) {
		t.Errorf("after the payment: %s", text)
	}
	first := g.exchange(b.Press(consent, "Allow and continue").WantCallback(g.RedirectURL))
	guest := g.owner(l)
	if !guest.Guest() || guest.Email != "" || guest.GuestEmail != newcomer || stored(g.Service, l).Status != event.Active {
		t.Errorf("the owner is %+v", guest)
	}
	mails := g.Emails(newcomer)
	if len(mails) != 1 || !strings.Contains(mails[0].Text, "$49.00") || !strings.Contains(mails[0].Text, "7 days") {
		t.Errorf("mailed: %+v", mails)
	}
	other := g.NewBrowser()
	other.Follow(g.confirm(other, newcomer)).Want(http.StatusOK, "Tide Planner is active")
	other.WantSignedIn(newcomer)
	if u := g.owner(l); u.ID != guest.ID || u.Email != newcomer || u.Guest() || u.ProvenAt.IsZero() {
		t.Errorf("after the link the owner is %+v", u)
	}
	second := g.exchange(other.Press(other.Get(pagetest.RedeemPath(l)), "Open Tide Planner").WantCallback(g.RedirectURL))
	if g.subject(first) != g.subject(second) {
		t.Error("the account has another subject than the guest that it was")
	}
	other.Get("/licenses").Want(http.StatusOK, "My licenses")
	b.Get("/licenses/" + l.RedemptionID).WantRedirect("/sign-in?next=" + url.QueryEscape("/licenses/"+l.RedemptionID))
	knowsNothing(t, b.Get(paid).Want(http.StatusOK, "The payment is done"))
}

// TestGuestTakenOver: an account with the address takes over the license. Tokens stay valid with the
// subject of the guest, and only a consent of the account has the account's.
func TestGuestTakenOver(t *testing.T) {
	g := newGuests(t)
	ann := g.AddUser(pagetest.Ann, pagetest.Password)
	b := g.NewBrowser()
	consent, l := g.buy(b, pagetest.Ann)
	given := g.exchange(b.Press(consent, "Allow and continue").WantCallback(g.RedirectURL))
	guest := g.owner(l)
	home := g.NewBrowser()
	home.Follow(g.confirm(home, pagetest.Ann)).Want(http.StatusOK, "Tide Planner is active")
	if u := g.owner(l); u.ID != ann.ID {
		t.Fatalf("the owner is %+v", u)
	}
	if tomb, err := g.SignIn.Accounts.Get(t.Context(), guest.ID); err != nil || tomb.MergedInto != ann.ID || tomb.GuestEmail != "" || tomb.ErasedAt.IsZero() {
		t.Errorf("left of the guest: %+v %v", tomb, err)
	}
	if now := stored(g.Service, l); now.Status != event.Active || now.Epoch != l.Epoch {
		t.Errorf("the license is %s in epoch %d", now.Status, now.Epoch)
	}
	if sub, status := g.userinfo(given); status != http.StatusOK || sub != g.subject(given) {
		t.Errorf("userinfo: %d %q", status, sub)
	}
	again, status := g.token("grant_type", "refresh_token", "refresh_token", given.Refresh)
	if status != http.StatusOK || g.subject(again) != g.subject(given) {
		t.Errorf("a refresh: %d %q, want %q", status, g.subject(again), g.subject(given))
	}
	// The application that expects the guest gets the account, which has to agree itself.
	own := home.Follow(home.Press(home.Get(pagetest.RedeemPath(l)), "Open Tide Planner"))
	own.Want(http.StatusOK, "Connect Tide Planner?")
	agreed := g.exchange(home.Press(own, "Allow and continue").WantCallback(g.RedirectURL))
	if g.subject(agreed) == g.subject(given) {
		t.Error("the account's own consent has the guest's subject")
	}
	hinted := home.Get(pagetest.AuthorizeURL(g.AuthorizeRequest("id_token_hint", given.ID)))
	hinted.WantCallback(g.RedirectURL)
	receipts, err := g.Shop.Licenses.Receipts(t.Context(), l.ID, ann.ID)
	if err != nil || len(receipts) != 1 || receipts[0].BuyerID != ann.ID {
		t.Errorf("receipts: %+v %v", receipts, err)
	}
}

// TestGuestSees: a guest sees one license and its receipt, connects and disconnects it, and no more.
func TestGuestSees(t *testing.T) {
	g := newGuests(t)
	b := g.NewBrowser()
	consent, l := g.buy(b, newcomer)
	back := g.exchange(b.Press(consent, "Allow and continue").WantCallback(g.RedirectURL))
	page := b.Get("/licenses/" + l.RedemptionID)
	page.Want(http.StatusOK, "Tide Planner")
	if text := page.Text(); strings.Contains(text, "Change plan") || !strings.Contains(text, "n•••@example.com") || !strings.Contains(text, "24 hours") {
		t.Errorf("the license's page: %s", text)
	}
	receipts, err := g.Shop.Licenses.Receipts(t.Context(), l.ID, g.owner(l).ID)
	if err != nil || len(receipts) != 1 {
		t.Fatalf("receipts: %v %v", receipts, err)
	}
	b.Get("/receipts/"+strconv.FormatInt(receipts[0].ID, 10)).Want(http.StatusOK, "Receipt "+strconv.FormatInt(receipts[0].ID, 10))
	b.Press(b.Get("/licenses/"+l.RedemptionID+"/release"), "Disconnect")
	if now := stored(g.Service, l); !now.Released {
		t.Error("the guest cannot disconnect the license")
	}
	if _, status := g.userinfo(back); status != http.StatusUnauthorized {
		t.Errorf("a token after the license was disconnected: %d", status)
	}
	for _, path := range []string{"/licenses", "/licensing/" + l.RedemptionID + "/change_plan", "/account", "/account/security"} {
		if at := b.Get(path).Header.Get("Location"); !strings.HasPrefix(at, "/sign-in") {
			t.Errorf("%s leads a guest to %q", path, at)
		}
	}
	// The application's own request never meets a guest.
	if at := b.Get(pagetest.AuthorizeURL(g.AuthorizeRequest())).Header.Get("Location"); !strings.HasPrefix(at, "/sign-in") {
		t.Errorf("the application's request leads a guest to %q", at)
	}
	g.NewBrowser().Get("/licenses/" + l.RedemptionID).WantRedirect("/sign-in?next=" + url.QueryEscape("/licenses/"+l.RedemptionID))
	g.Advance(account.GuestLife + time.Minute)
	b.Get("/licenses/" + l.RedemptionID).WantRedirect("/sign-in?next=" + url.QueryEscape("/licenses/"+l.RedemptionID))
}

// TestGuestLinkAgain: the browser that paid, and the sign-in page, mail the link again; three times an
// hour. A link works once, for seven days.
func TestGuestLinkAgain(t *testing.T) {
	g := newGuests(t)
	b := g.NewBrowser()
	session, back := g.start(b, newcomer)
	c, err := g.Shop.Payments.ByRef(t.Context(), strings.TrimPrefix(back, "/checkout/"))
	if err != nil {
		t.Fatal(err)
	}
	b.Post(back + "/mail")
	if n := len(g.Emails(newcomer)); n != 0 {
		t.Fatalf("%d mails before the payment", n)
	}
	g.stripe.Pay(session)
	b.Follow(b.Get(back))
	old := g.MailedLink(newcomer)
	for range 4 {
		b.Post(back + "/mail")
	}
	if n := len(g.Emails(newcomer)); n != 3 {
		t.Errorf("%d mails, want 3", n)
	}
	g.NewBrowser().Post(back + "/mail").WantRedirect("/sign-in?next=")
	g.Advance(8 * 24 * time.Hour)
	g.NewBrowser().Get(old).Want(http.StatusGone, "This link no longer works")
	visitor := g.NewBrowser()
	visitor.Post("/sign-in/send", "email", newcomer)
	newest := g.MailedLink(newcomer)
	if newest == old {
		t.Fatal("the sign-in page mails no link to a guest")
	}
	g.confirm(visitor, newcomer)
	if u, err := g.SignIn.Accounts.Get(t.Context(), c.UserID); err != nil || u.Guest() || u.Email != newcomer {
		t.Errorf("the guest is %+v, %v", u, err)
	}
	g.NewBrowser().Get(newest).Want(http.StatusGone, "This link was used already")
}

// wantsOne checks that the visitor can buy one license of the plan, and no second one.
func (g guests) wantsOne(b *pagetest.Browser) {
	g.Helper()
	if to := b.Press(b.Get("/products/1"), "Buy Plan 1").Header.Get("Location"); !strings.HasPrefix(to, g.stripe.URL) {
		g.Errorf("what guests bought uses up the limit: it leads to %q", to)
	}
	session, back := ref(g.stripe)
	g.stripe.Pay(session)
	b.Follow(b.Get(back))
	page := b.Get("/products/1")
	if text := page.Text(); strings.Contains(text, "Buy Plan 1") || !strings.Contains(text, "Open your license") {
		g.Errorf("after the own purchase: %s", text)
	}
}

// TestGuestsOfOneAddress: any proof of an address takes over all its paid guests, also beyond the
// limit of the plan, and no other ones. Their licenses leave the limit to the owner.
func TestGuestsOfOneAddress(t *testing.T) {
	for name, prove := range map[string]func(g guests, b *pagetest.Browser){
		"link of the purchase": func(g guests, b *pagetest.Browser) { g.confirm(b, newcomer) },
		"sign-up": func(g guests, b *pagetest.Browser) {
			b.Post("/sign-up", "email", newcomer, "password", pagetest.Password)
			g.confirm(b, newcomer)
		},
		"mailed sign-in link": func(g guests, b *pagetest.Browser) {
			g.AddUser(newcomer, "")
			b.Post("/sign-in/send", "email", newcomer)
			g.confirm(b, newcomer)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuests(t)
			putPlan(t, g.Service, 4900, 1)
			one := g.NewBrowser()
			_, l := g.buy(one, newcomer)
			_, m := g.buy(one, newcomer) // in the same browser: another guest
			if g.owner(l).ID == g.owner(m).ID {
				t.Error("one guest has two licenses")
			}
			_, others := g.buy(g.NewBrowser(), "else@example.com")
			if u, found, err := g.SignIn.Accounts.FindOne(t.Context(), newcomer); err != nil || !found || u.ID != g.owner(m).ID {
				t.Errorf("the address leads to %+v, %t, %v", u, found, err)
			}
			unpaid := g.NewBrowser()
			session, back := g.start(unpaid, newcomer)
			b := g.NewBrowser()
			prove(g, b)
			u := g.owner(l)
			if found, _, err := g.SignIn.Accounts.FindOne(t.Context(), newcomer); err != nil || found.ID != u.ID {
				t.Errorf("then the address leads to %+v, %v", found, err)
			}
			if u.Email != newcomer || u.ProvenAt.IsZero() || g.owner(m).ID != u.ID || g.owner(others).ID == u.ID {
				t.Errorf("owners: %+v, %+v, %+v", u, g.owner(m), g.owner(others))
			}
			g.wantsOne(b)
			g.stripe.Pay(session) // who pays later gets a link of their own
			unpaid.Follow(unpaid.Get(back)).Want(http.StatusOK, "Connect Tide Planner?")
		})
	}
}

// TestGuestMergedByAdmin: an admin's merge leaves the limit to the owner, too.
func TestGuestMergedByAdmin(t *testing.T) {
	g := newGuests(t)
	putPlan(t, g.Service, 4900, 1)
	_, l := g.buy(g.NewBrowser(), "typo@example.com")
	ann := g.AddUser(pagetest.Ann, pagetest.Password)
	if _, err := g.SignIn.Merges.People(t.Context(), pagetest.Tester, g.owner(l).ID, ann.ID); err != nil {
		t.Fatal(err)
	}
	if u := g.owner(l); u.ID != ann.ID {
		t.Fatalf("the owner is %+v", u)
	}
	g.wantsOne(g.NewBrowser().SignIn(pagetest.Ann, pagetest.Password))
}
