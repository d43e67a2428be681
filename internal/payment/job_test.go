package payment_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/prune"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// TestAskedLater: an unfinished checkout is polled less and less often, whether Stripe answers or
// not, and not after 30 days.
func TestAskedLater(t *testing.T) {
	for name, status := range map[string]int{"open": 0, "no answer": http.StatusBadGateway} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.stop()
			c := h.begin(h.order())
			h.silence(c.SessionID, status)
			for _, of := range []struct{ age, next time.Duration }{
				{59 * time.Second, time.Minute},
				{time.Minute, 2 * time.Minute},
				{8 * time.Minute, 10 * time.Minute},
				{10 * time.Hour, 12*time.Hour + 30*time.Minute},
				{30 * 24 * time.Hour, 30*24*time.Hour + 6*time.Hour},
			} {
				h.ahead = of.age
				for range 2 {
					if _, err := h.job.Once(t.Context()); err != nil && status == 0 {
						t.Error(err)
					}
				}
				if got := h.checkout(c).NextAt.Sub(c.CreatedAt); got != of.next {
					t.Errorf("at %v the next question is at %v, want %v", of.age, got, of.next)
				}
			}
			h.ahead = 31 * 24 * time.Hour
			_, _ = h.job.Once(t.Context())
			if got := h.checkout(c); !got.NextAt.IsZero() || got.State != payment.Open || got.Tries != 5 {
				t.Errorf("after 31 days it is %+v", got)
			}
		})
	}
}

// TestAskedByItsSession: a checkout follows its page at Stripe although no event of it is known.
func TestAskedByItsSession(t *testing.T) {
	for name, of := range map[string]struct {
		do   func(h *harness, session string)
		want payment.State
	}{
		"open":        {func(*harness, string) {}, payment.Open},
		"paid":        {func(h *harness, session string) { h.stripe.Pay(session) }, payment.Sold},
		"at the bank": {func(h *harness, session string) { h.stripe.PayLater(session) }, payment.Pending},
		"expired":     {func(h *harness, session string) { h.stripe.Expire(session) }, payment.Closed},
		"refused by the bank": {func(h *harness, session string) {
			h.stripe.PayLater(session)
			h.stripe.Settle(session, false)
		}, payment.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.work() // events are not listed again for a while
			h.stop()
			c := h.begin(h.order())
			of.do(h, c.SessionID)
			h.ahead = 2 * time.Minute
			h.work()
			got := h.checkout(c)
			if changed := got.UpdatedAt.Equal(h.now()); changed != (of.want != payment.Open) {
				t.Errorf("it was changed at %v", got.UpdatedAt)
			}
			asked := of.want == payment.Open || of.want == payment.Pending
			if got.State != of.want || got.NextAt.IsZero() == asked || got.Unsettled {
				t.Errorf("it is %s, asked about at %v, unsettled: %t", got.State, got.NextAt, got.Unsettled)
			}
		})
	}
}

// TestNeverGotAPage: a checkout without a page is closed only when nobody can get one for it.
func TestNeverGotAPage(t *testing.T) {
	h := newHarness(t)
	h.stop()
	h.stripe.Broken = func() bool { return true }
	_, _ = h.book.Begin(t.Context(), h.order())
	h.stripe.Broken = nil
	for _, of := range []struct {
		age  time.Duration
		want payment.State
	}{{35 * time.Minute, payment.Open}, {time.Hour, payment.Closed}} {
		h.ahead = of.age
		h.work()
		if n := h.count(`SELECT count(*) FROM checkouts WHERE state = $1`, int(of.want)); n != 1 {
			t.Errorf("after %v it is not %s", of.age, of.want)
		}
	}
}

// TestFactsBeforeTheSale: a refund or a dispute known before the sale reaches the license with it.
// Only the payment names its checkout, and facts about other payments are ignored.
func TestFactsBeforeTheSale(t *testing.T) {
	for name, of := range map[string]struct {
		payment map[string]any // changed members
		gone    bool           // the checkout was deleted
		ours    bool
	}{
		"ours":                   {nil, false, true},
		"of another shop":        {map[string]any{"metadata": map[string]string{}}, false, false},
		"with a name of another": {map[string]any{"metadata": map[string]string{"checkout": "co_1_2"}}, false, false},
		"of a checkout of old":   {nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.work() // events are not listed again for a while
			c := h.begin(h.order())
			h.stripe.Pay(c.SessionID)
			paid := h.newest()
			h.stripe.Change(h.stripe.Objects("pi")[0].Text("id"), of.payment)
			if of.gone {
				h.exec(`UPDATE checkouts SET ref = 'co_old'`)
			}
			woken := 0
			h.book.Wake = func() { woken++ }
			h.stripe.Dispute(c.SessionID, "needs_response")
			h.deliver(h.newest())
			h.stripe.RefundAll(c.SessionID)
			h.deliver(h.newest())
			if n := h.count(`SELECT count(*) FROM payment_lookups`); n != 2 || woken != 2 {
				t.Errorf("%d objects are to be looked up, the job was woken %d times", n, woken)
			}
			h.work()
			if n := h.count(`SELECT count(*) FROM payment_lookups`); n != 0 {
				t.Errorf("%d objects are still to be looked up", n)
			}
			stored := h.count(`SELECT count(*) FROM payment_disputes`) + h.count(`SELECT count(*) FROM payment_refunds`)
			if (stored == 2) != of.ours || !of.ours && stored != 0 {
				t.Errorf("%d facts are stored", stored)
			}
			if !of.gone {
				if unsettled := h.checkout(c).Unsettled; unsettled != of.ours {
					t.Errorf("unsettled: %t", unsettled)
				}
				h.deliver(paid)
				status := event.Inactive
				if of.ours {
					status = event.Deactivated
				}
				h.want("sold", c, payment.Sold, status, of.ours)
			}
		})
	}
}

// TestFactsOfTheSecondPayment: a refund or a dispute of a second payment for a checkout does not
// affect the first one's license.
func TestFactsOfTheSecondPayment(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	second := h.twin(c)
	h.stripe.Change(second, map[string]any{"intent_metadata": c.Ref})
	h.stripe.Pay(second)
	h.deliver(h.newest())
	h.stripe.Dispute(second, "needs_response")
	h.deliver(h.newest())
	h.stripe.RefundAll(second)
	h.deliver(h.newest())
	h.work()
	h.want("the first", c, payment.Sold, event.Inactive, false)
	if n := h.count(`SELECT count(*) FROM payment_disputes`) + h.count(`SELECT count(*) FROM payment_refunds`); n != 0 {
		t.Errorf("%d facts of the second are stored for the first", n)
	}
}

// TestLookupsEnd: a lookup for an object that Stripe does not have is deleted. Without an answer it
// is retried less and less often, for 30 days.
func TestLookupsEnd(t *testing.T) {
	h := newHarness(t)
	h.work()
	h.stop()
	h.exec(`INSERT INTO payment_lookups (object_id, tries, created_at, next_at) VALUES ('re_gone', 0, $1, $1), ('cs_silent', 0, $1, $1)`, h.now())
	asked := h.silence("cs_silent", http.StatusBadGateway)
	_, err := h.job.Once(t.Context())
	if err == nil || strings.Contains(err.Error(), "404") {
		t.Errorf("the job says %v", err)
	}
	_, _ = h.job.Once(t.Context())
	if n := h.count(`SELECT count(*) FROM payment_lookups`); n != 1 || *asked != 1 {
		t.Errorf("%d are left, asked %d times", n, *asked)
	}
	if n := h.count(`SELECT count(*) FROM payment_lookups WHERE tries = 1 AND next_at = $1`, h.now().Add(time.Minute)); n != 1 {
		t.Error("it is not asked about again in a minute")
	}
	h.ahead = 29 * 24 * time.Hour
	_, _ = h.job.Once(t.Context())
	if n := h.count(`SELECT count(*) FROM payment_lookups WHERE tries = 2 AND next_at = $1`, h.now().Add(6*time.Hour)); n != 1 {
		t.Error("it is not asked about again in six hours")
	}
	h.ahead = 30 * 24 * time.Hour
	_, _ = h.job.Once(t.Context())
	if n := h.count(`SELECT count(*) FROM payment_lookups`); n != 0 || *asked != 3 {
		t.Errorf("%d are left, asked %d times", n, *asked)
	}
}

// TestHowFarBack: events of up to 30 days are listed, and those of the last hour again, because
// they may appear late. Delivered events are not looked up.
func TestHowFarBack(t *testing.T) {
	for name, of := range map[string]struct {
		listed time.Duration // before now
		event  time.Duration // before now
		noted  int64
	}{
		"an hour before":    {15 * time.Minute, 75 * time.Minute, 1},
		"longer before":     {15 * time.Minute, 75*time.Minute + time.Second, 0},
		"thirty days":       {60 * 24 * time.Hour, 30 * 24 * time.Hour, 1},
		"more":              {60 * 24 * time.Hour, 30*24*time.Hour + time.Second, 0},
		"listed just now":   {10*time.Minute - time.Second, time.Second, 0},
		"listed ten before": {10 * time.Minute, time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.stop()
			c := h.sold()
			now := h.now()
			h.ahead = -of.event
			h.stripe.Dispute(c.SessionID, "needs_response")
			h.ahead = 0
			h.exec(`UPDATE payment_listing SET listed_at = $1`, now.Add(-of.listed))
			if _, err := h.job.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := h.noted(); n != of.noted {
				t.Errorf("%d events are noted", n)
			}
		})
	}
	h := newHarness(t)
	c := h.sold()
	h.stripe.Refund(c.SessionID, 100, "succeeded")
	h.deliver(h.newest())
	other := h.begin(h.tier(2))
	h.stripe.PayLater(other.SessionID)
	h.deliver(h.newest())
	h.ahead = time.Hour
	h.exec(`UPDATE checkouts SET next_at = 0`)
	h.exec(`UPDATE ledger_sales SET fee_look_at = 0`)
	before := len(h.stripe.Calls)
	h.work()
	for _, call := range h.stripe.Calls[before:] {
		if call != "GET /v1/events" {
			t.Errorf("%s, although it came by itself", call)
		}
	}
}

// TestPrune: events are deleted when Stripe no longer lists them.
func TestPrune(t *testing.T) {
	h := newHarness(t)
	h.stop()
	for id, age := range map[string]time.Duration{"old": 31*24*time.Hour + time.Second, "kept": 31 * 24 * time.Hour} {
		h.exec(`INSERT INTO payment_events (provider_id, created_at) VALUES ($1, $2)`, id, h.now().Add(-age))
	}
	if n, err := prune.Rows(t.Context(), h.book.DB, h.book.Now(), payment.Expiring()); err != nil || n != 1 || h.count(`SELECT count(*) FROM payment_events WHERE provider_id = 'kept'`) != 1 {
		t.Errorf("%d were forgotten, %v", n, err)
	}
}

// TestRun: the job runs at start, when woken, and again while there is more.
func TestRun(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	id := h.stripe.Dispute(c.SessionID, "needs_response")
	for range 149 {
		h.stripe.SetDispute(id, "under_review")
	}
	ran := make(chan error)
	h.job.Ran = func(_ context.Context, _ time.Duration, err error) { ran <- err }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		h.job.Run(ctx)
		close(ended)
	}()
	for range 2 { // one for each page of events
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
	if n := h.noted(); n != 150 {
		t.Errorf("%d events are noted", n)
	}
	h.stripe.Broken = func() bool { return true }
	if _, err := h.book.AskRefund(ctx, tester, h.checkout(c), payment.Ask{}); err != nil {
		t.Fatal(err)
	}
	h.job.Wake()
	if err := <-ran; err == nil {
		t.Error("an outage is no error of the job")
	}
	h.job.Wake()
	<-ran // now the error of the run before is logged
	stop()
	for {
		select {
		case <-ran: // of another Wake
			continue
		case <-ended:
		}
		break
	}
	if !strings.Contains(h.log.String(), "could not all be looked up") {
		t.Errorf("logged %s", h.log.String())
	}
}

// TestNoDatabase: every reader reports a lost database.
func TestNoDatabase(t *testing.T) {
	h := newHarness(t)
	c := h.sold()
	sold := h.checkout(c)
	db, err := sqldb.Open(t.Context(), h.at, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	b := bookOn(db, box, h.now, h.stripe.URL, &h.log)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	order := license.RefundOrder{LicenseKey: h.licensesOf(c)[0].Key}
	for name, do := range map[string]func() error{
		"begin":        func() error { _, err := b.Begin(ctx, h.order()); return err },
		"receive":      func() error { return h.receive()(b) },
		"by ref":       func() error { _, err := b.ByRef(ctx, c.Ref); return err },
		"of purchases": func() error { _, err := b.OfPurchases(ctx, []int64{1}); return err },
		"paid here":    func() error { _, err := b.PaidHere(ctx, order); return err },
		"ask":          func() error { _, _, err := b.AskRefunds(ctx, tester, order, "x"); return err },
		"ask one":      func() error { _, err := b.AskRefund(ctx, tester, sold, payment.Ask{}); return err },
		"refund":       func() error { _, err := b.RefundProblem(ctx, tester, 1); return err },
		"refund by id": func() error { _, err := b.RefundByID(ctx, 1); return err },
		"facts":        func() error { _, _, err := b.Facts(ctx, []int64{1}); return err },
		"problems":     func() error { _, err := b.Problems(ctx); return err },
		"problem":      func() error { _, err := b.Problem(ctx, 1); return err },
		"dismiss":      func() error { return b.Dismiss(ctx, tester, 1) },
		"depth":        func() error { _, err := payment.ReadDepth(ctx, db, time.Now()); return err },
		"rule":         func() error { _, err := b.PlanRuleOf(ctx, 1); return err },
		"set rule":     func() error { return b.SetPlanRule(ctx, tester, 1, payment.FullPrice) },
		"prune":        func() error { _, err := prune.Rows(ctx, b.DB, b.Now(), payment.Expiring()); return err },
	} {
		if err := do(); err == nil || len(code(err)) < 20 { // a fault would have a short code
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = payment.NewJob(b).Once(ctx)
	for _, says := range []string{"unfinished checkouts", "refunds under way", "open disputes", "how far events", "objects to look up"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the job does not say that it could not find %s: %v", says, err)
		}
	}
	if _, err := b.Look(ctx, sold); err != nil {
		t.Errorf("a sold one is not looked up: %v", err)
	}
}
