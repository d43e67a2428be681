package payment_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/payment"
	"claviger/internal/secret"
)

// twin makes a second session at Stripe for a checkout, as after a lost answer.
func (h *harness) twin(c payment.Checkout) string {
	h.Helper()
	other := h.begin(h.tier(2))
	h.stripe.Change(other.SessionID, map[string]any{"client_reference_id": c.Ref, "amount_total": c.Amount})
	return other.SessionID
}

// TestSecondSession: a paid second session of a checkout becomes a problem, whether the first was
// paid or not. Its money is refunded, and the first keeps its license.
func TestSecondSession(t *testing.T) {
	for name, paid := range map[string]bool{"the first was paid": true, "the first is open": false} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.begin(h.order())
			if paid {
				h.stripe.Pay(c.SessionID)
				h.deliver(h.newest())
			}
			before := h.checkout(c)
			second := h.twin(c)
			h.stripe.Pay(second)
			h.deliver(h.newest(), h.newest())
			list, err := h.book.Problems(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("problems %+v, %v", list, err)
			}
			intent := h.stripe.Objects("pi")[0].Text("id")
			if p := list[0]; p.Kind != payment.PaidTwice || p.ObjectID != second || p.IntentID != intent || p.Amount != 5900 || p.Currency != "USD" ||
				p.CheckoutID != before.ID || p.PartnerID != c.PartnerID || !p.Refundable() {
				t.Errorf("problem %+v", p)
			}
			now := h.checkout(c)
			if now.State != before.State || now.SessionID != before.SessionID || now.IntentID != before.IntentID || now.PaidAt != before.PaidAt {
				t.Errorf("the checkout was %+v and is %+v", before, now)
			}
			h.refundProblem()
			if got := h.problems(); len(got) != 0 || h.count(`SELECT count(*) FROM refunds`) != 0 {
				t.Errorf("left %v", got)
			}
			if back := h.stripe.Objects("re"); len(back) != 1 || back[0]["payment_intent"] != intent || back[0]["amount"] != int64(5900) {
				t.Errorf("refunds at Stripe: %v", back)
			}
			if paid {
				h.want("the first", c, payment.Sold, event.Inactive, false)
			}
		})
	}
}

// TestSecondSessionEnds: a second session that ends unpaid does not affect the first, which can
// still be paid.
func TestSecondSessionEnds(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Expire(h.twin(c))
	h.deliver(h.newest())
	if got := h.checkout(c); got.State != payment.Open || got.SessionID != c.SessionID {
		t.Errorf("it is %+v", got)
	}
	h.stripe.Pay(c.SessionID)
	h.deliver(h.newest())
	h.want("the first", c, payment.Sold, event.Inactive, false)
}

// TestLostSession: a session without an answer at its creation is assigned to its checkout by its
// first event.
func TestLostSession(t *testing.T) {
	h := newHarness(t)
	base := h.sold()
	o := h.tier(2)
	o.PartnerID = base.PartnerID
	o.LicenseKey = h.licensesOf(base)[0].Key
	h.stripe.Lose = func(path string) bool { return path == "/v1/checkout/sessions" }
	if _, err := h.book.Begin(t.Context(), o); code(err) != payment.CodeUnavailable {
		t.Fatal(err)
	}
	h.stripe.Lose = nil
	session := h.stripe.Objects("cs")[0]
	h.stripe.PayLater(session.Text("id"))
	h.deliver(h.newest())
	c, err := h.book.ByRef(t.Context(), session.Text("client_reference_id"))
	if err != nil || c.State != payment.Pending || c.SessionID != session.Text("id") {
		t.Errorf("%+v, %v", c, err)
	}
	h.exec(`UPDATE checkouts SET session_id = '' WHERE id = $1`, c.ID)
	h.stripe.Settle(session.Text("id"), true)
	h.deliver(h.newest())
	if got := h.checkout(c); got.State != payment.Sold || len(h.problems()) != 0 {
		t.Errorf("it is %+v, problems %v", got, h.problems())
	}
}

// TestLateCompletion: a late completion event never makes an ended checkout pending.
func TestLateCompletion(t *testing.T) {
	for name, of := range map[string]struct {
		paid   bool
		amount int64
		want   payment.State
	}{
		"sold":   {true, 5900, payment.Sold},
		"unsold": {true, 5800, payment.Unsold},
		"closed": {false, 5900, payment.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			c := h.begin(h.order())
			h.stripe.Change(c.SessionID, map[string]any{"amount_total": of.amount})
			h.stripe.PayLater(c.SessionID)
			done := h.newest()
			h.stripe.Settle(c.SessionID, of.paid)
			h.deliver(h.newest(), done)
			if got := h.checkout(c); got.State != of.want || !got.NextAt.IsZero() {
				t.Errorf("it is %s, and asked about at %v", got.State, got.NextAt)
			}
		})
	}
}

// TestUnsoldStays: a payment that could not be sold is not sold by an event that comes again,
// because a person may have sent its money back.
func TestUnsoldStays(t *testing.T) {
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	h.exec(`UPDATE checkouts SET state = $1`, int(payment.Unsold))
	h.deliver(h.newest(), h.newest())
	h.want("unsold", c, payment.Unsold, 0, false)
}

// TestAnotherShop: a payment is ours only by a name that we made. Others with the same
// account at Stripe may use any name.
func TestAnotherShop(t *testing.T) {
	key := make([]byte, secret.KeySize)
	key[0] = 1
	box, err := secret.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t)
	c := h.begin(h.order())
	h.stripe.Pay(c.SessionID)
	body := h.newest().Body
	id, proof, _ := strings.Cut(strings.TrimPrefix(c.Ref, "co_"), "_")
	other := strings.Repeat("0", len(id))
	if len(proof) != 32 {
		t.Errorf("the proof has %d characters", len(proof))
	}
	for name, of := range map[string]struct {
		ref  string
		ours bool
	}{
		"none":              {"", false},
		"a number":          {"1234", false},
		"without a proof":   {"co_" + other, false},
		"an empty proof":    {"co_" + other + "_", false},
		"another's proof":   {"co_" + other + "_" + proof, false},
		"of another secret": {"co_" + other + "_" + box.Pepper("checkout " + other)[:32], false},
		"another prefix":    {"xx_" + id + "_" + proof, false},
		"without a prefix":  {id + "_" + proof, false},
		"ours":              {"co_" + id + "_" + proof, true},
	} {
		h.exec(`DELETE FROM checkouts`)
		h.exec(`DELETE FROM payment_problems`)
		sent := h.changed(body, c.Ref, of.ref)
		if err := h.book.Receive(t.Context(), sent, h.stripe.Sign(sent)); err != nil {
			t.Fatal(err)
		}
		var want []payment.ProblemKind
		if of.ours {
			want = append(want, payment.PaidUnknown)
		}
		if got := h.problems(); !slices.Equal(got, want) {
			t.Errorf("%s: problems %v", name, got)
		}
	}
	// An unpaid session of ours needs no refund.
	h.exec(`DELETE FROM payment_problems`)
	unpaid := h.changed(body, `"payment_status":"paid"`, `"payment_status":"unpaid"`)
	if err := h.book.Receive(t.Context(), unpaid, h.stripe.Sign(unpaid)); err != nil || len(h.problems()) != 0 {
		t.Errorf("unpaid: %v, problems %v", err, h.problems())
	}
}

// TestOpenSessionAgain: a returning buyer gets the same page while enough time is left, and then
// another.
func TestOpenSessionAgain(t *testing.T) {
	for name, of := range map[string]struct {
		after time.Duration
		same  bool
	}{
		"five minutes left": {30 * time.Minute, true},
		"less":              {30*time.Minute + time.Second, false},
		"none":              {36 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.stop()
			c := h.begin(h.order())
			h.ahead = of.after
			again := h.begin(h.order())
			if (again.Ref == c.Ref) != of.same || again.SessionURL == "" || !of.same && h.checkout(c).State != payment.Closed {
				t.Errorf("got %+v after %+v", again, h.checkout(c))
			}
			open := 0
			for _, o := range h.stripe.Objects("cs") {
				if o["status"] == "open" {
					open++
				}
			}
			if open != 1 {
				t.Errorf("%d sessions can be paid", open)
			}
		})
	}
}

// TestLook: the payment of a waiting buyer is polled unless the checkout has ended. Without an
// answer it stays unchanged.
func TestLook(t *testing.T) {
	h := newHarness(t)
	look := func(name string, c payment.Checkout, want payment.State, calls int) payment.Checkout {
		t.Helper()
		before := len(h.stripe.Calls)
		got, err := h.book.Look(t.Context(), c)
		if err != nil || got.State != want || len(h.stripe.Calls)-before != calls {
			t.Errorf("%s: %+v, %v, calls %v", name, got, err, h.stripe.Calls[before:])
		}
		return got
	}
	c := h.begin(h.order())
	look("not paid", c, payment.Open, 1)
	h.stripe.PayLater(c.SessionID)
	h.stripe.Broken = func() bool { return true }
	look("no answer", c, payment.Open, 1)
	if !strings.Contains(h.log.String(), "the job does it later") {
		t.Errorf("logged %s", h.log.String())
	}
	h.stripe.Broken = nil
	c = look("at the bank", c, payment.Pending, 1)
	if c.NextAt.IsZero() {
		t.Error("the job does not ask about it")
	}
	h.stripe.Settle(c.SessionID, true)
	c = look("paid", c, payment.Sold, 1)
	if c.PurchaseID == 0 || c.PurchaseID != h.checkout(c).PurchaseID || c.IntentID == "" || c.PaidAt.IsZero() || !c.NextAt.IsZero() {
		t.Errorf("sold %+v", c)
	}
	look("sold", c, payment.Sold, 0)
	other := h.begin(h.tier(2))
	h.stripe.Expire(other.SessionID)
	other = look("expired", other, payment.Closed, 1)
	look("closed", other, payment.Closed, 0)
	other.State, other.SessionID = payment.Open, ""
	look("without a page", other, payment.Open, 0)
	other.SessionID = "cs_1"
	h.book.Stripe = nil
	look("without payments", other, payment.Open, 0)
	if _, err := h.book.ByRef(t.Context(), "co_none"); code(err) != payment.CodeUnknownCheckout {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestFactBetween: a dispute that arrives during the sale holds the license, although the seller
// did not see it.
func TestFactBetween(t *testing.T) {
	h := newHarness(t)
	h.work() // events are not listed again for a while
	seen := h.begin(h.order())
	h.stripe.Pay(seen.SessionID)
	h.stripe.Dispute(seen.SessionID, "needs_response")
	h.deliver(h.newest())
	h.work()
	if c := h.checkout(seen); !c.Unsettled || c.State != payment.Open {
		t.Fatalf("before the sale it is %+v", c)
	}
	if _, err := h.book.Look(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	h.want("sold", seen, payment.Sold, event.Deactivated, true)
	if h.checkout(seen).Unsettled {
		t.Error("it is still unsettled")
	}
}
