package license_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/idempotency"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestUnknownLicense: every command refuses a license that does not exist, by the same code.
func TestUnknownLicense(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	h.partner()
	user := h.user("ann").ID
	r := h.licenses
	const none = "00000000-0000-4000-8000-000000000000"
	for name, err := range map[string]error{
		"redeem":      errOf(r.Redeem(ctx, tester, none, user)),
		"disconnect":  errOf(r.Disconnect(ctx, tester, none, user)),
		"activate":    errOf(r.Activate(ctx, tester, none, new(person("ann")))),
		"release":     errOf(r.Release(ctx, tester, none)),
		"transfer":    errOf(r.Transfer(ctx, tester, none, person("ann"))),
		"hold":        errOf(r.Hold(ctx, tester, none, license.HoldOther)),
		"hold new":    errOf(r.HoldNew(ctx, tester, none, license.HoldOther)),
		"reinstate":   errOf(r.Reinstate(ctx, tester, none)),
		"lift a hold": errOf(r.LiftHold(ctx, tester, none)),
		"change plan": errOf(r.ChangePlan(ctx, tester, none, license.PlanChange{Tier: 2})),
		"refund":      errOf(r.Refund(ctx, tester, license.RefundOrder{LicenseKey: none})),
		"name":        errOf(r.Named(ctx, license.RefundOrder{LicenseKey: none})),
	} {
		if code(err) != license.CodeUnknownLicense {
			t.Errorf("%s: %v", name, err)
		}
	}
	ofNobody := license.RefundOrder{PartnerID: 99, PurchaseExternalID: "base"}
	if err := errOf(r.Refund(ctx, tester, ofNobody)); code(err) != "unknown_partner" {
		t.Errorf("refund of an unknown partner: %v", err)
	}
	if err := errOf(r.ReverseRefund(ctx, tester, 99)); code(err) != "unknown_refund" {
		t.Errorf("reverse an unknown refund: %v", err)
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestForNobody: a license goes to nobody whom the order does not name clearly. It stays
// with its owner.
func TestForNobody(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	bob := account.Person{Email: "bob@example.com", ExternalID: "bob"}
	if _, _, err := h.accounts.Create(ctx, tester, bob); err != nil {
		t.Fatal(err)
	}
	p := h.partner()
	owned := h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: new(person("ann"))})[0]
	free := h.buy(license.Purchase{PartnerID: p, Tier: 1})[0]
	for name, c := range map[string]struct {
		who  account.Person
		want string
	}{
		"no name":    {account.Person{}, "invalid_field"},
		"two people": {account.Person{Email: "bob@example.com", ExternalID: "cid"}, "user_conflict"},
	} {
		for _, l := range []license.License{owned, free} {
			if err := errOf(h.licenses.Transfer(ctx, tester, l.Key, c.who)); code(err) != c.want {
				t.Errorf("transfer, %s: %v", name, err)
			}
			if err := errOf(h.licenses.Activate(ctx, tester, l.Key, &c.who)); code(err) != c.want {
				t.Errorf("activate, %s: %v", name, err)
			}
			if now := h.license(l.Key); now != l {
				t.Errorf("%s: the license became %+v, was %+v", name, now, l)
			}
		}
		if _, err := h.tryBuy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &c.who}); code(err) != c.want {
			t.Errorf("a purchase, %s: %v", name, err)
		}
	}
	if n := h.count(`SELECT count(*) FROM licenses`); n != 2 {
		t.Errorf("there are %d licenses", n)
	}
}

// TestNothingWithoutTheNews: a command whose news cannot be written changes nothing.
func TestNothingWithoutTheNews(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	order := license.Purchase{PartnerID: p, Tier: 1, ExternalID: "base", Buyer: new(person("ann"))}
	s := &script{harness: h, l: h.buy(order)[0]}
	broken := errors.New("no news")
	tell := func(context.Context, *sqldb.Tx, []license.News) error { return broken }
	rows := func() int64 {
		return h.count(`SELECT (SELECT count(*) FROM purchases) + (SELECT count(*) FROM refunds)
			+ (SELECT count(*) FROM events) + (SELECT count(*) FROM audit_entries)
			+ (SELECT count(*) FROM license_holds)`)
	}
	for _, command := range []string{
		"plan 2 up 100 USD 0 api", "refund-link up", "reverse", "hold", "reinstate", "transfer bob", "refund",
	} {
		before, n := h.license(s.l.Key), rows()
		h.licenses.Tell = tell
		if got, want := s.run(command), "tell the owners of licenses: no news"; got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
		if after := h.license(s.l.Key); after != before || rows() != n {
			t.Errorf("%s: %d rows more, and the license went from %+v to %+v", command, rows()-n, before, after)
		}
		h.licenses.Tell = nil
		if got := s.run(command); got != "" {
			t.Fatal(command, got)
		}
	}
	h.licenses.Tell = tell
	n := rows()
	order.ExternalID = ""
	if _, err := h.tryBuy(order); !errors.Is(err, broken) || rows() != n {
		t.Errorf("a sale: %v, and %d rows more", err, rows()-n)
	}
}

// TestRevokedTokenSellsNothing: an order whose token was not checked again is refused, in the
// transaction of the sale, if the token was revoked meanwhile.
func TestRevokedTokenSellsNothing(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	token, _, err := h.accounts.AddToken(ctx, tester, "checkout", []account.Scope{account.Sell}, time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	order := license.Order{
		Purchase: license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 1},
		By:       audit.Actor{Kind: audit.ByToken, ID: token.ID, Name: token.Name},
		Confirm:  true,
	}
	if _, err := h.licenses.Sell(ctx, order); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.RevokeToken(ctx, tester, token.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Sell(ctx, order); err == nil {
		t.Error("a revoked token sells")
	}
	if n := h.count(`SELECT count(*) FROM licenses`); n != 1 {
		t.Errorf("there are %d licenses", n)
	}
}

// TestThen: what a caller adds to an act is done once, with it or not at all.
func TestThen(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	order := license.Purchase{PartnerID: h.partner(), Tier: 1, Buyer: new(person("ann"))}
	s := &script{harness: h, l: h.buy(order)[0]}
	ann, broken := h.user("ann").ID, errors.New("no more")
	var calls int
	var fail error
	of := func(*sqldb.Tx, license.License) error {
		calls++
		return fail
	}
	ofRefund := func(*sqldb.Tx, license.Refund) error { return of(nil, license.License{}) }
	back := license.RefundOrder{LicenseKey: s.l.Key, Idempotency: idempotency.Request{Scope: "t", Key: "k", Body: "b"}}
	var refund, reversed license.Refund
	var changed int64 // the id of the purchase
	for _, c := range []struct {
		name  string
		calls int // of those that succeed
		act   func() error
	}{
		{"redeem", 2, func() error { return errOf(h.licenses.Redeem(ctx, tester, s.l.RedemptionID, ann, of, of)) }},
		{"hold", 2, func() error { return errOf(h.licenses.HoldNew(ctx, tester, s.l.Key, license.HoldOther, of, of)) }},
		{"lift", 2, func() error { return errOf(h.licenses.LiftHold(ctx, tester, s.l.Key, of, of)) }},
		{"refund", 2, func() (err error) {
			refund, err = h.licenses.Refund(ctx, tester, back, ofRefund, ofRefund)
			return err
		}},
		{"refund again", 0, func() error { return errOf(h.licenses.Refund(ctx, tester, back, ofRefund, ofRefund)) }},
		{"reverse", 1, func() (err error) {
			reversed, err = h.licenses.ReverseNew(ctx, tester, refund.ID, ofRefund)
			return err
		}},
		{"change the plan", 0, func() error {
			change := license.PlanChange{Tier: 2, Then: func(_ *sqldb.Tx, id int64) { changed = id }}
			return errOf(h.licenses.ChangePlan(ctx, tester, s.l.Key, change))
		}},
	} {
		before := h.license(s.l.Key)
		fail = broken
		if c.calls > 0 {
			if err := c.act(); !errors.Is(err, broken) || h.license(s.l.Key) != before {
				t.Errorf("%s: %v, and the license became %+v", c.name, err, h.license(s.l.Key))
			}
		}
		calls, fail = 0, nil
		if err := c.act(); err != nil || calls != c.calls {
			t.Errorf("%s: %v after %d calls", c.name, err, calls)
		}
	}
	if changed == 0 || changed != h.count(`SELECT max(id) FROM purchases`) {
		t.Errorf("the plan change is purchase %d", changed)
	}
	if len(reversed.Licenses) != 1 || reversed.Licenses[0].Key != s.l.Key {
		t.Errorf("reversed %+v", reversed)
	}
	again, err := h.licenses.ReverseRefund(ctx, tester, refund.ID)
	at := reversed.ReversedAt
	if err != nil || len(again.Licenses) != 1 || at.IsZero() || !again.ReversedAt.Equal(at) {
		t.Errorf("reversed again: %+v, %v", again, err)
	}
	if _, err := h.licenses.ReverseNew(ctx, tester, refund.ID, ofRefund); code(err) != "refund_already_reversed" {
		t.Errorf("reversed again, strictly: %v", err)
	}
	if n := h.count(`SELECT count(*) FROM audit_entries
		WHERE action = 'refund.create' AND subject = $1 AND after LIKE $2`,
		fmt.Sprint("refund:", refund.ID), "%"+s.l.Key+"%"); n != 1 {
		t.Errorf("%d audit entries of the refund", n)
	}
	h.verify()
}
