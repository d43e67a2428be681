package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestGuestTwoTabs: two tabs with the same order lead to one payment and one license. Two plans are two
// guests, and the browser can act for both.
func TestGuestTwoTabs(t *testing.T) {
	g := newGuests(t)
	b := g.NewBrowser()
	asks := []*pagetest.Page{
		b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 1")),
		b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 1")),
	}
	var sessions []string
	var backs []string
	for _, ask := range asks {
		to := b.Press(ask, "Continue to payment", "email", newcomer)
		session, back := ref(g.stripe)
		if at := to.Header.Get("Location"); at != g.stripe.URL+"/pay/"+session {
			t.Fatalf("a tab leads to %q", at)
		}
		sessions = append(sessions, session)
		backs = append(backs, back)
	}
	if sessions[0] != sessions[1] {
		t.Fatalf("the tabs have the payment pages %v", sessions)
	}
	g.stripe.Pay(sessions[0])
	for _, back := range backs {
		b.Follow(b.Get(back)).Want(http.StatusOK, "Connect Tide Planner?")
	}
	other := b.Follow(b.Press(b.Get("/products/1"), "Buy Plan 2"))
	b.Press(other, "Continue to payment", "email", newcomer)
	session, back := ref(g.stripe)
	g.stripe.Pay(session)
	for _, path := range []string{back, backs[0]} {
		b.Follow(b.Get(path)).Want(http.StatusOK, "Connect Tide Planner?")
	}
	n, err := sqldb.One(t.Context(), g.DB, sqldb.Value[int64], `SELECT count(*) FROM licenses`)
	if err != nil || n != 2 {
		t.Errorf("%d licenses, %v", n, err)
	}
	if n := len(g.Emails(newcomer)); n != 2 {
		t.Errorf("%d mails", n)
	}
}

// TestGuestDeclined: a declined card leaves the payment page open. A refused bank payment ends the
// order without a mail, and the next try works.
func TestGuestDeclined(t *testing.T) {
	g := newGuests(t)
	b := g.NewBrowser()
	session, back := g.start(b, newcomer)
	waiting := b.Get(back).Want(http.StatusOK, "Waiting for your payment")
	if !strings.Contains(waiting.Body, g.stripe.URL+"/pay/"+session) {
		t.Errorf("no way back to the payment page: %s", waiting.Body)
	}
	g.stripe.PayLater(session)
	b.Get(back).Want(http.StatusOK, "We're waiting for your bank")
	g.stripe.Settle(session, false)
	g.deliver()
	refused := b.Get(back).Want(http.StatusOK, "Your payment was refused")
	if n := len(g.Emails(newcomer)); n != 0 {
		t.Errorf("%d mails without a payment", n)
	}
	if text := refused.Text(); !strings.Contains(text, "Nothing was charged") || !strings.Contains(text, "Try again") {
		t.Errorf("after the refusal: %s", text)
	}
	if _, l := g.buy(b, newcomer); !g.owner(l).Guest() {
		t.Error("the next try is not a guest's")
	}
	g.NewBrowser().Get(back).Want(http.StatusOK, "This purchase has ended")
}

// deliver posts the newest event of Stripe.
func (g guests) deliver() {
	g.Helper()
	events := g.stripe.Events()
	e := events[len(events)-1]
	if err := g.Shop.Payments.Receive(g.Context(), e.Body, g.stripe.Sign(e.Body)); err != nil {
		g.Fatal(err)
	}
}
