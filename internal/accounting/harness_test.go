package accounting_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/accounting"
	"claviger/internal/audit"
	"claviger/internal/ledger"
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

var tester = audit.System("test")

// harness has a ledger with sales of one partner, at a time that the test sets.
type harness struct {
	testing.TB
	db       *sqldb.DB
	at       time.Time
	stripe   *fakestripe.Server
	licenses *license.Store
	payments *payment.Store
	books    *accounting.Store
	partner  int64
	buyer    int64
}

func newHarness(t testing.TB, o sqldb.Options) *harness {
	t.Helper()
	h := &harness{
		TB: t, db: sqldbtest.OpenWith(t, sqldbtest.URL(t), o), at: time.Now().UTC().Truncate(time.Hour),
		stripe: &fakestripe.Server{Secret: "whsec_test"},
	}
	now := func() time.Time {
		h.at = h.at.Add(time.Millisecond)
		return h.at
	}
	server := httptest.NewServer(h.stripe)
	t.Cleanup(server.Close)
	h.stripe.URL = server.URL
	h.stripe.Now = func() int64 { return h.at.Unix() }
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	h.licenses = &license.Store{DB: h.db, Now: now}
	h.payments = &payment.Store{
		DB: h.db, Now: now, Sealer: box, Licenses: h.licenses, PublicURL: "https://shop.example", Mail: &mail.Outbox{Sealer: box},
		Stripe:   payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL}),
		Requests: &refundrequest.Store{DB: h.db, Now: now, Mail: &mail.Outbox{Sealer: box}, PublicURL: "https://shop.example"},
		Log:      slog.New(slog.DiscardHandler),
	}
	h.licenses.Record = h.payments.Record
	h.licenses.OnUncovered = h.payments.Uncovered
	h.books = &accounting.Store{DB: h.db, Now: now, Licenses: h.licenses, Payments: h.payments, Log: h.payments.Log}
	partners := &partner.Store{DB: h.db, Sealer: box, Now: now}
	var p partner.Partner
	err = h.db.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
		p, _, err = partners.Create(t.Context(), tx, tester, partner.Draft{Name: "App"}, partner.Credentials{})
		return err
	})
	for tier := 1; tier <= 2 && err == nil; tier++ {
		_, _, err = partners.PutPlan(t.Context(), tester, p.ID, partner.Plan{
			Tier: tier, Name: fmt.Sprint("Tier ", tier), PriceCents: int64(tier) * 5900, Currency: "USD",
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.partner = p.ID
	u, _, err := (&account.Store{DB: h.db, Now: now}).Create(t.Context(), tester, account.Person{Email: "ann@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	h.buyer = u.ID
	return h
}

func (h *harness) exec(statements ...string) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		for _, sql := range statements {
			tx.Queue(sql)
		}
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) count(sql string) int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.db, sqldb.Value[int64], sql)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// sell sells licenses by the operator API.
func (h *harness) sell(p license.Purchase) license.Sale {
	h.Helper()
	p.PartnerID = h.partner
	p.Tier = max(p.Tier, 1)
	p.Quantity = max(p.Quantity, 1)
	sale, err := h.licenses.Purchase(h.Context(), tester, p)
	if err != nil {
		h.Fatal(err)
	}
	return sale
}

// pay sells a license at Stripe.
func (h *harness) pay() payment.Checkout {
	h.Helper()
	c, err := h.payments.Begin(h.Context(), payment.Order{
		PartnerID: h.partner, Partner: "App", Tier: 1, PlanName: "Tier 1", Amount: 5900, Currency: "USD", UserID: h.buyer, CancelPath: "/",
	})
	if err != nil {
		h.Fatal(err)
	}
	h.stripe.Pay(c.SessionID)
	h.hear()
	if c, err = h.payments.ByRef(h.Context(), c.Ref); err != nil || c.PurchaseID == 0 {
		h.Fatalf("%+v %v", c, err)
	}
	return c
}

// hear receives the newest event of Stripe.
func (h *harness) hear() {
	h.Helper()
	events := h.stripe.Events()
	e := events[len(events)-1]
	if err := h.payments.Receive(h.Context(), e.Body, h.stripe.Sign(e.Body)); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) refund(l license.License) license.Refund {
	h.Helper()
	f, err := h.licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: l.Key})
	if err != nil {
		h.Fatal(err)
	}
	return f
}

// upgrade makes the database as the previous release leaves it, and begins the ledger.
func (h *harness) upgrade() {
	h.Helper()
	h.exec(`DELETE FROM ledger_postings`, `DELETE FROM ledger_sales`, `DELETE FROM ledger_facts`, `DELETE FROM ledger_fees`,
		`DELETE FROM ledger_balances`, `UPDATE purchases SET posted = FALSE, collected_by = ''`, `UPDATE refunds SET posted_at = 0`,
		`UPDATE payment_refunds SET posted_at = 0`, `UPDATE payment_disputes SET posted_at = 0`)
	h.at = h.at.Add(24 * time.Hour)
	if err := ledger.Begin(h.Context(), h.db, h.at); err != nil {
		h.Fatal(err)
	}
	h.at = h.at.Add(24 * time.Hour)
}

// run runs the job until nothing is left to do.
func (h *harness) run() {
	h.Helper()
	for more := true; more; {
		var err error
		if more, err = h.once(); err != nil {
			h.Fatal(err)
		}
	}
}

func (h *harness) once() (bool, error) {
	return (&accounting.Job{Store: h.books}).Once(context.WithoutCancel(h.Context()))
}

// addTerms gives the partner 70 % of the price, payable after days.
func (h *harness) addTerms(days int) {
	h.Helper()
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) error {
		journal := ledger.New(tx, h.partner, h.at)
		if err := journal.AddTerms(ledger.Terms{ShareBP: 7000, Bears: ledger.MarketplaceBears, Days: days}); err != nil {
			return err
		}
		return journal.Save()
	})
	if err != nil {
		h.Fatal(err)
	}
}

// money maps accounts to amounts.
type money map[ledger.Account]int64

// want compares the balances in a currency, and checks the ledger.
func (h *harness) want(name, currency string, want money) {
	h.Helper()
	got := money{}
	err := h.db.Read(h.Context(), func(tx *sqldb.Tx) error {
		list, err := ledger.Balances(h.Context(), tx, h.partner)
		if err != nil {
			return err
		}
		for _, b := range list {
			if b.Currency == currency {
				got[b.Account] = b.Amount
			}
		}
		mistakes, err := ledger.Check(h.Context(), tx, h.partner)
		for _, m := range mistakes {
			h.Error(m)
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("%s, %s (-want +got)\n%s", name, currency, diff)
	}
}
