package payment_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/sqldb"
)

// kill is the point at which a process dies: before a statement caused by an act at Stripe. The
// zero value is never.
type kill struct {
	act       string // of acts
	job       bool   // the job after the webhook dies instead of the webhook
	statement int64
}

// TestDisputeKilled: a process is killed before each statement that a dispute event causes, in its
// webhook or in the job after it. Repeats of the event and the next job reach the same state as
// without a kill, and nothing happens twice.
func TestDisputeKilled(t *testing.T) {
	type steps []struct {
		act    string // of acts
		silent bool   // its webhook never comes
		held   bool   // the license is on hold after it
	}
	for name, steps := range map[string]steps{
		"opened, then lost": {{act: "dispute", held: true}, {act: "lose"}},
		"heard of as lost":  {{act: "dispute", silent: true}, {act: "lose"}},
	} {
		for _, repeats := range []int{0, 2} { // without repeats the next job must finish the work
			t.Run(fmt.Sprintf("%s, %d repeats", name, repeats), func(t *testing.T) {
				t.Parallel()
				h := newHarness(t)
				h.work() // a new service has already listed events once
				run := func(k kill) (killed bool, after []string) {
					c := h.sold()
					for _, s := range steps {
						acts[s.act](h.stripe, c.SessionID)
						if s.silent {
							continue
						}
						killed = h.hear(s.act, k, repeats) || killed
						h.want(fmt.Sprintf("%+v, after %s", k, s.act), c, payment.Sold, event.Deactivated, s.held)
						h.soldOnce(c)
						after = append(after, h.story(c)...)
					}
					return killed, after
				}
				_, want := run(kill{})
				for _, s := range steps {
					if s.silent {
						continue
					}
					for _, job := range []bool{false, true} {
						n := int64(0)
						for killed := true; killed; {
							n++
							k := kill{s.act, job, n}
							var got []string
							killed, got = run(k)
							if diff := cmp.Diff(want, got); diff != "" {
								t.Errorf("%+v (-without +with)\n%s", k, diff)
							}
						}
						if t.Logf("%s, job %t: %d statements", s.act, job, n-1); n < 5 {
							t.Errorf("%s, job %t: only %d statements to be killed at", s.act, job, n-1)
						}
					}
				}
				t.Logf("in the end: %q", want)
			})
		}
	}
}

// sold sells a license of a new partner.
func (h *harness) sold() payment.Checkout {
	h.Helper()
	o := h.order()
	o.PartnerID = h.newPartner()
	c := h.begin(o)
	h.stripe.Pay(c.SessionID)
	h.deliver(h.newest())
	return c
}

// newest returns the last event.
func (h *harness) newest() fakestripe.Event {
	events := h.stripe.Events()
	return events[len(events)-1]
}

// hear receives the newest event in one process and runs the job in another; one of them may be
// killed. Then the event is repeated, and the next process runs its job.
func (h *harness) hear(act string, k kill, repeats int) (killed bool) {
	h.Helper()
	e := h.newest()
	if act == k.act && !k.job {
		killed = h.dies(mortal{Body: string(e.Body), Signature: h.stripe.Sign(e.Body), Statement: k.statement})
	} else {
		h.deliver(e)
	}
	if act == k.act && k.job {
		killed = h.dies(mortal{Statement: k.statement})
	}
	for range repeats {
		h.deliver(e)
	}
	h.ahead += 12 * time.Hour
	h.work()
	return killed
}

// story returns the events of a checkout's license, without times and ids.
func (h *harness) story(c payment.Checkout) []string {
	h.Helper()
	c = h.checkout(c)
	list, err := sqldb.All(h.Context(), h.db, sqldb.Value[string], `
		SELECT 'event ' || reason FROM (SELECT reason FROM events WHERE partner_id = $1 ORDER BY ord) AS e
		UNION ALL SELECT 'status ' || status || ', held ' || held FROM licenses WHERE partner_id = $1
		UNION ALL SELECT 'hold ' || reason FROM license_holds WHERE license_id IN (SELECT id FROM licenses WHERE partner_id = $1)
		UNION ALL SELECT 'refund, reversed ' || reversed_at FROM refunds WHERE partner_id = $1
		UNION ALL SELECT 'dispute ' || status || ', held ' || held FROM payment_disputes WHERE checkout_id = $2
		UNION ALL SELECT 'to be looked up' FROM payment_lookups`, c.PartnerID, c.ID)
	if err != nil {
		h.Fatal(err)
	}
	return list
}
