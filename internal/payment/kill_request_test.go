package payment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/payment"
)

// TestGrantKilled: a process is killed before each statement of a granted refund request, or of the
// job that refunds it. The operator presses the button again and the next job runs: Stripe refunds the
// payment once, and the buyer gets each email once.
func TestGrantKilled(t *testing.T) {
	for name, grants := range map[string]bool{"the operator's request": true, "the job": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.work()
			for n, killed := int64(1), true; killed; n++ {
				h.partner = h.newPartner()
				h.refundDays(14)
				c := h.soldAs(h.order())
				r := h.requested(h.licensesOf(c)[0])
				m := mortal{Statement: n}
				if grants {
					m.Request = r.ID
				} else {
					h.granted(r.ID)
				}
				before := len(h.requestMails())
				killed = h.dies(m)
				if h.requestState(r.ID) == "requested $59.00" {
					h.granted(r.ID)
				}
				h.ahead += 12 * time.Hour
				h.work()
				h.want("granted", c, payment.Sold, event.Deactivated, false)
				h.soldOnce(c)
				if got := h.requestState(r.ID); got != "refunded $59.00" {
					t.Errorf("killed at statement %d: the request is %s", n, got)
				}
				want := []string{"ann@example.com: We refunded $59.00 for App"}
				if diff := cmp.Diff(want, h.requestMails()[before:]); diff != "" {
					t.Errorf("killed at statement %d: emails (-want +got)\n%s", n, diff)
				}
				if !killed && n < 5 {
					t.Errorf("only %d statements to be killed at", n-1)
				}
			}
		})
	}
}

// granted grants a refund request.
func (h *harness) granted(id int64) {
	h.Helper()
	if _, err := h.book.GrantRequest(h.Context(), tester, id); err != nil {
		h.Fatal(err)
	}
}

// TestGuestKilled: a process is killed before each statement of the job that sells to a guest and mails
// the receipt. The next job finishes it, and the guest has one email and one link.
func TestGuestKilled(t *testing.T) {
	h := newHarness(t)
	h.book.Accounts = accountsOn(h.db, h.book.Sealer, h.now)
	h.work()
	for n, killed := int64(1), true; killed; n++ {
		o := h.order()
		o.PartnerID = h.newPartner()
		guest, err := h.book.Accounts.StartGuest(t.Context(), account.GuestOrder{
			Email: "new@example.com", Browser: "browser", PartnerID: o.PartnerID, Tier: o.Tier,
		})
		if err != nil {
			t.Fatal(err)
		}
		o.UserID = guest.ID
		c := h.begin(o)
		h.stripe.Pay(c.SessionID)
		h.ahead += 2 * time.Minute
		before := len(h.requestMails())
		killed = h.dies(mortal{Statement: n})
		h.ahead += 12 * time.Hour
		h.work()
		h.want("sold to a guest", c, payment.Sold, event.Inactive, false)
		h.soldOnce(c)
		want := []string{"new@example.com: Your license for App, Tier 1"}
		if diff := cmp.Diff(want, h.requestMails()[before:]); diff != "" {
			t.Errorf("killed at statement %d: emails (-want +got)\n%s", n, diff)
		}
		if links := h.count(`SELECT count(*) FROM guest_links WHERE user_id = $1`, guest.ID); links != 1 {
			t.Errorf("killed at statement %d: %d links", n, links)
		}
		if !killed && n < 10 {
			t.Errorf("only %d statements to be killed at", n-1)
		}
	}
}
