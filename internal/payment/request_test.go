package payment_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
)

// refundDays sets for how long the buyers of the partner may ask for their money back.
func (h *harness) refundDays(days int) {
	h.Helper()
	if _, err := h.partners.ChangeProduct(h.Context(), tester, h.partner, partner.ProductChange{RefundDays: &days}); err != nil {
		h.Fatal(err)
	}
}

// bought pays for an order and returns its checkout and license.
func (h *harness) bought(o payment.Order) (payment.Checkout, license.License) {
	h.Helper()
	c := h.begin(o)
	h.stripe.Pay(c.SessionID)
	h.deliver(h.stripe.Events()...)
	return h.checkout(c), h.licensesOf(c)[0]
}

// upgraded pays for a change to tier 2, at full price.
func (h *harness) upgraded(l license.License) payment.Checkout {
	h.Helper()
	o := h.tier(2)
	o.LicenseKey = l.Key
	c, _ := h.bought(o)
	return c
}

// requests asks for a refund of a license.
func (h *harness) requests(l license.License) (refundrequest.Request, error) {
	return h.book.RequestRefund(h.Context(), tester, l, h.buyer.ID, "It was too slow.")
}

// requested is requests without an error.
func (h *harness) requested(l license.License) refundrequest.Request {
	h.Helper()
	r, err := h.requests(l)
	if err != nil {
		h.Fatal(err)
	}
	return r
}

// requestState describes a request.
func (h *harness) requestState(id int64) string {
	h.Helper()
	r, err := h.book.Requests.Get(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	text := r.State.String() + " " + r.Total()
	if r.UnderWay() {
		text += " under way"
	}
	if r.Failure != "" {
		text += " (" + r.Failure + ")"
	}
	return text
}

// requestMails returns the recipients and subjects of all emails, oldest first.
func (h *harness) requestMails() []string {
	h.Helper()
	list, err := h.book.Requests.Mail.Recent(h.Context(), h.db, 1000)
	if err != nil {
		h.Fatal(err)
	}
	slices.Reverse(list)
	var subjects []string
	for _, m := range list {
		subjects = append(subjects, m.To+": "+m.Subject)
	}
	return subjects
}

// TestRefundRequest: a request waits for a person, who has Stripe refund it. The license ends when
// Stripe has done it. Each step is emailed once.
func TestRefundRequest(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	op, _, err := (&account.Store{DB: h.db, Now: h.now}).Create(t.Context(), tester, account.Person{Email: "op@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetRole(t.Context(), tx, tester, op.ID, account.RoleSales, h.now())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c, l := h.bought(h.order())
	r := h.requested(l)
	if got := h.requestState(r.ID); got != "requested $59.00" {
		t.Fatalf("after the request: %s", got)
	}
	h.work()
	h.want("requested", c, payment.Sold, event.Inactive, false)
	if _, err := h.requests(l); code(err) != "refund_requested" {
		t.Errorf("a second request: %v", err)
	}
	for range 2 {
		if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.requestState(r.ID); got != "requested $59.00 under way" {
		t.Errorf("after the grant: %s", got)
	}
	if _, err := h.book.Requests.Decline(t.Context(), tester, r.ID, "No."); code(err) != "refund_under_way" {
		t.Errorf("declined while the refund is under way: %v", err)
	}
	h.work()
	h.want("refunded", c, payment.Sold, event.Deactivated, false)
	if got := h.requestState(r.ID); got != "refunded $59.00" || len(h.stripe.Objects("re")) != 1 {
		t.Errorf("at the end: %s, %d refunds at Stripe", got, len(h.stripe.Objects("re")))
	}
	if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); err != nil {
		t.Errorf("granted again: %v", err)
	}
	want := []string{
		"ann@example.com: We received your refund request for App",
		"op@example.com: New refund request: App, $59.00",
		"ann@example.com: We refunded $59.00 for App",
	}
	if diff := cmp.Diff(want, h.requestMails()); diff != "" {
		t.Errorf("emails (-want +got)\n%s", diff)
	}
}

// TestGrantAfterTransfer: a request of the person who had the license before is not granted any more: it
// would take the license from the new owner.
func TestGrantAfterTransfer(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	c, l := h.bought(h.order())
	r := h.requested(l)
	if _, err := h.licenses.Transfer(t.Context(), tester, l.Key, account.Person{Email: "other@example.com"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); code(err) != "license_moved" {
		t.Errorf("granted after a transfer: %v", err)
	}
	h.work()
	h.want("transferred", c, payment.Sold, event.Inactive, false)
	if got := h.requestState(r.ID); got != "requested $59.00" || len(h.stripe.Objects("re")) != 0 {
		t.Errorf("afterwards: %s, %d refunds at Stripe", got, len(h.stripe.Objects("re")))
	}
	if _, err := h.book.Requests.Decline(t.Context(), tester, r.ID, "It is somebody else's now."); err != nil {
		t.Errorf("declined: %v", err)
	}
}

// TestGrantOfNothing: a refund that someone began at Stripe takes all the money, so a grant is refused,
// and the request still waits for a person.
func TestGrantOfNothing(t *testing.T) {
	h := newHarness(t)
	h.refundDays(14)
	c, l := h.bought(h.order())
	r := h.requested(l)
	theirs := h.stripe.Refund(c.SessionID, 5900, "pending")
	h.deliver(h.newest())
	if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); code(err) != "nothing_to_refund" {
		t.Errorf("granted: %v", err)
	}
	h.work()
	if got := h.requestState(r.ID); got != "requested $59.00" || len(h.stripe.Objects("re")) != 1 {
		t.Errorf("afterwards: %s, %d refunds at Stripe", got, len(h.stripe.Objects("re")))
	}
	h.stripe.SetRefund(theirs, "succeeded")
	h.deliver(h.newest())
	if got := h.requestState(r.ID); !strings.HasPrefix(got, "refunded") {
		t.Errorf("in the end: %s", got)
	}
}

// TestRefundDay: the right to a refund ends with the last day in UTC, and later terms of the
// product do not move it.
func TestRefundDay(t *testing.T) {
	h := newHarness(t)
	h.stopped = time.Date(2026, 11, 19, 23, 59, 0, 0, time.UTC)
	h.refundDays(14)
	c, l := h.bought(h.order())
	_, other := h.bought(h.order())
	end := time.Date(2026, 12, 4, 0, 0, 0, 0, time.UTC)
	if !c.RefundUntil.Equal(end) || payment.LastDay(c.RefundUntil) != "3 December 2026" {
		t.Fatalf("until %v, the last day is %s", c.RefundUntil, payment.LastDay(c.RefundUntil))
	}
	h.refundDays(0)
	_, without := h.bought(h.order())
	if _, err := h.requests(without); code(err) != "refund_not_offered" {
		t.Errorf("bought without refund days: %v", err)
	}
	h.stopped = end.Add(-time.Microsecond)
	h.requested(l)
	h.stopped = end
	_, err := h.requests(other)
	if code(err) != "refund_too_late" || !strings.Contains(err.Error(), "The last day to ask for a refund was 3 December 2026") {
		t.Errorf("after the last day: %v", err)
	}
	if c, err := h.book.Claim(t.Context(), other); code(err) != "refund_too_late" {
		t.Errorf("there is a claim %+v, %v", c, err)
	}
}

// TestRefundDayOfPlanChange: a plan change has a day of its own, on both paths of a sale.
func TestRefundDayOfPlanChange(t *testing.T) {
	h := newHarness(t)
	h.stop()
	h.refundDays(1)
	c, l := h.bought(h.order())
	h.ahead += 24 * time.Hour
	change := h.upgraded(l)
	if got := change.RefundUntil.Sub(c.RefundUntil); got != 24*time.Hour {
		t.Errorf("a change one day later ends %v later", got)
	}
	o := h.order()
	late := h.begin(o)
	h.stripe.Pay(late.SessionID)
	h.stripe.Refund(late.SessionID, 100, "succeeded")
	events := h.stripe.Events()
	slices.Reverse(events) // the refund comes first, so the sale takes the slow path
	h.deliver(events...)
	if got := h.checkout(late).RefundUntil; !got.Equal(change.RefundUntil) {
		t.Errorf("a sale after its refund ends on %v, want %v", got, change.RefundUntil)
	}
}

// TestRequestCovers: a request covers what is left of the payments whose day has not passed. Older
// ones stay, and a later free change does not block it.
func TestRequestCovers(t *testing.T) {
	h := newHarness(t)
	h.stop()
	h.refundDays(10)
	base, l := h.bought(h.order())
	h.ahead += 8 * 24 * time.Hour
	change := h.upgraded(l)
	h.deliver(h.stripe.Events()...)
	h.stripe.Refund(change.SessionID, 1800, "succeeded")
	h.deliver(h.stripe.Events()...)
	if c, err := h.book.Claim(t.Context(), l); err != nil || c.Total() != "$159.00" || len(c.Payments) != 2 ||
		c.Payments[0].PurchaseID != change.PurchaseID {
		t.Errorf("on day 8 the claim is %+v, %v", c, err)
	}
	h.ahead += 3 * 24 * time.Hour
	if _, err := h.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 1, ExternalID: "free", Shop: true}); err != nil {
		t.Fatal(err)
	}
	r := h.requested(l)
	if got := h.requestState(r.ID); got != "requested $100.00" {
		t.Fatalf("on day 11: %s", got)
	}
	if _, err := h.book.GrantRequest(t.Context(), tester, r.ID); err != nil {
		t.Fatal(err)
	}
	h.work()
	now, err := h.licenses.ByKey(t.Context(), l.Key)
	if err != nil || now.Ended || now.Tier != 1 {
		t.Errorf("the license falls back to %+v, %v", now, err)
	}
	if got := h.requestState(r.ID); got != "refunded $100.00" || h.checkout(base).RefundID != 0 {
		t.Errorf("at the end: %s, base %+v", got, h.checkout(base))
	}
}

// TestNoRefundRequest: licenses without a right to a refund are refused with a stable code.
func TestNoRefundRequest(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(h *harness, c payment.Checkout, l license.License) license.License
		want string
	}{
		"on hold": {func(h *harness, _ payment.Checkout, l license.License) license.License {
			must(h, func() error { _, err := h.licenses.Hold(h.Context(), tester, l.Key, license.HoldOther); return err })
			return l
		}, "license_held"},
		"disputed": {func(h *harness, c payment.Checkout, l license.License) license.License {
			h.stripe.Dispute(c.SessionID, "needs_response")
			h.deliver(h.stripe.Events()...)
			return l
		}, "license_held"},
		"transferred": {func(h *harness, _ payment.Checkout, l license.License) license.License {
			must(h, func() error {
				_, err := h.licenses.Transfer(h.Context(), tester, l.Key, account.Person{Email: "bob@example.com"})
				return err
			})
			now, err := h.licenses.ByKey(h.Context(), l.Key)
			must(h, func() error { return err })
			h.buyer.ID = now.OwnerID
			return now
		}, "license_transferred"},
		"another person's": {func(h *harness, _ payment.Checkout, l license.License) license.License {
			h.buyer.ID++
			return l
		}, "unknown_license"},
		"sold by a program": {func(h *harness, _ payment.Checkout, _ license.License) license.License {
			sale, err := h.licenses.Purchase(h.Context(), tester, license.Purchase{
				PartnerID: h.partner, Tier: 1, Quantity: 1, AmountCents: 100, Currency: "USD", Buyer: &account.Person{Email: "ann@example.com"},
			})
			must(h, func() error { return err })
			return sale.Licenses[0]
		}, "refund_not_offered"},
		"refunded": {func(h *harness, c payment.Checkout, l license.License) license.License {
			h.stripe.RefundAll(c.SessionID)
			h.deliver(h.stripe.Events()...)
			return l
		}, "refund_not_offered"},
		"a refund is under way": {func(h *harness, c payment.Checkout, l license.License) license.License {
			must(h, func() error { _, err := h.book.AskRefund(h.Context(), tester, c, payment.Ask{}); return err })
			return l
		}, "refund_not_offered"},
		"without Stripe": {func(h *harness, _ payment.Checkout, l license.License) license.License {
			h.book.Stripe = nil
			return l
		}, "refund_not_offered"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.refundDays(14)
			checkout, l := h.bought(h.order())
			l = c.do(h, checkout, l)
			if _, err := h.requests(l); code(err) != c.want {
				t.Errorf("requested: %v, want %s", err, c.want)
			}
			if n := h.count(`SELECT count(*) FROM refund_requests`); n != 0 {
				t.Errorf("%d requests are stored", n)
			}
		})
	}
}

func must(h *harness, do func() error) {
	h.Helper()
	if err := do(); err != nil {
		h.Fatal(err)
	}
}
