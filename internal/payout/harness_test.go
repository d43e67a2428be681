package payout_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/accounting"
	"claviger/internal/audit"
	"claviger/internal/idempotency"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/payout"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var tester = audit.System("test")

// harness has partners with shares of 70 %, at a time that the test sets.
type harness struct {
	testing.TB
	db       *sqldb.DB
	at       time.Time
	licenses *license.Store
	books    *accounting.Store
	payouts  *payout.Store
	partners []int64
	admin    account.User // of each partner
	keys     int
}

func newHarness(t testing.TB, o sqldb.Options, partners int) *harness {
	t.Helper()
	h := &harness{TB: t, db: sqldbtest.OpenWith(t, sqldbtest.URL(t), o), at: time.Now().UTC().Truncate(time.Hour)}
	now := func() time.Time { return h.at }
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	defaults := ledger.Defaults{Set: true, ShareBP: 7000}
	h.licenses = &license.Store{DB: h.db, Now: now, Defaults: defaults}
	h.books = &accounting.Store{
		DB: h.db, Now: now, Licenses: h.licenses, Defaults: defaults, Log: slog.New(slog.DiscardHandler),
		Payments: &payment.Store{DB: h.db, Now: now, Licenses: h.licenses, Sealer: box},
	}
	h.payouts = &payout.Store{
		DB: h.db, Now: now, Sealer: box, Books: h.books, Defaults: defaults, Mail: &mail.Outbox{Sealer: box},
		PublicURL: "https://shop.example", Marketplace: "Market",
	}
	if h.admin, _, err = (&account.Store{DB: h.db, Now: now}).Create(
		t.Context(), tester, account.Person{Email: "admin@app.example"}); err != nil {
		t.Fatal(err)
	}
	for i := range partners {
		h.partners = append(h.partners, h.newPartner(fmt.Sprint("App ", i+1), box))
	}
	return h
}

func (h *harness) newPartner(name string, box *secret.Sealer) int64 {
	h.Helper()
	store := &partner.Store{DB: h.db, Sealer: box, Now: h.payouts.Now}
	var p partner.Partner
	err := h.db.Write(h.Context(), func(tx *sqldb.Tx) (err error) {
		p, _, err = store.Create(h.Context(), tx, tester, partner.Draft{Name: name}, partner.Credentials{})
		return err
	})
	if err == nil {
		_, _, err = store.PutPlan(h.Context(), tester, p.ID, partner.Plan{
			Tier: 1, Name: "One", PriceCents: 10_000, Currency: "USD",
		})
	}
	if err == nil {
		_, err = store.AddMember(h.Context(), tester, p.ID, h.admin.ID, partner.Admin)
	}
	if err != nil {
		h.Fatal(err)
	}
	return p.ID
}

// details enters bank details for a partner, old enough for a run.
func (h *harness) details(partnerID int64, text string) {
	h.Helper()
	if _, err := h.payouts.SetDetails(h.Context(), tester, partnerID, h.admin, text); err != nil {
		h.Fatal(err)
	}
	h.at = h.at.Add(payout.DetailsRest)
}

// earn sells licenses; the share of 70 % is payable then.
func (h *harness) earn(partnerID, amount int64, currency string) license.Sale {
	h.Helper()
	sale, err := h.licenses.Purchase(h.Context(), tester, license.Purchase{
		PartnerID: partnerID, Tier: 1, Quantity: 1, AmountCents: amount, Currency: currency,
	})
	if err != nil {
		h.Fatal(err)
	}
	h.at = h.at.Add(time.Second)
	for n := 1; n > 0; {
		if n, err = h.books.MakePayable(context.WithoutCancel(h.Context())); err != nil {
			h.Fatal(err)
		}
	}
	return sale
}

func (h *harness) refund(sale license.Sale) {
	h.Helper()
	_, err := h.licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: sale.Licenses[0].Key})
	if err != nil {
		h.Fatal(err)
	}
}

// order returns an order with a new key.
func (h *harness) order(currency string, partners ...int64) payout.Order {
	h.keys++
	return payout.Order{
		Currency: currency, Partners: partners,
		Idempotency: idempotency.Request{Scope: "test", Key: fmt.Sprint("order-", h.keys), Body: currency},
	}
}

func (h *harness) prepare(currency string, partners ...int64) payout.Run {
	h.Helper()
	run, err := h.payouts.Prepare(h.Context(), tester, h.order(currency, partners...))
	if err != nil {
		h.Fatal(err)
	}
	return run
}

func (h *harness) settle(s payout.Settlement) payout.Run {
	h.Helper()
	run, err := h.payouts.Settle(h.Context(), tester, s)
	if err != nil {
		h.Fatal(err)
	}
	return run
}

// balance returns the amounts of a partner that are payable, in a run, and paid.
func (h *harness) balance(partnerID int64, currency string) (amounts [3]int64) {
	h.Helper()
	err := h.db.Read(h.Context(), func(tx *sqldb.Tx) error {
		list, err := ledger.Balances(h.Context(), tx, partnerID)
		if err != nil {
			return err
		}
		for _, b := range list {
			for i, a := range []ledger.Account{ledger.Payable, ledger.InPayout, ledger.Paid} {
				if b.Account == a && b.Currency == currency {
					amounts[i] = -b.Amount
				}
			}
		}
		mistakes, err := ledger.Check(h.Context(), tx, partnerID)
		for _, m := range mistakes {
			h.Error(m)
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return amounts
}

// want compares the balance of a partner in dollars.
func (h *harness) want(name string, partnerID, payable, inPayout, paid int64) {
	h.Helper()
	if got := h.balance(partnerID, "USD"); got != [3]int64{payable, inPayout, paid} {
		h.Errorf("%s: partner %d has %d payable, %d in a run, %d paid; want %d, %d, %d",
			name, partnerID, got[0], got[1], got[2], payable, inPayout, paid)
	}
}
