package payment_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/payment"
	"claviger/internal/sqldb"
)

// operator adds a member of the marketplace's own team.
func (h *harness) operator(email string, role account.Role) account.User {
	h.Helper()
	u, _, err := (&account.Store{DB: h.db, Now: h.now}).Create(h.Context(), tester, account.Person{Email: email})
	if err == nil {
		err = h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
			_, err := account.SetRole(h.Context(), tx, tester, u.ID, role, h.now())
			return err
		})
	}
	if err != nil {
		h.Fatal(err)
	}
	return u
}

// disputed sells a license and opens a dispute about it, whose event is not delivered.
func (h *harness) disputed(status string) (payment.Checkout, string) {
	h.Helper()
	c := h.sold()
	return c, h.stripe.Dispute(c.SessionID, status)
}

func (h *harness) dispute(id string) payment.DisputeDetail {
	h.Helper()
	d, err := h.book.Dispute(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	return d
}

// subjects returns the subjects of the emails to an address, oldest first.
func (h *harness) subjects(to string) []string {
	h.Helper()
	list, err := sqldb.All(
		h.Context(), h.db, sqldb.Value[string], `SELECT subject FROM mails WHERE recipient = $1 ORDER BY id`, to,
	)
	if err != nil {
		h.Fatal(err)
	}
	return list
}

// TestDisputeFacts: the event of a dispute has its deadline, reason and charge. The job keeps them
// up to date, also without an event.
func TestDisputeFacts(t *testing.T) {
	h := newHarness(t)
	h.stop()
	_, id := h.disputed("needs_response")
	h.deliver(h.newest())
	due := h.now().Add(7 * 24 * time.Hour)
	d := h.dispute(id)
	if !d.DueBy.Equal(due) || d.Reason != "fraudulent" || !strings.HasPrefix(d.ChargeID, "ch_") || d.HasEvidence || d.Submissions != 0 || !d.Unanswered() {
		t.Errorf("from the event: %+v", d.Dispute)
	}
	h.work()
	h.stripe.SetDueBy(id, due.Add(time.Hour).Unix()) // the event never arrives
	h.ahead += 6 * time.Hour
	h.work()
	if d := h.dispute(id); !d.DueBy.Equal(due.Add(time.Hour)) {
		t.Errorf("after a poll the deadline is %s", d.DueBy)
	}
	h.stripe.SetDispute(id, "under_review")
	h.deliver(h.newest())
	h.work()
	if d := h.dispute(id); d.Unanswered() || !d.Submitted() || d.Ended() {
		t.Errorf("under review: %+v", d.Dispute)
	}
	if _, err := h.book.Dispute(t.Context(), "dp_none"); code(err) != "unknown_dispute" {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestDisputeOfAnOlderRelease: a dispute that an older release stored has no deadline and no email.
// The next run of the job gets both.
func TestDisputeOfAnOlderRelease(t *testing.T) {
	h := newHarness(t)
	h.operator("sales@shop.example", account.RoleSales)
	_, id := h.disputed("needs_response")
	h.deliver(h.newest())
	h.work()
	h.exec(`UPDATE payment_disputes SET due_by = 0, reason = '', told_at = 0`)
	h.exec(`DELETE FROM mails`)
	h.work()
	if d := h.dispute(id); d.DueBy.IsZero() || d.Reason == "" {
		t.Errorf("after the job: %+v", d.Dispute)
	}
	if got := h.subjects("sales@shop.example"); len(got) != 1 {
		t.Errorf("emails %q", got)
	}
}

// TestDisputeMails: operators who may answer a dispute get an email when it opens, and one two days
// before its deadline, each once.
func TestDisputeMails(t *testing.T) {
	h := newHarness(t)
	h.stop()
	for email, role := range map[string]account.Role{
		"admin@shop.example": account.RoleAdmin, "sales@shop.example": account.RoleSales,
		"support@shop.example": account.RoleSupport, "viewer@shop.example": account.RoleViewer,
	} {
		h.operator(email, role)
	}
	want := func(when string, n int) {
		t.Helper()
		for _, to := range []string{"admin@shop.example", "sales@shop.example"} {
			if got := h.subjects(to); len(got) != n {
				t.Errorf("%s: emails to %s: %q, want %d", when, to, got, n)
			}
		}
	}
	h.work()
	_, id := h.disputed("needs_response")
	h.deliver(h.newest(), h.newest())
	h.work()
	want("opened", 1)
	due := h.dispute(id).DueBy
	h.ahead = due.Sub(h.stopped) - 48*time.Hour - time.Second
	h.work()
	want("a second before the reminder", 1)
	h.ahead += time.Second
	h.work()
	want("two days before the deadline", 2)
	h.ahead += 12 * time.Hour
	h.work()
	want("later", 2)
	subjects := strings.Join(h.subjects("sales@shop.example"), "; ")
	deadline := due.UTC().Format("2 January 2006, 15:04 UTC")
	if subjects != "Dispute about $59.00: answer by "+deadline+"; Dispute about $59.00: no answer yet, due "+deadline {
		t.Errorf("subjects: %s", subjects)
	}
	if n := h.count(`SELECT count(*) FROM mails WHERE recipient IN ('support@shop.example', 'viewer@shop.example')`); n != 0 {
		t.Errorf("%d emails to people who can't answer", n)
	}
}

// TestNoReminder: no reminder follows when there is nothing left to do, or the first email was just
// as late.
func TestNoReminder(t *testing.T) {
	to := "sales@shop.example"
	for name, c := range map[string]struct {
		then func(h *harness, id string)
		want int
	}{
		"no answer": {func(*harness, string) {}, 2},
		"submitted": {func(h *harness, id string) { h.stripe.SetDispute(id, "under_review"); h.deliver(h.newest()) }, 1},
		"submitted, and the bank still asks": {func(h *harness, id string) {
			h.stripe.Change(id, map[string]any{"evidence_details": map[string]any{"due_by": h.dispute(id).DueBy.Unix(), "submission_count": int64(1)}})
			h.stripe.SetDispute(id, "needs_response")
			h.deliver(h.newest())
		}, 1},
		"won":  {func(h *harness, id string) { h.stripe.SetDispute(id, "won"); h.deliver(h.newest()) }, 1},
		"lost": {func(h *harness, id string) { h.stripe.SetDispute(id, "lost"); h.deliver(h.newest()) }, 1},
		"a later deadline": {func(h *harness, id string) {
			h.stripe.SetDueBy(id, h.now().Add(20*24*time.Hour).Unix())
			h.deliver(h.newest())
		}, 1},
		"evidence that is being sent": {func(h *harness, id string) {
			h.ahead += 5*24*time.Hour - time.Minute
			h.stripe.Broken = func() bool { return true }
			h.send(id)
			h.ahead -= 5*24*time.Hour - time.Minute
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.stop()
			h.operator(to, account.RoleSales)
			h.work()
			_, id := h.disputed("needs_response")
			h.deliver(h.newest())
			h.work()
			c.then(h, id)
			if h.stripe.Broken == nil {
				h.work()
			}
			h.ahead += 5 * 24 * time.Hour
			_, _ = h.job.Once(t.Context()) // Stripe may be broken
			if got := h.subjects(to); len(got) != c.want {
				t.Errorf("emails %q, want %d", got, c.want)
			}
		})
	}
	t.Run("evidence that cannot be sent for an hour", func(t *testing.T) {
		h := newHarness(t)
		h.stop()
		h.operator(to, account.RoleSales)
		_, id := h.disputed("needs_response")
		h.deliver(h.newest())
		h.work()
		h.stripe.Broken = func() bool { return true }
		h.send(id)
		h.ahead += 5 * 24 * time.Hour
		_, _ = h.job.Once(t.Context()) // Stripe is broken
		if got := h.subjects(to); len(got) != 2 {
			t.Errorf("emails %q", got)
		}
	})
	t.Run("opened late", func(t *testing.T) {
		h := newHarness(t)
		h.stop()
		h.operator(to, account.RoleSales)
		_, id := h.disputed("needs_response")
		h.stripe.SetDueBy(id, h.now().Add(47*time.Hour).Unix())
		h.deliver(h.newest())
		h.work()
		h.ahead += time.Hour
		h.work()
		if got := h.subjects(to); len(got) != 1 {
			t.Errorf("emails %q", got)
		}
	})
}

// TestInquiryMails: an inquiry has a deadline and emails. The dispute that it becomes has its own,
// and no hold stays behind.
func TestInquiryMails(t *testing.T) {
	h := newHarness(t)
	h.stop()
	to := "sales@shop.example"
	h.operator(to, account.RoleSales)
	h.work()
	c, id := h.disputed("warning_needs_response")
	h.deliver(h.newest())
	h.work()
	if open := h.open(); len(open) != 1 || open[0].ID != id || open[0].DueBy.IsZero() || !open[0].Inquiry() {
		t.Errorf("open: %+v", open)
	}
	if h.licensesOf(c)[0].Held != 0 {
		t.Error("an inquiry holds the license")
	}
	h.send(id)
	h.work()
	if d := h.dispute(id); d.Saved.State != payment.EvidenceSent || d.Status != "warning_under_review" || d.Submissions != 1 {
		t.Fatalf("after the answer: %+v", d)
	}
	h.stripe.SetDispute(id, "needs_response")
	h.deliver(h.newest())
	h.work()
	d := h.dispute(id)
	if err := d.Closed(h.now()); err != nil || !d.Unanswered() || d.Saved.State != payment.EvidenceDraft {
		t.Errorf("the dispute takes no evidence of its own: %v, %+v", err, d)
	}
	if h.licensesOf(c)[0].Held == 0 {
		t.Error("the dispute does not hold the license")
	}
	got := h.subjects(to)
	if len(got) != 2 || !strings.HasPrefix(got[0], "Inquiry about $59.00: ") || !strings.HasPrefix(got[1], "Dispute about $59.00: ") {
		t.Errorf("emails %q", got)
	}
	h.send(id)
	h.work()
	if d := h.dispute(id); d.Saved.State != payment.EvidenceSent || d.Submissions != 2 || d.Status != "under_review" {
		t.Errorf("after the second answer: %+v", d)
	}
}

// open returns the open disputes.
func (h *harness) open() []payment.OpenDispute {
	h.Helper()
	list, err := h.book.OpenDisputes(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return list
}

// TestOpenDisputes: open disputes are listed with those that wait for an answer first, the nearest
// deadline first. Ended ones are not listed.
func TestOpenDisputes(t *testing.T) {
	h := newHarness(t)
	h.stop()
	var want []string
	for _, d := range []struct {
		status string
		due    time.Duration
		listed bool
	}{
		{"warning_needs_response", time.Hour, true},
		{"needs_response", 2 * time.Hour, true},
		{"under_review", time.Minute, true},
		{"won", time.Second, false},
		{"lost", time.Second, false},
		{"warning_closed", time.Second, false},
	} {
		_, id := h.disputed(d.status)
		h.stripe.SetDueBy(id, h.now().Add(d.due).Unix())
		h.deliver(h.newest())
		if d.listed {
			want = append(want, id)
		}
	}
	h.work()
	var got []string
	for _, d := range h.open() {
		got = append(got, d.ID)
		if d.PartnerID == 0 || d.Item != "App, Tier 1" || d.PurchaseID == 0 {
			t.Errorf("listed %+v", d)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("listed %v, want %v", got, want)
	}
	depth, err := payment.ReadDepth(t.Context(), h.db, h.now())
	if err != nil || depth.Unanswered != 2 || !depth.Deadline.Equal(h.now().Add(time.Hour)) {
		t.Errorf("depth %+v, %v", depth, err)
	}
	if depth, err = payment.ReadDepth(t.Context(), h.db, h.now().Add(time.Hour)); err != nil || !depth.Deadline.Equal(h.now().Add(2*time.Hour)) {
		t.Errorf("after the first deadline: %+v, %v", depth, err)
	}
	if depth, err = payment.ReadDepth(t.Context(), h.db, h.now().Add(2*time.Hour)); err != nil || !depth.Deadline.IsZero() {
		t.Errorf("after the last deadline: %+v, %v", depth, err)
	}
}

// TestRemindedOnce: several nodes remind of a dispute once, and so does a node that is killed before
// any statement.
func TestRemindedOnce(t *testing.T) {
	to := "sales@shop.example"
	near := func(h *harness) {
		h.operator(to, account.RoleSales)
		h.work()
		_, _ = h.disputed("needs_response")
		h.deliver(h.newest())
		h.work()
		h.ahead += 5*24*time.Hour + time.Hour
	}
	t.Run("several nodes", func(t *testing.T) {
		h := newHarness(t)
		near(h)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if _, err := payment.NewJob(h.book).Once(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if got := h.subjects(to); len(got) != 2 {
			t.Errorf("emails %q", got)
		}
	})
	t.Run("killed", func(t *testing.T) {
		h := newHarness(t)
		near(h)
		if _, err := h.job.Once(t.Context()); err != nil { // polls the dispute, so that children only remind
			t.Fatal(err)
		}
		for n, killed := int64(1), true; killed; n++ {
			h.exec(`UPDATE payment_disputes SET reminded_at = 0`)
			h.exec(`DELETE FROM mails`)
			killed = h.dies(mortal{Statement: n})
			h.work()
			if got := h.subjects(to); len(got) != 1 {
				t.Errorf("killed at statement %d: emails %q", n, got)
			}
			if !killed && n < 5 {
				t.Errorf("only %d statements to be killed at", n-1)
			}
		}
	})
}
