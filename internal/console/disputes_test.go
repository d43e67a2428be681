package console_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/payment"
)

// TestDispute: an open dispute is on Today and Payments. Its evidence is edited and sent once.
func TestDispute(t *testing.T) {
	h := start(t)
	stripe, b := h.takePayments(), h.as(sales)
	c, err := h.Payments.Begin(t.Context(), payment.Order{
		PartnerID: h.tide.ID, Partner: "Tide", Tier: 1, PlanName: "One", Amount: 4900, Currency: "EUR", UserID: h.User(buyer).ID, CancelPath: "/",
	})
	h.Must(err)
	stripe.Pay(c.SessionID)
	c, err = h.Payments.Look(t.Context(), c)
	h.Must(err)
	id := stripe.Dispute(c.SessionID, "needs_response")
	events := stripe.Events()
	e := events[len(events)-1]
	h.Must(h.Payments.Receive(t.Context(), e.Body, stripe.Sign(e.Body)))
	work := func() {
		t.Helper()
		_, err := payment.NewJob(h.Payments).Once(t.Context())
		h.Must(err)
	}
	work()
	for _, page := range []string{path(""), path("/payments")} {
		wants(t, b.Get(page), http.StatusOK, "49.00 EUR", id, "Answer by", "The buyer's bank waits for your evidence.")
	}
	list, err := h.Licenses.OfSale(t.Context(), c.PurchaseID)
	h.Must(err)
	wants(t, b.Get(path("/licenses/%s", list[0].Key)), http.StatusOK, "the payment is disputed ("+id+")")

	at := path("/disputes/%s", id)
	if payment.DisputePath(id) != at {
		t.Errorf("emails link to %s", payment.DisputePath(id))
	}
	page := b.Get(at)
	wants(t, page, http.StatusOK, "Dispute about 49.00 EUR", "fraudulent", buyer, "Send the evidence…", "a software license for Tide Planner", "collected these texts just now")
	edit := b.Get(at+"/evidence").Want(http.StatusOK, "Edit the evidence")
	long := strings.Repeat("They used it every day.\n", 6000) // beyond the form of other acts
	b.Follow(b.Press(edit, "Save the evidence", "uncategorized_text", long))
	wants(t, b.Get(at), http.StatusOK, "An operator saved these texts", "They used it every day.")
	wants(t, b.Press(b.Get(at+"/evidence"), "Save the evidence", "uncategorized_text", strings.Repeat("x", payment.MaxEvidence)), http.StatusUnprocessableEntity, "Stripe accepts 150000")
	stale := b.Get(at + "/send")
	b.Follow(b.Press(b.Get(at+"/evidence"), "Save the evidence", "customer_name", "Ann"))
	if p := b.Press(stale, "Send it"); p.Status != http.StatusConflict {
		t.Errorf("older texts were sent: %d %s", p.Status, p.Text())
	}
	wants(t, b.Follow(b.Press(b.Get(at+"/evidence"), "Save the evidence", "collect", "yes")), http.StatusOK, "collected again", "a software license for Tide Planner")
	wantsNone(t, b.Get(at), "They used it every day.")
	b.Follow(b.Press(b.Get(at+"/evidence"), "Save the evidence", "customer_name", "Ann"))
	order := b.Get(path("/orders/%s", c.Ref))
	wants(t, order, http.StatusOK, "Send the evidence on the page of dispute "+id+" by ")
	ask := b.Get(at+"/send").Want(http.StatusOK, "Send the evidence to Stripe")
	wants(t, b.Follow(b.Press(ask, "Send it")), http.StatusOK, "on its way to Stripe")
	work()
	wants(t, b.Get(at), http.StatusOK, "Stripe has these texts.", "The evidence was sent, and the bank decides.", "It is final.")
	wantsNone(t, b.Get(at), "Send the evidence…", "Edit it…")
	wants(t, b.Get(path("/orders/%s", c.Ref)), http.StatusOK, "The evidence was sent, and the bank decides.")
	if p := b.Press(ask, "Send it"); p.Status != http.StatusConflict {
		t.Errorf("sent again: %d %s", p.Status, p.Text())
	}
	if o := stripe.Objects("dp")[0]; o["evidence"].(map[string]any)["customer_name"] != "Ann" || o["status"] != "under_review" {
		t.Errorf("Stripe has %v", o)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'payment.evidence' AND actor_id = $1`, h.User(sales).ID); n != 1 {
		t.Errorf("%d entries in the audit", n)
	}
}

// TestEvidenceTooLate: after the deadline the page of the act gives the reason and has no button.
func TestEvidenceTooLate(t *testing.T) {
	h := start(t)
	h.takePayments()
	b := h.as(admin)
	for status, want := range map[string]string{
		"needs_response": "Stripe accepts no evidence after it.",
		"won":            "The dispute has ended (won)",
		"under_review":   "Stripe already has evidence",
	} {
		id := h.openDispute(status)
		if status == "needs_response" {
			earlier := b.Get(path("/disputes/%s/send", id))
			h.Exec(`UPDATE payment_disputes SET due_by = 1 WHERE provider_id = $1`, id)
			wants(t, b.Press(earlier, "Send it"), http.StatusConflict, want)
		}
		for _, act := range []string{"/send", "/evidence"} {
			page := b.Get(path("/disputes/%s", id) + act)
			wants(t, page, http.StatusOK, want)
			wantsNone(t, page, "Send it", "Save the evidence")
		}
	}
	if n := h.Count(`SELECT count(*) FROM payment_evidence`); n != 0 {
		t.Errorf("%d were stored", n)
	}
}

// TestDisputeRights: viewers and support see a dispute, and are not led to its acts.
func TestDisputeRights(t *testing.T) {
	h := start(t)
	id := h.openDispute("warning_needs_response")
	for _, email := range []string{viewer, support} {
		page := h.as(email).Get(path("/disputes/%s", id))
		wants(t, page, http.StatusOK, "Inquiry about $49.00", "product not received")
		wantsNone(t, page, "Send the evidence…", "Edit it…")
	}
	wantsNone(t, h.as(viewer).Get(path("/payments")), "Mark as dealt with")
}
