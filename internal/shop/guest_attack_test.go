package shop_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/visitor/pagetest"
)

// TestGuestAttacks: who types the address of somebody else gets, shows and changes nothing of them.
func TestGuestAttacks(t *testing.T) {
	g := newGuests(t)
	ann := g.AddUser(pagetest.Ann, pagetest.Password)
	own := g.Sell(pagetest.Ann, 1)
	home := g.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	attacker := g.NewBrowser()
	press := func(b *pagetest.Browser, email string) *pagetest.Page {
		ask := b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 1"))
		return b.Press(ask, "Continue to payment", "email", email)
	}
	unknown := press(g.NewBrowser(), "nobody@example.com")
	if known := press(attacker, pagetest.Ann); known.Status != unknown.Status || known.Body != unknown.Body {
		t.Error("the answer tells whether an address has an account")
	}
	consent, l := g.buy(attacker, pagetest.Ann)
	_, paid := ref(g.stripe)
	attacker.Press(consent, "Allow and continue").WantCallback(g.RedirectURL)
	for _, path := range []string{"/licenses/" + own.RedemptionID, pagetest.RedeemPath(own), consentPage(own), "/licenses"} {
		if at := attacker.Get(path).Header.Get("Location"); !strings.HasPrefix(at, "/sign-in") {
			t.Errorf("%s leads the attacker to %q", path, at)
		}
	}
	if text := home.Get("/licenses").Text(); strings.Contains(text, l.Key[len(l.Key)-6:]) {
		t.Error("the license shows in the account before its owner opened the link")
	}
	// The victim's link in the attacker's browser signs in there, which takes the victim's mailbox.
	g.confirm(home, pagetest.Ann)
	if g.owner(l).ID != ann.ID {
		t.Fatal("the license did not move")
	}
	for _, path := range []string{"/licenses/" + l.RedemptionID, consentPage(l)} {
		if at := attacker.Get(path).Header.Get("Location"); !strings.HasPrefix(at, "/sign-in") {
			t.Errorf("afterwards %s leads the attacker to %q", path, at)
		}
	}
	knowsNothing(t, attacker.Get(paid).Want(http.StatusOK, "The payment is done"))
}

// TestNoSessionOfAGuest: nobody can make a sign-in link for a guest, and sessions of a guest would end
// with the guest.
func TestNoSessionOfAGuest(t *testing.T) {
	g := newGuests(t)
	_, l := g.buy(g.NewBrowser(), newcomer)
	guest := g.owner(l)
	if _, _, err := g.SignIn.Accounts.Link(t.Context(), pagetest.Tester, guest.ID, ""); !fault.Is(err, "is_guest") {
		t.Errorf("a sign-in link for a guest: %v", err)
	}
	g.confirm(g.NewBrowser(), newcomer)
	if now := g.owner(l); now.ID != guest.ID || now.SessionEpoch <= guest.SessionEpoch {
		t.Errorf("the account that the guest became: %+v", now)
	}
}

// TestGuestLinkAgainstConnection: a link and a connection at the same time end with the license of
// the account, connected or not, and never with a new code for a guest who is gone.
func TestGuestLinkAgainstConnection(t *testing.T) {
	g := newGuests(t)
	ann := g.AddUser(pagetest.Ann, pagetest.Password)
	for range 5 {
		b := g.NewBrowser()
		consent, l := g.buy(b, pagetest.Ann)
		home := g.NewBrowser()
		link := home.Get(g.MailedLink(pagetest.Ann))
		var both sync.WaitGroup
		var code *pagetest.Page
		both.Go(func() { code = b.Press(consent, "Allow and continue") })
		both.Go(func() { home.Press(link, "Continue as a•••@example.com") })
		both.Wait()
		if g.owner(l).ID != ann.ID {
			t.Fatal("the license did not move")
		}
		connected := code.Status == http.StatusSeeOther && strings.HasPrefix(code.Header.Get("Location"), g.RedirectURL)
		if active := stored(g.Service, l).Status == event.Active; active != connected {
			t.Errorf("connected: %t, active: %t", connected, active)
		}
	}
}

// TestGuestChecks: free plans, paused applications and bad addresses.
func TestGuestChecks(t *testing.T) {
	g := newGuests(t)
	b := g.NewBrowser()
	ask := b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 1"))
	b.Press(ask, "Continue to payment", "email", "nobody").Want(http.StatusUnprocessableEntity, "Where do we send your receipt?")
	free := partner.Plan{Tier: 1, Name: "Plan 1", Currency: "USD"}
	if _, _, err := g.Shop.Partners.PutPlan(t.Context(), pagetest.Tester, g.Partner.ID, free); err != nil {
		t.Fatal(err)
	}
	if at := b.Press(ask, "Continue to payment", "email", newcomer).Header.Get("Location"); !strings.HasPrefix(at, "/products/1/buy") {
		t.Errorf("a free plan leads to %s", at)
	}
	g.AddUser(pagetest.Ann, pagetest.Password)
	ann := g.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	if at := ann.Get("/products/1/guest?tier=2").Header.Get("Location"); !strings.HasPrefix(at, "/products/1/buy") {
		t.Errorf("a person who is signed in is led to %s", at)
	}
}

// TestGuestGoesBack: back, another tab and a closed payment page lead to the same payment. Another
// address is another guest, and both payments lead to their licenses.
func TestGuestGoesBack(t *testing.T) {
	g := newGuests(t)
	b := g.NewBrowser()
	session, back := g.start(b, newcomer)
	if again, _ := g.start(b, newcomer); again != session {
		t.Error("the same order has a second payment page")
	}
	typo, other := g.start(b, "knew@example.com")
	if typo == session {
		t.Error("another address has the payment page of the first one")
	}
	g.stripe.Pay(session)
	g.stripe.Pay(typo)
	for _, path := range []string{back, other} {
		b.Follow(b.Get(path)).Want(http.StatusOK, "Connect Tide Planner?")
	}
}

// TestUnpaidGuestsGo: guests who did not pay go seven days after their checkout ended; others stay.
func TestUnpaidGuestsGo(t *testing.T) {
	g := newGuests(t)
	g.start(g.NewBrowser(), newcomer)
	_, l := g.buy(g.NewBrowser(), "paid@example.com")
	count := func() int {
		t.Helper()
		list, _, err := g.SignIn.Accounts.Before(t.Context(), account.Filter{Email: newcomer}, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	prune := func() {
		t.Helper()
		for _, r := range payment.Expiring() {
			if r.Do == nil {
				continue
			}
			if _, err := r.Do(t.Context(), g.DB, g.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.Advance(8 * 24 * time.Hour)
	prune()
	if count() != 1 {
		t.Error("a guest is gone whose checkout has not ended")
	}
	g.stripe.Expire(g.stripe.Objects("cs")[1].Text("id"))
	post(t, g.Service, g.stripe, g.stripe.Events()...)
	prune()
	if count() != 1 {
		t.Error("a guest is gone whose checkout has just ended")
	}
	g.Advance(8 * 24 * time.Hour)
	prune()
	if count() != 0 {
		t.Error("a guest is stored who did not pay")
	}
	if !g.owner(l).Guest() {
		t.Error("a guest who paid is gone")
	}
}

// TestGuestsOfANewAddress: an account that proves another address takes over the guests of that one.
func TestGuestsOfANewAddress(t *testing.T) {
	g := newGuests(t)
	ann := g.AddUser(pagetest.Ann, pagetest.Password)
	_, l := g.buy(g.NewBrowser(), newcomer)
	if err := g.SignIn.Accounts.AskEmail(t.Context(), ann.ID, newcomer); err != nil {
		t.Fatal(err)
	}
	_, token, ok := strings.Cut(g.Emails(newcomer)[0].Text, "/account/email/confirm?token=")
	if !ok {
		t.Fatalf("mailed: %s", g.Emails(newcomer)[0].Text)
	}
	token = strings.Fields(token)[0]
	by := audit.Actor{Kind: audit.ByUser, ID: ann.ID}
	if _, err := g.SignIn.Merges.ConfirmEmail(t.Context(), by, ann.ID, token); err != nil {
		t.Fatal(err)
	}
	if u := g.owner(l); u.ID != ann.ID || u.Email != newcomer {
		t.Errorf("the owner is %+v", u)
	}
}

// TestAssistedLinkTakesNothing: a link that the team made proves no address, so it takes over no
// guest.
func TestAssistedLinkTakesNothing(t *testing.T) {
	g := newGuests(t)
	ann := g.AddUser(pagetest.Ann, "")
	_, l := g.buy(g.NewBrowser(), pagetest.Ann)
	link, _, err := g.SignIn.Accounts.Link(t.Context(), pagetest.Tester, ann.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(link, "token=")
	g.AddSecret(token)
	if _, err := g.SignIn.Merges.UseLink(t.Context(), token, "", ""); err != nil {
		t.Fatal(err)
	}
	if u := g.owner(l); !u.Guest() {
		t.Errorf("the owner is %+v", u)
	}
}
