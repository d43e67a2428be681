package payment_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// killChild is an environment variable for a child: this program, which does the act of a mortal, and
// kills itself before a statement.
const killChild = "CLAVIGER_PAYMENT_CHILD"

// mortal is the task of a child.
type mortal struct {
	DB, Stripe      string
	Ahead           time.Duration
	Statement       int64  // the child dies before it; with fewer statements it survives
	Body, Signature string // of an event
	Request         int64  // the refund request that is granted; with neither, the job runs
}

func TestMain(m *testing.M) {
	if text := os.Getenv(killChild); text != "" {
		if err := act(context.Background(), text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(ctx context.Context, text string) error {
	var m mortal
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err
	}
	var statements atomic.Int64
	db, err := sqldb.Open(ctx, m.DB, sqldb.Options{Cut: func(string) error {
		if statements.Add(1) == m.Statement {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
		return nil
	}})
	if err != nil {
		return err
	}
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		return err
	}
	now := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond).Add(m.Ahead) }
	b := bookOn(db, box, now, m.Stripe, os.Stderr)
	b.Accounts = accountsOn(db, box, now)
	switch {
	case m.Body != "":
		err = b.Receive(ctx, []byte(m.Body), m.Signature)
	case m.Request != 0:
		_, err = b.GrantRequest(ctx, tester, m.Request)
	default:
		_, err = payment.NewJob(b).Once(ctx)
	}
	return errors.Join(err, db.Close())
}

// dies runs a child and reports whether it was killed.
func (h *harness) dies(m mortal) bool {
	h.Helper()
	m.DB, m.Stripe, m.Ahead = h.at, h.stripe.URL, h.ahead
	text, err := json.Marshal(m)
	if err != nil {
		h.Fatal(err)
	}
	child := exec.CommandContext(h.Context(), os.Args[0]) //nolint:gosec // this program
	child.Env = append(os.Environ(), killChild+"="+string(text))
	out, err := child.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signal() == syscall.SIGKILL {
			return true
		}
	}
	if err != nil {
		h.Fatalf("a child ended: %v\n%s", err, out)
	}
	return false
}

// TestKilled: a process is killed before each statement of a sale, a refund or a dispute. The next
// job reaches the same state, and nothing happens twice.
func TestKilled(t *testing.T) {
	type setUp func(h *harness, c payment.Checkout) mortal
	last := func(h *harness) mortal {
		events := h.stripe.Events()
		e := events[len(events)-1]
		return mortal{Body: string(e.Body), Signature: h.stripe.Sign(e.Body)}
	}
	sold := func(h *harness, c payment.Checkout) {
		h.stripe.Pay(c.SessionID)
		h.deliver(h.stripe.Events()[len(h.stripe.Events())-1])
	}
	for name, of := range map[string]struct {
		prepare setUp
		status  event.Status
		held    bool
	}{
		"the webhook of a payment": {func(h *harness, c payment.Checkout) mortal {
			h.stripe.Pay(c.SessionID)
			return last(h)
		}, event.Inactive, false},
		"the job that finds a payment": {func(h *harness, c payment.Checkout) mortal {
			h.stripe.Pay(c.SessionID)
			h.ahead += 2 * time.Minute
			return mortal{}
		}, event.Inactive, false},
		"the webhook of a refund": {func(h *harness, c payment.Checkout) mortal {
			sold(h, c)
			h.stripe.RefundAll(c.SessionID)
			return last(h)
		}, event.Deactivated, false},
		"the job that sends a refund": {func(h *harness, c payment.Checkout) mortal {
			sold(h, c)
			if _, err := h.book.AskRefund(h.Context(), tester, h.checkout(c), payment.Ask{}); err != nil {
				h.Fatal(err)
			}
			return mortal{}
		}, event.Deactivated, false},
		"the job that posts a fee": {func(h *harness, c payment.Checkout) mortal {
			sold(h, c)
			return mortal{}
		}, event.Inactive, false},
		"the job that looks up a dispute": {func(h *harness, c payment.Checkout) mortal {
			sold(h, c)
			h.stripe.Dispute(c.SessionID, "needs_response")
			e := last(h)
			h.deliver(fakestripe.Event{Body: []byte(e.Body)})
			return mortal{}
		}, event.Deactivated, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.work() // a new service has already listed events once
			for n := int64(1); ; n++ {
				o := h.order()
				o.PartnerID = h.newPartner()
				c := h.begin(o)
				m := of.prepare(h, c)
				m.Statement = n
				killed := h.dies(m)
				h.ahead += 12 * time.Hour
				h.work()
				h.want(fmt.Sprintf("killed at statement %d", n), c, payment.Sold, of.status, of.held)
				h.soldOnce(c)
				if !killed {
					t.Logf("%d statements", n-1)
					if n < 5 {
						t.Errorf("there were %d statements to be killed at", n-1)
					}
					return
				}
			}
		})
	}
}

// soldOnce checks that a checkout was sold once and refunded at most once.
func (h *harness) soldOnce(c payment.Checkout) {
	h.Helper()
	if n := h.count(`SELECT count(*) FROM purchases WHERE partner_id = $1`, c.PartnerID); n != 1 {
		h.Errorf("%d purchases", n)
	}
	if n := h.count(`SELECT count(*) FROM refunds WHERE partner_id = $1`, c.PartnerID); n > 1 {
		h.Errorf("%d refunds of licenses", n)
	}
	if n := h.count(`SELECT count(*) FROM ledger_fees AS f JOIN ledger_sales AS s ON s.purchase_id = f.purchase_id
		WHERE s.partner_id = $1 AND f.dispute = FALSE`, c.PartnerID); n != 1 {
		h.Errorf("%d fees of the payment", n)
	}
	if list := of(h.stripe, c.SessionID, "re"); len(list) > 1 {
		h.Errorf("%d refunds at Stripe: %v", len(list), list)
	}
	if kinds := h.problems(); len(kinds) != 0 {
		h.Errorf("it needs a person: %v", kinds)
	}
}
