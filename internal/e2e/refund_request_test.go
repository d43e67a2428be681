package e2e_test

import (
	"testing"

	"claviger/internal/e2e/browser"
)

// TestRefundRequest: a buyer asks for the money back on the page of the license, an operator
// declines that with a reason and refunds the next request. Each page is checked.
func TestRefundRequest(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	b.signInAs(b.card.Operator.Email, b.card.Operator.Password)
	b.visit("/console/partners/1/product")
	browser.Eval[string](b.Tab, "document.querySelector('#refund_days').value = ''")
	b.Type("#refund_days", "14")
	b.Press("form[action$='/product'] button[type=submit]")
	b.visit("/products/1")
	b.wantText("You can ask for your money back for 14 days after you pay")
	b.look("refund-product")
	b.buys()
	b.on("Connect Sample App?")
	request := func(reason string) {
		t.Helper()
		b.visit("/licenses")
		b.Press("main a[href^='/licenses/']")
		b.Press("main a[href$='/refund']")
		b.on("Request a refund")
		b.Type("#reason", reason)
	}
	b.visit("/licenses")
	b.Press("main a[href^='/licenses/']")
	b.wantText("You can ask for your money back until")
	b.look("refund-license-offer")
	request("It did not run on my computer.\nSorry!")
	b.look("refund-request")
	b.Press("main form button")
	b.wantText("We'll answer by email.")
	b.look("refund-license-requested")
	b.visit("/console")
	b.wantText("Refund request 1")
	b.look("refund-today")
	b.visit("/console/payments")
	b.wantText("Refund requests that wait")
	b.look("refund-payments")
	b.visit("/console/refund-requests/1/decline")
	b.Type("#reason", "It was used for a month.")
	b.look("refund-decline")
	b.Press("main form button")
	b.wantText("It was used for a month.")
	b.look("refund-declined")
	b.visit("/licenses")
	b.Press("main a[href^='/licenses/']")
	b.wantText("was declined")
	b.look("refund-license-declined")
	request("Please.")
	b.Press("main form button")
	b.visit("/console/refund-requests/2/refund")
	b.look("refund-grant")
	b.Press("main form button")
	b.awaitRows("/console/refund-requests?state=refunded", "#refund-requests tbody tr", 1)
	b.visit("/console/refund-requests")
	b.look("refund-queue")
	b.visit("/licenses")
	b.Press("main a[href^='/licenses/']")
	b.wantText("We refunded")
	b.look("refund-license-refunded")
}
