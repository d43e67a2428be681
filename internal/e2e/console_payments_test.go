package e2e_test

import (
	"testing"
	"time"

	"claviger/internal/e2e/browser"
)

// troubledPayments buys, and makes the bank and Stripe cause payment problems: two failed refunds,
// which can be requested again, and an inquiry. It ends on the page that lists them.
func (b *buyer) troubledPayments() {
	b.t.Helper()
	b.visit("/products/1")
	b.buys()
	b.on("Connect Sample App?")
	for _, act := range []string{"refund-part", "refund-fails", "refund-fails", "inquiry"} {
		b.visit("/dev/stripe/")
		b.Press("button[value=" + act + "]")
	}
	b.awaitRows("/console/payments", "#payments tbody tr", 2)
	b.awaitRows("/console/payments", "#disputes tbody tr", 1)
}

// awaitRows loads a page until it has this many elements: the fake's webhooks come after its
// answers.
func (b *buyer) awaitRows(path, css string, n int) {
	b.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		b.visit(path)
		if browser.Eval[int](b.Tab, "document.querySelectorAll(`"+css+"`).length") == n {
			return
		}
	}
}

// TestConsolePayments: payment problems are refunded and dismissed in a browser, and the purchase
// and the license show the refund.
func TestConsolePayments(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.troubledPayments()
	b.wantText("A refund failed, so the money is still here.")
	b.wantText("The buyer's bank asks about the payment")

	b.visit("/console/purchases")
	b.Press("#purchases tbody a")
	b.wantText("a part of the payment")
	b.wantText("It is an inquiry, which holds no license.")
	b.look("console-purchase-paid")
	b.Press("#licenses tbody a")
	b.wantText("Stripe took the payment of")
	b.look("console-license-paid")
	b.visit("/console/licenses")
	b.Press("#licenses tbody a")
	b.Press("main a[href$='/refund']")
	b.wantText("Buyer: ")
	b.look("console-license-refund")

	b.visit("/console/payments")
	b.Press("#payments a[href$='/dismiss']")
	b.Press("main form button")
	b.wantText("The payment is marked as dealt with.")
	b.visit("/console/payments")
	b.Press("#payments a[href$='/refund']")
	b.Press("main form button")
	b.wantText("Stripe is asked to pay it back.")

	b.visit("/console/partners/1/plans")
	b.wantText("What a change of plan costs")
	b.Press("main a[href$='/change-price']")
	b.look("console-partner-plan-price")
	browser.Eval[string](b.Tab, "document.querySelector('select[name=plan_change_price]').value = 'full_price'")
	b.Press("main form button")
	b.wantText("The full price of the new plan.")
}

// TestConsoleDispute: an open dispute is found on Today, and its evidence is edited and sent in a
// browser.
func TestConsoleDispute(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.visit("/products/1")
	b.buys()
	b.on("Connect Sample App?")
	b.visit("/dev/stripe/")
	b.Press("button[value=dispute]")
	b.awaitRows("/console/payments", "#disputes tbody tr", 1)
	b.wantText("The buyer's bank waits for your evidence.")
	b.look("console-payments-dispute")
	b.visit("/console/")
	b.wantText("Open disputes")
	b.look("console-today-dispute")
	b.Press("a[href*='/console/disputes/']")
	b.wantText("The service collected these texts just now.")
	b.look("console-dispute")
	b.Press("main a[href$='/evidence']")
	b.look("console-dispute-evidence")
	browser.Eval[string](b.Tab, "document.querySelector('textarea[name=customer_name]').value = 'Ann Example'")
	b.Press("main form button")
	b.wantText("The evidence is saved. It was not sent.")
	b.Press("main a[href$='/send']")
	b.look("console-dispute-send")
	b.Press("main form button")
	b.wantText("The evidence is on its way to Stripe.")
	at := browser.Eval[string](b.Tab, "location.pathname")
	b.awaitText(at, "Stripe has these texts.")
	b.wantText("Ann Example")
	b.look("console-dispute-sent")
}

// awaitText loads a page until it has a text: jobs run after the answer.
func (b *buyer) awaitText(path, text string) {
	b.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		b.visit(path)
		if browser.Eval[bool](b.Tab, "document.body.innerText.includes(`"+text+"`)") {
			return
		}
	}
}
