package payment_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/refundrequest"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

const webhookSecret = "whsec_test"

var tester = audit.System("test")

// harness is a book with a fake Stripe. The test delivers its events.
type harness struct {
	testing.TB
	at       string // path of the database
	db       *sqldb.DB
	book     *payment.Store
	job      *payment.Job
	stripe   *fakestripe.Server
	licenses *license.Store
	partners *partner.Store
	partner  int64
	buyer    account.User
	ahead    time.Duration // offset of the clock
	broken   bool          // the test drops tables
	stopped  time.Time     // the stopped clock's time without ahead; zero: it runs
	log      strings.Builder
}

func (h *harness) now() time.Time {
	if !h.stopped.IsZero() {
		return h.stopped.Add(h.ahead)
	}
	return time.Now().UTC().Truncate(time.Microsecond).Add(h.ahead)
}

// stop stops the clock, so that only ahead moves it.
func (h *harness) stop() { h.stopped = time.Now().UTC().Truncate(time.Second) }

func newHarness(t testing.TB) *harness {
	t.Helper()
	h := &harness{TB: t, at: sqldbtest.URL(t), stripe: &fakestripe.Server{Secret: webhookSecret}}
	h.db = sqldbtest.OpenWith(t, h.at, sqldb.Options{})
	h.stripe.Now = func() int64 { return h.now().Unix() }
	server := httptest.NewServer(h.stripe)
	t.Cleanup(server.Close)
	h.stripe.URL = server.URL
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	h.partners = &partner.Store{DB: h.db, Sealer: box, Now: h.now}
	h.book = bookOn(h.db, box, h.now, server.URL, &h.log)
	h.licenses, h.job = h.book.Licenses, payment.NewJob(h.book)
	h.partner = h.newPartner()
	h.buyer, _, err = (&account.Store{DB: h.db, Now: h.now}).Create(t.Context(), tester, account.Person{Email: "ann@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.verifyLedger(context.WithoutCancel(t.Context())) })
	return h
}

// bookOn returns a book that uses the fake Stripe at an address.
func bookOn(db *sqldb.DB, box *secret.Sealer, now func() time.Time, stripe string, log io.Writer) *payment.Store {
	b := &payment.Store{
		DB: db, Now: now, Sealer: box, Licenses: &license.Store{DB: db, Now: now, Gather: &license.Gatherer{}}, PublicURL: "https://shop.example", Mail: &mail.Outbox{Sealer: box}, Log: slog.New(slog.NewTextHandler(log, nil)),
		Stripe: payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_old", webhookSecret}, URL: stripe}),
	}
	b.Requests = &refundrequest.Store{DB: db, Now: now, Mail: &mail.Outbox{Sealer: box}, PublicURL: b.PublicURL, Marketplace: "Acme"}
	b.Licenses.Record = b.Record
	b.Licenses.OnUncovered = b.Uncovered
	return b
}

// accountsOn returns a store of accounts that mails guests.
func accountsOn(db *sqldb.DB, box *secret.Sealer, now func() time.Time) *account.Store {
	return &account.Store{
		DB: db, Now: now, Sealer: box, PublicURL: "https://shop.example", Marketplace: "Acme",
		Mail: &mail.Outbox{Sealer: box},
	}
}

func (h *harness) newPartner() int64 {
	h.Helper()
	var p partner.Partner
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) (err error) {
		p, _, err = h.partners.Create(h.Context(), tx, tester, partner.Draft{Name: "App"}, partner.Credentials{})
		return err
	})
	for tier := 1; tier <= 2 && err == nil; tier++ {
		_, _, err = h.partners.PutPlan(h.Context(), tester, p.ID, partner.Plan{Tier: tier, Name: fmt.Sprint("Tier ", tier), PriceCents: int64(tier) * 5900, Currency: "USD"})
	}
	if err != nil {
		h.Fatal(err)
	}
	return p.ID
}

func (h *harness) order() payment.Order {
	return payment.Order{
		PartnerID: h.partner, Partner: "App", Tier: 1, PlanName: "Tier 1", Amount: 5900, Currency: "USD", UserID: h.buyer.ID, CancelPath: "/products/1",
	}
}

func (h *harness) begin(o payment.Order) payment.Checkout {
	h.Helper()
	c, err := h.book.Begin(h.Context(), o)
	if err != nil {
		h.Fatal(err)
	}
	return c
}

// deliver posts events to the book.
func (h *harness) deliver(events ...fakestripe.Event) {
	h.Helper()
	for _, e := range events {
		if err := h.book.Receive(h.Context(), e.Body, h.stripe.Sign(e.Body)); err != nil {
			h.Fatalf("%s: %v", e.Type, err)
		}
	}
}

// work runs the job until it writes nothing.
func (h *harness) work() {
	h.Helper()
	for range 5 {
		before, _ := h.db.Counts()
		if _, err := h.job.Once(h.Context()); err != nil {
			h.Fatal(err)
		}
		if after, _ := h.db.Counts(); after == before {
			return
		}
	}
}

func (h *harness) checkout(c payment.Checkout) payment.Checkout {
	h.Helper()
	now, err := h.book.ByRef(h.Context(), c.Ref)
	if err != nil {
		h.Fatal(err)
	}
	return now
}

// licensesOf returns the licenses of a sold checkout.
func (h *harness) licensesOf(c payment.Checkout) []license.License {
	h.Helper()
	list, err := h.licenses.OfSale(h.Context(), h.checkout(c).PurchaseID)
	if err != nil {
		h.Fatal(err)
	}
	return list
}

func (h *harness) count(sql string, args ...any) int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.db, sqldb.Value[int64], sql, args...)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// exec runs a statement.
func (h *harness) exec(sql string, args ...any) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(sql, args...)
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
}

// problems returns the kinds of the open problems.
func (h *harness) problems() []payment.ProblemKind {
	h.Helper()
	var kinds []payment.ProblemKind
	err := h.db.Read(h.Context(), func(tx *sqldb.Tx) error {
		kinds = nil
		list, err := payment.QueueProblems(tx, 100).All(h.Context())
		for _, p := range list {
			kinds = append(kinds, p.Kind)
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return kinds
}

// want compares the state of a checkout, and the status and hold of its license, if any.
func (h *harness) want(name string, c payment.Checkout, state payment.State, status event.Status, held bool) {
	h.Helper()
	now, list := h.checkout(c), h.licensesOf(c)
	if now.State != state {
		h.Errorf("%s: the checkout is %s, want %s", name, now.State, state)
	}
	if status == 0 {
		if len(list) != 0 {
			h.Errorf("%s: sold %d licenses", name, len(list))
		}
		return
	}
	if len(list) != 1 || list[0].Status != status || (list[0].Held != 0) != held {
		h.Errorf("%s: licenses %+v, want one that is %s, held %t", name, list, status, held)
	}
}

func code(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return fmt.Sprint(err)
}
