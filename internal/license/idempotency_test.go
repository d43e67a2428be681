package license_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/idempotency"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// saleText returns all parts of a sale that an HTTP package shows.
func saleText(s license.Sale, err error) (string, error) {
	text := fmt.Sprint(s.ID, s.PartnerID, s.Kind, s.ExternalID, s.Tier, s.Quantity, s.AmountCents, s.Currency, s.UserID, s.CreatedAt)
	return text + licensesText(s.Licenses), err
}

// refundText returns all parts of a refund that an HTTP package shows.
func refundText(f license.Refund, err error) (string, error) {
	return fmt.Sprint(f.ID, f.PartnerID, f.ExternalID, f.Reason, f.CreatedAt, f.ReversedAt) + licensesText(f.Licenses), err
}

// licenseText returns all parts of a license that an HTTP package shows.
func licenseText(l license.License, err error) (string, error) {
	return licensesText([]license.License{l}) + fmt.Sprint(l.PartnerID, l.OwnerID, l.Redeemed, l.Released, l.Held), err
}

func licensesText(list []license.License) string {
	text := ""
	for _, l := range list {
		text += fmt.Sprint(" ", l.Key, l.RedemptionID, l.Status, l.Tier, l.OwnerID, l.CreatedAt, l.UpdatedAt)
	}
	return text
}

// orCode returns the code of a refusal, or the text.
func orCode(text string, err error) string {
	if err != nil {
		return code(err)
	}
	return text
}

// TestTheSamePurchaseAtOnce checks that a payment webhook that arrives fifty times concurrently
// makes one license, and that every answer is the first one. With PostgreSQL it uses two nodes.
func TestTheSamePurchaseAtOnce(t *testing.T) {
	for name, order := range map[string]license.Purchase{
		"external id":     {Tier: 1, Quantity: 1, ExternalID: "payment-1"},
		"idempotency key": {Tier: 1, Quantity: 1, Idempotency: idempotency.Request{Scope: "t", Key: "k", Body: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			at := sqldbtest.URL(t)
			nodes := []*harness{newHarnessOn(t, sqldbtest.OpenWith(t, at, sqldb.Options{}))}
			if sqldbtest.Postgres() {
				nodes = append(nodes, newHarnessOn(t, sqldbtest.OpenWith(t, at, sqldb.Options{})))
			}
			order.PartnerID = nodes[0].partner()
			var mu sync.Mutex
			answers := map[string]int{}
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					out, err := saleText(nodes[i%len(nodes)].licenses.Purchase(t.Context(), tester, order))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						answers[out]++
					} else if code(err) != "idempotency_key_in_use" || !sqldbtest.Postgres() {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if len(answers) != 1 {
				t.Errorf("%d different answers: %v", len(answers), answers)
			}
			if n := nodes[0].count(`SELECT count(*) FROM licenses`); n != 1 {
				t.Errorf("%d licenses", n)
			}
			nodes[0].verify()
		})
	}
}

// TestRepeatedOrdersAreAnsweredAsTheFirst checks that a repeat gets the first answer, even if the
// license has changed since.
func TestRepeatedOrdersAreAnsweredAsTheFirst(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	ann := person("ann")
	order := license.Purchase{PartnerID: p, Tier: 1, Quantity: 2, Buyer: &ann, ExternalID: "one", AmountCents: 5900, Currency: "USD"}
	buy := func(o license.Purchase) string {
		return orCode(saleText(h.licenses.Purchase(t.Context(), tester, o)))
	}
	plan := func(key string, c license.PlanChange) string {
		return orCode(licenseText(h.licenses.ChangePlan(t.Context(), tester, key, c)))
	}
	refund := func(o license.RefundOrder) string {
		return orCode(refundText(h.licenses.Refund(t.Context(), tester, o)))
	}
	first := buy(order)
	l, err := h.licenses.Search(t.Context(), license.Search{ExternalID: "one"}, paging.First())
	if err != nil || len(l.Licenses) != 2 {
		t.Fatal(err)
	}
	s := &script{harness: h, l: l.Licenses[0]}
	change := license.PlanChange{Tier: 2, ExternalID: "one"} // another kind: the same external id is free
	firstPlan := plan(s.l.Key, change)
	if got := s.run("redeem ann"); got != "" {
		t.Fatal(got)
	}
	back := license.RefundOrder{LicenseKey: s.l.Key, ExternalID: "one", Reason: "asked"}
	firstRefund := refund(back)
	s.refunds = []license.Refund{{ID: h.count(`SELECT max(id) FROM refunds`)}}
	for _, command := range []string{"reverse", "release", "plan 3 later", "transfer bob"} {
		if got := s.run(command); got != "" {
			t.Fatal(command, got)
		}
	}
	before := h.count(`SELECT count(*) FROM events`)
	for name, c := range map[string]struct{ got, want string }{
		"purchase":                {buy(order), first},
		"plan change":             {plan(s.l.Key, change), firstPlan},
		"refund":                  {refund(back), firstRefund},
		"purchase, other amount":  {buy(with(order, func(o *license.Purchase) { o.AmountCents++ })), "external_id_reused"},
		"purchase, other tier":    {buy(with(order, func(o *license.Purchase) { o.Tier = 2 })), "external_id_reused"},
		"purchase, other buyer":   {buy(with(order, func(o *license.Purchase) { o.Buyer = nil })), "external_id_reused"},
		"plan change, other tier": {plan(s.l.Key, license.PlanChange{Tier: 3, ExternalID: "one"}), "external_id_reused"},
		"plan, other license":     {plan(l.Licenses[1].Key, change), "external_id_reused"},
		"refund, other license":   {refund(license.RefundOrder{LicenseKey: l.Licenses[1].Key, ExternalID: "one", Reason: "asked"}), "external_id_reused"},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if after := h.count(`SELECT count(*) FROM events`); after != before {
		t.Errorf("repeated orders made %d events", after-before)
	}
	if got := buy(with(order, func(o *license.Purchase) { o.PartnerID = h.partner() })); got == first {
		t.Error("another partner's external id is not its own")
	}
	h.verify()
}

func with(o license.Purchase, change func(*license.Purchase)) license.Purchase {
	change(&o)
	return o
}

func TestIdempotencyKeyStoresTheAnswer(t *testing.T) {
	h := newHarness(t)
	order := license.Purchase{PartnerID: h.partner(), Tier: 1, Quantity: 1, Idempotency: idempotency.Request{Scope: "t1", Key: "k", Body: "b"}}
	buy := func(o license.Purchase) string {
		return orCode(saleText(h.licenses.Purchase(t.Context(), tester, o)))
	}
	first := buy(order)
	if got := buy(order); got != first {
		t.Errorf("the same again: got %s, want %s", got, first)
	}
	if got := buy(with(order, func(o *license.Purchase) { o.Idempotency.Body = "c" })); got != "idempotency_key_reused" {
		t.Errorf("another body: got %s", got)
	}
	if got := buy(with(order, func(o *license.Purchase) { o.Idempotency.Scope = "t2" })); got == first {
		t.Error("another token got the answer")
	}
	// A refused request stores nothing: after a correction, it may be repeated under its key.
	bad := with(order, func(o *license.Purchase) { o.Idempotency.Key, o.Tier = "k2", 9 })
	if got := buy(bad); got != "unknown_tier" {
		t.Errorf("got %s", got)
	}
	bad.Tier = 1
	if got := buy(bad); got == "unknown_tier" {
		t.Errorf("corrected: got %s", got)
	}
	h.verify()
}

// TestIdempotencyKeyOfRefundsAndPlanChanges: a repeat under the key gets the first answer,
// whatever happened since, and another order under it is refused. Neither does anything.
func TestIdempotencyKeyOfRefundsAndPlanChanges(t *testing.T) {
	const rows = `SELECT (SELECT count(*) FROM refunds) + (SELECT count(*) FROM purchases)
		+ (SELECT count(*) FROM events)`
	h, ctx := newHarness(t), t.Context()
	s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1})[0]}
	for name, order := range map[string]func(idempotency.Request) (string, error){
		"refund": func(key idempotency.Request) (string, error) {
			order := license.RefundOrder{LicenseKey: s.l.Key, Idempotency: key}
			return refundText(h.licenses.Refund(ctx, tester, order))
		},
		"plan": func(key idempotency.Request) (string, error) {
			change := license.PlanChange{Tier: 2, Idempotency: key}
			return licenseText(h.licenses.ChangePlan(ctx, tester, s.l.Key, change))
		},
	} {
		s.l = h.buy(license.Purchase{PartnerID: s.l.PartnerID, Tier: 1, Quantity: 2})[0]
		key := idempotency.Request{Scope: "t", Key: name, Body: "b"}
		first := orCode(order(key))
		for _, command := range []string{"transfer bob", "hold"} {
			if got := s.run(command); got != "" {
				t.Fatal(command, got)
			}
		}
		before := h.count(rows)
		if diff := cmp.Diff(first, orCode(order(key))); diff != "" {
			t.Errorf("%s again (-want +got)\n%s", name, diff)
		}
		key.Body = "c"
		if got := orCode(order(key)); got != "idempotency_key_reused" {
			t.Errorf("%s with another body: got %s", name, got)
		}
		if after := h.count(rows); after != before {
			t.Errorf("repeats of the %s made %d rows", name, after-before)
		}
	}
	h.verify()
}
