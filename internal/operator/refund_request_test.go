package operator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/refundrequest"
)

// requested buys a license by Stripe and asks for a refund of it.
func (h *harness) requested(u account.User, c payment.Checkout) refundrequest.Request {
	h.Helper()
	list, err := h.Licenses.OfSale(h.Context(), c.PurchaseID)
	h.Must(err)
	r, err := h.Payments.RequestRefund(h.Context(), apptest.Tester, list[0], u.ID, "Too slow.")
	h.Must(err)
	return r
}

// testRefundRequests: requests are listed by state and partner, refunded once, or declined with a
// reason.
func testRefundRequests(t *testing.T, h *harness) {
	stripe, ann := h.withStripe(), h.User("ann@example.com")
	days := 14
	_, err := h.Partners.ChangeProduct(t.Context(), apptest.Tester, h.partner, partner.ProductChange{RefundDays: &days})
	h.Must(err)
	first, second := h.requested(ann, h.pay(stripe, ann, 4900)), h.requested(ann, h.pay(stripe, ann, 4900))
	at := func(id int64, act string) string { return fmt.Sprintf("/operator/v1/refund-requests/%d%s", id, act) }
	list := h.must(http.StatusOK, "GET", "/operator/v1/refund-requests?state=requested&limit=1", "")
	if !strings.Contains(list.Body, fmt.Sprintf(`"id":%d`, second.ID)) || !strings.Contains(list.Body, `"amount_cents":4900`) ||
		!strings.Contains(list.Header.Get("Link"), fmt.Sprintf("cursor=%d", second.ID)) {
		t.Errorf("the first page: %s, Link %s", list.Body, list.Header.Get("Link"))
	}
	next := h.must(http.StatusOK, "GET", fmt.Sprintf("/operator/v1/refund-requests?state=requested&limit=1&cursor=%d", second.ID), "")
	if !strings.Contains(next.Body, fmt.Sprintf(`"id":%d`, first.ID)) {
		t.Errorf("the second page: %s", next.Body)
	}
	if a := h.must(http.StatusOK, "GET", fmt.Sprintf("/operator/v1/refund-requests?partner_id=%d", h.partner+1), ""); !strings.Contains(a.Body, `"size":0`) {
		t.Errorf("of another partner: %s", a.Body)
	}
	for _, query := range []string{"state=open", "state=", "partner_id=x", "partner_id=0", "cursor=x"} {
		h.must(http.StatusBadRequest, "GET", "/operator/v1/refund-requests?"+query, "")
	}
	for range 2 {
		if a := h.must(http.StatusAccepted, "POST", at(first.ID, "/refund"), ""); !strings.Contains(a.Body, `"under_way":true`) {
			t.Errorf("granted: %s", a.Body)
		}
	}
	if a := h.must(http.StatusConflict, "POST", at(first.ID, "/decline"), `{"reason":"No."}`); !strings.Contains(a.Body, "refund_under_way") {
		t.Errorf("declined too late: %s", a.Body)
	}
	if _, err := payment.NewJob(h.Payments).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := h.must(http.StatusOK, "GET", at(first.ID, ""), ""); !strings.Contains(a.Body, `"state":"refunded"`) || len(stripe.Objects("re")) != 1 {
		t.Errorf("refunded: %s", a.Body)
	}
	h.must(http.StatusUnprocessableEntity, "POST", at(second.ID, "/decline"), `{"reason":""}`)
	for range 2 {
		if a := h.must(http.StatusOK, "POST", at(second.ID, "/decline"), `{"reason":"Used up."}`); !strings.Contains(a.Body, `"answer":"Used up."`) {
			t.Errorf("declined: %s", a.Body)
		}
	}
	h.must(http.StatusConflict, "POST", at(second.ID, "/refund"), "")
	h.must(http.StatusNotFound, "GET", at(999, ""), "")
	h.must(http.StatusNotFound, "POST", at(999, "/refund"), "")
	h.must(http.StatusNotFound, "POST", at(999, "/decline"), `{"reason":"No."}`)
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action IN ('refund_request.refund', 'refund_request.decline') AND actor_kind = 'token'`); n != 2 {
		t.Errorf("%d audit entries", n)
	}
}
