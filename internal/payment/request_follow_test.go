package payment_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/payment"
)

// TestRefundedByOthers: a request ends when the payment is refunded some other way.
func TestRefundedByOthers(t *testing.T) {
	for name, do := range map[string]func(h *harness, c payment.Checkout, l license.License){
		"at Stripe": func(h *harness, c payment.Checkout, _ license.License) {
			h.stripe.RefundAll(c.SessionID)
			h.deliver(h.stripe.Events()...)
		},
		"by an operator": func(h *harness, _ payment.Checkout, l license.License) {
			_, _, err := h.book.AskRefunds(h.Context(), tester, license.RefundOrder{LicenseKey: l.Key}, "r")
			must(h, func() error { return err })
			h.work()
		},
		"recorded only": func(h *harness, _ payment.Checkout, l license.License) {
			must(h, func() error {
				_, err := h.licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: l.Key})
				return err
			})
		},
		"by a lost dispute": func(h *harness, c payment.Checkout, _ license.License) {
			h.stripe.Dispute(c.SessionID, "lost")
			h.deliver(h.stripe.Events()...)
			h.work()
		},
		"by a node of the release before": func(h *harness, c payment.Checkout, _ license.License) {
			requests := h.book.Requests
			h.book.Requests = nil
			h.stripe.RefundAll(c.SessionID)
			h.deliver(h.stripe.Events()...)
			h.book.Requests = requests
			h.work()
		},
		"recorded by a node of the release before": func(h *harness, _ payment.Checkout, l license.License) {
			requests := h.book.Requests
			h.book.Requests = nil
			must(h, func() error {
				_, err := h.licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: l.Key})
				return err
			})
			h.book.Requests = requests
			h.work()
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.refundDays(14)
			c, l := h.bought(h.order())
			r := h.requested(l)
			do(h, c, l)
			if got := h.requestState(r.ID); got != "refunded $59.00" {
				t.Errorf("the request is %s", got)
			}
		})
	}
}

// TestRefundOfRequestFails: a request whose refund fails is in the queue again, with the reason, and
// can be granted again.
func TestRefundOfRequestFails(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	c, l := h.bought(h.order())
	r := h.requested(l)
	grant := func() {
		t.Helper()
		if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); err != nil {
			t.Fatal(err)
		}
		h.ahead += time.Hour
		h.work()
	}
	h.stripe.Refuse = func(path string) int {
		if strings.HasSuffix(path, "/refunds") {
			return http.StatusBadRequest
		}
		return 0
	}
	grant()
	if got := h.requestState(r.ID); !strings.HasPrefix(got, "requested $59.00 (") {
		t.Errorf("refused by Stripe: %s", got)
	}
	h.want("refused", c, payment.Sold, event.Inactive, false)
	h.stripe.Refuse = nil
	grant()
	if got := h.requestState(r.ID); got != "refunded $59.00" {
		t.Fatalf("granted again: %s", got)
	}
	h.stripe.SetRefund(h.stripe.Objects("re")[0].Text("id"), "failed")
	h.deliver(h.stripe.Events()...)
	if got := h.requestState(r.ID); !strings.HasPrefix(got, "requested $59.00 (") {
		t.Errorf("the refund failed after it had succeeded: %s", got)
	}
	h.want("failed later", c, payment.Sold, event.Inactive, false)
}

// TestFailedUnnoticed: a refund that failed under a node of the release before is noticed later.
func TestFailedUnnoticed(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	_, l := h.bought(h.order())
	r := h.requested(l)
	if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); err != nil {
		t.Fatal(err)
	}
	h.exec(fmt.Sprintf(`UPDATE payment_refunds SET status = %d, next_at = 0, failure = 'expired_or_canceled_card'`, payment.RefundFailed))
	h.work()
	if got := h.requestState(r.ID); got != "requested $59.00 (expired_or_canceled_card)" {
		t.Errorf("the request is %s", got)
	}
}

// TestSeveralPayments: a request for two payments ends when both are refunded, and goes back to the
// queue when one of the refunds fails.
func TestSeveralPayments(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	_, l := h.bought(h.order())
	h.upgraded(l)
	r := h.requested(l)
	refused := 0
	h.stripe.Refuse = func(path string) int {
		if strings.HasSuffix(path, "/refunds") && refused == 0 {
			refused++
			return http.StatusBadRequest
		}
		return 0
	}
	for _, want := range []string{"requested $177.00 (", "refunded $177.00"} {
		if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); err != nil {
			t.Fatal(err)
		}
		h.ahead += time.Hour
		h.work()
		if got := h.requestState(r.ID); !strings.HasPrefix(got, want) {
			t.Errorf("the request is %s, want %s", got, want)
		}
	}
	if n := len(h.stripe.Objects("re")); n != 2 {
		t.Errorf("%d refunds at Stripe", n)
	}
}

// TestAutomatic: in the mode automatic, Stripe is asked at once and no person.
func TestAutomatic(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	h.book.Requested = payment.Automatic
	c, l := h.bought(h.order())
	r := h.requested(l)
	if got := h.requestState(r.ID); got != "requested $59.00 under way" {
		t.Errorf("after the request: %s", got)
	}
	h.work()
	h.want("refunded", c, payment.Sold, event.Deactivated, false)
	if got := h.requestState(r.ID); got != "refunded $59.00" {
		t.Errorf("at the end: %s", got)
	}
}

// TestDeclined: a request is declined with a reason, once; the buyer may ask again in time.
func TestDeclined(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	c, l := h.bought(h.order())
	r := h.requested(l)
	decline := func(why string) error {
		_, err := h.book.Requests.Decline(t.Context(), tester, r.ID, why)
		return err
	}
	if err := decline("  "); code(err) != "invalid_field" {
		t.Errorf("without a reason: %v", err)
	}
	for range 2 {
		if err := decline("You used it."); err != nil {
			t.Fatal(err)
		}
	}
	if err := decline("Another."); code(err) != "refund_request_decided" {
		t.Errorf("with another reason: %v", err)
	}
	if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); code(err) != "refund_request_decided" {
		t.Errorf("granted: %v", err)
	}
	if _, err := h.book.GrantRequest(t.Context(), tester, 999); code(err) != "unknown_refund_request" {
		t.Errorf("an unknown one: %v", err)
	}
	h.want("declined", c, payment.Sold, event.Inactive, false)
	want := []string{
		"ann@example.com: We received your refund request for App",
		"ann@example.com: Your refund request for App was declined",
	}
	if diff := cmp.Diff(want, h.requestMails()); diff != "" {
		t.Errorf("emails (-want +got)\n%s", diff)
	}
	if second := h.requested(l); second.ID == r.ID {
		t.Error("the second request is the first one")
	}
}

// TestRequestsAtOnce: two tabs make one request; of two people who decide at once, one wins.
func TestRequestsAtOnce(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	for round := range 5 {
		_, l := h.bought(h.order())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := h.requests(l); err != nil && code(err) != "refund_requested" {
					t.Error(err)
				}
			})
		}
		all.Wait()
		list, err := h.book.Requests.OfUser(t.Context(), h.buyer.ID)
		if err != nil || len(list) != round+1 {
			t.Fatalf("%d requests, %v", len(list), err)
		}
		id := list[0].ID
		for _, decide := range []func() error{
			func() error { _, err := h.book.GrantRequest(t.Context(), tester, id); return err },
			func() error { _, err := h.book.GrantRequest(t.Context(), tester, id); return err },
			func() error { _, err := h.book.Requests.Decline(t.Context(), tester, id, "No."); return err },
		} {
			all.Go(func() {
				if err := decide(); err != nil && code(err) != "refund_under_way" && code(err) != "refund_request_decided" {
					t.Error(err)
				}
			})
		}
		all.Wait()
		before := len(h.stripe.Objects("re"))
		h.work()
		refunds := len(h.stripe.Objects("re")) - before
		if got := h.requestState(id); got != "refunded $59.00" && got != "declined $59.00" || refunds > 1 ||
			(refunds == 1) != strings.HasPrefix(got, "refunded") {
			t.Errorf("the request is %s, with %d refunds", got, refunds)
		}
	}
}

// TestErasedBuyer: an erasure removes the texts of requests; the request can still be granted.
func TestErasedBuyer(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	_, l := h.bought(h.order())
	r := h.requested(l)
	if _, err := h.licenses.EraseUser(t.Context(), tester, h.buyer.ID); err != nil {
		t.Fatal(err)
	}
	if n := h.count(`SELECT count(*) FROM refund_requests WHERE reason <> '' OR answer <> ''`); n != 0 {
		t.Errorf("%d texts are kept", n)
	}
	if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); err != nil {
		t.Fatal(err)
	}
	h.work()
	if got := h.requestState(r.ID); got != "refunded $59.00" {
		t.Errorf("the request is %s", got)
	}
}
