package portal_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
)

// TestRefundRequests: the partner's people see the requests for their product only, and nothing
// about the buyer.
func TestRefundRequests(t *testing.T) {
	h := start(t)
	wants(t, h.as(viewer).Get(h.path("/refund-requests")), http.StatusOK, "No refund requests")
	u := h.User("ann@buyer.example")
	for _, p := range []partner.Partner{h.tide, h.reef} {
		h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := h.Payments.Requests.Add(t.Context(), tx, apptest.Tester, refundrequest.Request{
				LicenseID: p.ID, LicenseKey: "key-of-" + p.Name, PartnerID: p.ID, UserID: u.ID, Reason: "I am Ann of ann@buyer.example",
				Payments: []refundrequest.Payment{{CheckoutID: 1, PurchaseID: 1, Item: p.Name, Amount: 4900, Currency: "EUR"}},
			}, h.Accounts.Now())
			return err
		}))
	}
	page := h.as(viewer).Get(h.path("/refund-requests"))
	wants(t, page, http.StatusOK, "key-of-"+h.tide.Name, "49.00 EUR", "Requested")
	for _, hidden := range []string{"ann@", "I am Ann", "key-of-" + h.reef.Name} {
		if strings.Contains(page.Body, hidden) {
			t.Errorf("the page has %q", hidden)
		}
	}
}
