package payment_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/payment"
)

// texts is evidence with a text in each field.
func texts() payment.Evidence {
	e := payment.Evidence{}
	for _, name := range payment.EvidenceFields {
		e[name] = "about " + name
	}
	return e
}

// send has evidence sent.
func (h *harness) send(id string) {
	h.Helper()
	if err := h.book.SendEvidence(h.Context(), tester, id, texts()); err != nil {
		h.Fatal(err)
	}
}

// posts returns the number of calls that change a dispute.
func (h *harness) posts() int {
	n := 0
	for _, call := range h.stripe.Calls {
		if strings.HasPrefix(call, "POST /v1/disputes/") {
			n++
		}
	}
	return n
}

// atStripe returns the evidence that the fake Stripe has, and how often it was submitted.
func (h *harness) atStripe(id string) (map[string]any, any) {
	for _, o := range h.stripe.Objects("dp") {
		if o.Text("id") == id {
			return o["evidence"].(map[string]any), o["evidence_details"].(map[string]any)["submission_count"]
		}
	}
	return nil, nil
}

// TestSendEvidence: evidence is staged, then submitted, once. The audit has the person who sent it.
func TestSendEvidence(t *testing.T) {
	h := newHarness(t)
	_, id := h.disputed("needs_response")
	h.deliver(h.newest())
	h.work()
	draft := texts()
	draft[payment.CustomerName] = "  Ann\r\nBuyer "
	draft["receipt"] = "no field of ours"
	if err := h.book.SaveEvidence(t.Context(), tester, id, draft); err != nil {
		t.Fatal(err)
	}
	if d := h.dispute(id); d.Saved.State != payment.EvidenceDraft || !d.Saved.Kept() || d.Saved.Texts[payment.CustomerName] != "Ann\nBuyer" || h.posts() != 0 {
		t.Errorf("saved %+v, %d calls", d.Saved, h.posts())
	}
	h.send(id)
	h.send(id) // another press finds it on its way
	if err := h.book.SaveEvidence(t.Context(), tester, id, texts()); code(err) != "evidence_sending" {
		t.Errorf("edited on its way: %v", err)
	}
	if d := h.dispute(id); d.Saved.State != payment.EvidenceAsked || h.posts() != 0 {
		t.Errorf("asked for %+v, %d calls", d.Saved, h.posts())
	}
	h.work()
	d := h.dispute(id)
	if d.Saved.State != payment.EvidenceSent || d.Saved.SentAt.IsZero() || d.Status != "under_review" || d.Submissions != 1 || !d.HasEvidence {
		t.Errorf("after the job: %+v", d)
	}
	evidence, submitted := h.atStripe(id)
	for name, text := range texts() {
		if evidence[name] != text {
			t.Errorf("Stripe has %q as %s, want %q", evidence[name], name, text)
		}
	}
	if submitted != int64(1) || h.posts() != 2 || len(evidence) != len(payment.EvidenceFields) {
		t.Errorf("submitted %v times in %d calls: %v", submitted, h.posts(), evidence)
	}
	if err := h.book.SendEvidence(t.Context(), tester, id, texts()); code(err) != "evidence_submitted" {
		t.Errorf("sent again: %v", err)
	}
	if err := h.book.SaveEvidence(t.Context(), tester, id, texts()); code(err) != "evidence_submitted" {
		t.Errorf("edited afterwards: %v", err)
	}
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE action = 'payment.evidence' AND subject = $1`, "dispute:"+id); n != 1 {
		t.Errorf("%d entries in the audit", n)
	}
	h.work()
	if h.posts() != 2 {
		t.Errorf("%d calls in the end", h.posts())
	}
}

// TestEvidenceRefused: evidence that can't count any more is refused with the reason, and nothing is
// sent.
func TestEvidenceRefused(t *testing.T) {
	long := texts()
	long[payment.ActivityLog] = strings.Repeat("x", payment.MaxEvidence)
	whole := payment.Evidence{payment.ActivityLog: strings.Repeat("é", payment.MaxEvidence)}
	for name, c := range map[string]struct {
		then  func(h *harness, id string)
		texts payment.Evidence
		want  string
	}{
		"in time":                  {func(h *harness, _ string) { h.ahead += 7*24*time.Hour - time.Second }, texts(), "<nil>"},
		"after the deadline":       {func(h *harness, _ string) { h.ahead += 7 * 24 * time.Hour }, texts(), "evidence_overdue"},
		"deadline moved at Stripe": {func(h *harness, id string) { h.stripe.SetDueBy(id, h.now().Unix()) }, texts(), "evidence_overdue"},
		"past due at Stripe": {func(h *harness, id string) {
			h.stripe.Change(id, map[string]any{"evidence_details": map[string]any{"due_by": h.now().Add(time.Hour).Unix(), "past_due": true}})
		}, texts(), "evidence_overdue"},
		"won":                 {func(h *harness, id string) { h.stripe.SetDispute(id, "won") }, texts(), "dispute_ended"},
		"lost":                {func(h *harness, id string) { h.stripe.SetDispute(id, "lost") }, texts(), "dispute_ended"},
		"submitted at Stripe": {func(h *harness, id string) { h.stripe.SetDispute(id, "under_review") }, texts(), "evidence_submitted"},
		"empty":               {func(*harness, string) {}, payment.Evidence{payment.CustomerName: " \r\n"}, "evidence_empty"},
		"too long":            {func(*harness, string) {}, long, "evidence_too_long"},
		"just short enough":   {func(*harness, string) {}, whole, "<nil>"},
		"without Stripe":      {func(h *harness, _ string) { h.book.Stripe = nil }, texts(), "not_paid_here"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.stop()
			_, id := h.disputed("needs_response")
			h.deliver(h.newest())
			c.then(h, id)
			if err := h.book.SendEvidence(t.Context(), tester, id, c.texts); code(err) != c.want {
				t.Errorf("refused with %v, want %s", err, c.want)
			}
			if n := h.count(`SELECT count(*) FROM payment_evidence`); (n == 1) != (c.want == "<nil>") || h.posts() != 0 {
				t.Errorf("%d stored, %d calls", n, h.posts())
			}
		})
	}
	h := newHarness(t)
	if err := h.book.SendEvidence(t.Context(), tester, "dp_none", texts()); code(err) != "unknown_dispute" {
		t.Errorf("a dispute that is not there: %v", err)
	}
}

// TestEvidenceOvertaken: what happens at Stripe between the press and the job counts.
func TestEvidenceOvertaken(t *testing.T) {
	for name, c := range map[string]struct {
		then    func(h *harness, id string)
		state   payment.EvidenceState
		failure string
		calls   int
	}{
		"submitted there": {func(h *harness, id string) { h.stripe.SetDispute(id, "under_review") }, payment.EvidenceSent, "", 0},
		"lost":            {func(h *harness, id string) { h.stripe.SetDispute(id, "lost") }, payment.EvidenceRefused, "dispute_ended", 0},
		"deadline passed": {func(h *harness, _ string) { h.ahead += 8 * 24 * time.Hour }, payment.EvidenceRefused, "evidence_overdue", 0},
		"refused": {func(h *harness, id string) {
			h.stripe.Refuse = func(path string) int {
				if h.posts() > 0 && strings.Contains(path, id) {
					return http.StatusBadRequest
				}
				return 0
			}
		}, payment.EvidenceRefused, "refused", 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.stop()
			h.work()
			_, id := h.disputed("needs_response")
			h.deliver(h.newest())
			h.work()
			h.send(id)
			c.then(h, id)
			h.send(id) // another press finds it on its way, whatever happened
			h.work()
			h.stripe.Refuse = nil
			h.work()
			d := h.dispute(id)
			if d.Saved.State != c.state || d.Saved.Failure != c.failure || h.posts() != c.calls {
				t.Errorf("state %d, failure %q, %d calls; want %d, %q, %d", d.Saved.State, d.Saved.Failure, h.posts(), c.state, c.failure, c.calls)
			}
			if name != "refused" {
				return
			}
			h.send(id) // it can be sent again
			h.work()
			if d := h.dispute(id); d.Saved.State != payment.EvidenceSent || d.Submissions != 1 {
				t.Errorf("sent again: %+v", d)
			}
		})
	}
}

// TestEvidenceLost: answers that are lost, and an outage of Stripe, delay evidence. It is submitted
// once.
func TestEvidenceLost(t *testing.T) {
	for _, lost := range []int{1, 2} { // the call whose answer is lost
		h := newHarness(t)
		h.work()
		_, id := h.disputed("needs_response")
		h.deliver(h.newest())
		h.work()
		h.send(id)
		h.stripe.Lose = func(path string) bool { return strings.HasSuffix(path, id) && h.posts() == lost }
		if _, err := h.job.Once(t.Context()); err == nil {
			t.Errorf("call %d: no error", lost)
		}
		h.stripe.Lose = nil
		h.ahead += 5 * time.Minute
		h.work()
		_, submitted := h.atStripe(id)
		if d := h.dispute(id); d.Saved.State != payment.EvidenceSent || d.Submissions != 1 || submitted != int64(1) {
			t.Errorf("call %d: %+v, submitted %v times", lost, d, submitted)
		}
		// Stripe would repeat the answer of 500 under the first key.
		if key := h.stripe.Objects("dp")[0].Text("idempotency_key"); lost == 1 && key != "submit "+id+" 2" {
			t.Errorf("the key of the last call is %q", key)
		}
	}
	h := newHarness(t)
	h.work()
	_, id := h.disputed("needs_response")
	h.deliver(h.newest())
	h.work()
	h.send(id)
	h.stripe.Allow = func(string) int { return http.StatusForbidden }
	_, _ = h.job.Once(t.Context()) // Stripe refuses the key
	if d := h.dispute(id); d.Saved.State != payment.EvidenceAsked || d.Saved.Failure != payment.KeyRefused {
		t.Errorf("without a right: %+v", d.Saved)
	}
	h.stripe.Allow = nil
	h.stripe.Broken = func() bool { return true }
	for range 30 {
		_, _ = h.job.Once(t.Context()) // Stripe is broken
		h.ahead += time.Hour
	}
	if d := h.dispute(id); d.Saved.State != payment.EvidenceAsked {
		t.Errorf("during the outage: %+v", d)
	}
	h.stripe.Broken = nil
	h.ahead += 10 * time.Minute
	h.work()
	if d := h.dispute(id); d.Saved.State != payment.EvidenceSent || d.Saved.Failure != "" || h.posts() < 2 {
		t.Errorf("after the outage: %+v", d)
	}
}

// TestEvidenceKilled: a process is killed before each statement of the job that sends evidence. The
// next job finishes it, and it is submitted once.
func TestEvidenceKilled(t *testing.T) {
	h := newHarness(t)
	h.work()
	for n, killed := int64(1), true; killed; n++ {
		_, id := h.disputed("needs_response")
		h.deliver(h.newest())
		h.work()
		h.send(id)
		killed = h.dies(mortal{Statement: n})
		h.work()
		evidence, submitted := h.atStripe(id)
		if d := h.dispute(id); d.Saved.State != payment.EvidenceSent || d.Status != "under_review" || submitted != int64(1) || evidence[payment.OtherText] != "about uncategorized_text" {
			t.Errorf("killed at statement %d: %+v, submitted %v times", n, d, submitted)
		}
		if !killed && n < 10 {
			t.Errorf("only %d statements to be killed at", n-1)
		}
	}
}

// TestEvidenceErased: the texts about a buyer who is erased are deleted, unless they are on their
// way.
func TestEvidenceErased(t *testing.T) {
	h := newHarness(t)
	_, draft := h.disputed("needs_response")
	h.deliver(h.newest())
	_, sending := h.disputed("needs_response")
	h.deliver(h.newest())
	h.work()
	if err := h.book.SaveEvidence(t.Context(), tester, draft, texts()); err != nil {
		t.Fatal(err)
	}
	h.work()
	if d := h.dispute(draft); !d.Saved.Kept() {
		t.Errorf("lost: %+v", d.Saved)
	}
	h.send(sending)
	if _, err := h.licenses.EraseUser(t.Context(), tester, h.buyer.ID); err != nil {
		t.Fatal(err)
	}
	h.stripe.Broken = func() bool { return true }
	_, _ = h.job.Once(t.Context()) // Stripe is broken
	h.stripe.Broken = nil
	kept := func(id string) bool {
		return slices.ContainsFunc(payment.EvidenceFields, func(name string) bool { return h.dispute(id).Saved.Texts[name] != "" })
	}
	if kept(draft) || !kept(sending) {
		t.Errorf("after the erasure, the draft is kept %t, the evidence on its way %t", kept(draft), kept(sending))
	}
	h.ahead += 10 * time.Minute
	h.work()
	if d := h.dispute(sending); kept(sending) || d.Saved.State != payment.EvidenceSent || d.Saved.Kept() {
		t.Errorf("in the end: %+v", d.Saved)
	}
}
