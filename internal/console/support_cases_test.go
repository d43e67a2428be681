package console_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/e2e/browser"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
)

// helper is a person of the support team with a browser. It counts the clicks.
type helper struct {
	*browser.Tab
	t      *testing.T
	url    string
	clicks int
}

// most is the highest number of clicks for an answer.
const most = 3

// asks begins at Today, searches for a text and then presses links. The last page must have all
// texts.
func (p *helper) asks(name, text string, links []string, want ...string) {
	p.t.Helper()
	p.Open(p.url + "/console")
	p.Await("#side-search")
	began := time.Now()
	p.clicks = 1
	p.Click("#side-search")
	browser.Eval[string](p.Tab, `document.body.dataset.before = "1"`) // missing on the next page
	p.Type("#side-search", text)
	p.Enter()
	p.Await("body:not([data-before]) main h1")
	for _, css := range links {
		p.clicks++
		p.Press(css)
	}
	page := p.Text("main")
	took := time.Since(began)
	for _, w := range want {
		if !strings.Contains(page, w) {
			p.t.Errorf("%s: the page has no %q: %s", name, w, page)
		}
	}
	p.t.Logf("%s: %d clicks, %.1f s", name, p.clicks, took.Seconds())
	if p.clicks > most {
		p.t.Errorf("%s: %d clicks, want at most %d", name, p.clicks, most)
	}
	p.look("support-" + strings.ReplaceAll(name, " ", "-"))
}

// look checks the page, and takes pictures if they are wanted.
func (p *helper) look(name string) {
	p.t.Helper()
	p.Look(name)
	if os.Getenv(browser.Screenshots) != "" {
		p.Shots(name, 1280, 390)
	}
}

// newHelper signs a person of the support team in.
func newHelper(t *testing.T, h *harness) *helper {
	t.Helper()
	p := &helper{Tab: browser.Start(t).Tab(t), t: t, url: h.App.URL()}
	p.Open(p.url + "/sign-in")
	p.Type("#email", support)
	p.Type("#password", password)
	p.Press("main form button")
	return p
}

// pays pays for an order at Stripe. The webhook arrives if told is true.
func (h *harness) pays(stripe *fakestripe.Server, c payment.Checkout, told bool) {
	h.Helper()
	stripe.Pay(c.SessionID)
	if told {
		events := stripe.Events()
		h.receives(stripe, events[len(events)-1])
	}
}

func (h *harness) receives(stripe *fakestripe.Server, e fakestripe.Event) {
	h.Helper()
	h.Must(h.Payments.Receive(h.Context(), e.Body, stripe.Sign(e.Body)))
}

// TestSupportCases: "I paid and have no license" is answered in at most three clicks, for each
// reason that it can have.
func TestSupportCases(t *testing.T) {
	h := start(t)
	stripe := h.takePayments()
	p := newHelper(t, h)
	order := []string{"#orders tbody a"} // the first order of the person

	waits := h.begins("waits@example.com")
	stripe.PayLater(waits.SessionID)
	h.receives(stripe, stripe.Events()[0])
	p.asks("waiting for the bank", "waits@example.com", order, "Pending", "the bank has not confirmed the payment", "Nobody has to do anything")

	lost := h.begins("lost@example.com")
	h.pays(stripe, lost, false)
	p.asks("webhook lost", "lost@example.com", order, "Paid", "was sold and is not activated yet", "Stripe took the payment of 49.00 EUR")

	twice := h.begins("twice@example.com")
	other := h.begins("other@example.com")
	stripe.Change(other.SessionID, fakestripe.Object{"client_reference_id": twice.Ref})
	h.pays(stripe, twice, true)
	h.pays(stripe, other, true)
	p.asks("paid twice", "twice@example.com", order, "Another payment bought the same already. Refund this one.", "The payment has an open problem")

	h.pays(stripe, h.begins("bob@exmaple.com"), true)
	p.asks("typo in the address", "bob@example.com", []string{"#similar tbody a", "#orders tbody a"},
		"Nobody has proven the address bob@exmaple.com", "was sold and is not activated yet")

	gone := h.begins("gone@example.com")
	h.Must(h.Partners.DeletePlan(t.Context(), apptest.Tester, h.tide.ID, 1))
	h.pays(stripe, gone, true)
	p.asks("plan removed", "gone@example.com", order, "The plan is no longer for sale. The license keeps it")

	charge := stripe.Objects("ch")[0].Text("id")
	p.asks("by Stripe's charge", charge, nil, gone.Ref)
	h.looksAtStates(p, stripe, lost)
}

// looksAtStates looks at the page of an order in the other states, and at the list.
func (h *harness) looksAtStates(p *helper, stripe *fakestripe.Server, paid payment.Checkout) {
	h.Helper()
	h.Plans(h.tide.ID, 1, partner.Plan{PriceCents: 4900, Currency: "EUR"})
	failed := h.begins("failed@example.com")
	stripe.PayLater(failed.SessionID)
	stripe.Settle(failed.SessionID, false)
	expired := h.begins("expired@example.com")
	stripe.Expire(expired.SessionID)
	seen := len(stripe.Events())
	begun := h.begins("begun@example.com")
	for _, c := range []struct {
		state string
		order payment.Checkout
		act   func()
	}{
		{"begun", begun, func() {}},
		{"failed", failed, func() {}},
		{"expired", expired, func() {}},
		{"partly-refunded", paid, func() { stripe.Refund(paid.SessionID, 1000, "succeeded") }},
		{"disputed", paid, func() { stripe.Dispute(paid.SessionID, "needs_response") }},
		{"refunded", paid, func() {
			stripe.SetDispute(stripe.Objects("dp")[0].Text("id"), "won")
			stripe.RefundAll(paid.SessionID)
		}},
	} {
		c.act()
		for _, e := range stripe.Events()[seen:] {
			h.receives(stripe, e)
		}
		seen = len(stripe.Events())
		_, err := payment.NewJob(h.Payments).Once(h.Context()) // follows disputes
		h.Must(err)
		p.Open(p.url + path("/orders/%s", c.order.Ref))
		p.Await("main .badge")
		if badge := strings.ToLower(p.Text("main .badge")); badge != strings.ReplaceAll(c.state, "-", " ") {
			h.Errorf("the order is %q, want %s", badge, c.state)
		}
		p.look("order-" + c.state)
	}
	h.freeOrder()
	p.Open(p.url + path("/payments"))
	p.Await("#orders")
	p.look("payments")
}
