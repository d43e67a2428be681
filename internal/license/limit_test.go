package license_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// limit sets the limit per buyer of a free plan; -1: not set.
func (h *harness) limit(partnerID int64, tier, n int) {
	h.Helper()
	plan := partner.Plan{Tier: tier, Name: fmt.Sprint("Tier ", tier), Currency: "USD", MaxPerBuyer: partner.BuyerLimitOf(n)}
	if _, _, err := h.partners.PutPlan(h.Context(), tester, partnerID, plan); err != nil {
		h.Fatal(err)
	}
}

// inShop returns an order of the shop.
func inShop(partnerID int64, tier int, buyer account.Person, externalID string) license.Order {
	return license.Order{By: tester, Purchase: license.Purchase{
		PartnerID: partnerID, Tier: tier, Buyer: &buyer, Quantity: 1, ExternalID: externalID, Shop: true,
	}}
}

// TestLimitPerBuyer checks that the shop sells a person only as many licenses of a plan as its
// limit. A free plan without its own limit has 1, a paid one has none.
func TestLimitPerBuyer(t *testing.T) {
	h := newHarness(t)
	p, other := h.partner(), h.partner()
	ann, bob := person("ann"), person("bob")
	h.limit(p, 2, 2)
	h.limit(p, 3, 0)
	paid := partner.Plan{Tier: 4, Name: "Paid", PriceCents: 100, Currency: "USD"}
	if _, _, err := h.partners.PutPlan(t.Context(), tester, p, paid); err != nil {
		t.Fatal(err)
	}
	number := 0
	take := func(partnerID int64, tier int, who account.Person, want string) {
		t.Helper()
		number++
		if _, err := h.licenses.Sell(t.Context(), inShop(partnerID, tier, who, fmt.Sprint("order ", number))); code(err) != want {
			t.Errorf("order %d: got %q, want %q", number, code(err), want)
		}
	}
	take(p, 1, ann, "")
	take(p, 1, ann, "too_many_licenses")
	take(p, 1, bob, "")
	take(other, 1, ann, "")
	take(p, 2, ann, "")
	take(p, 2, ann, "")
	take(p, 2, ann, "too_many_licenses")
	for range 3 {
		take(p, 3, ann, "")
		take(p, 4, ann, "")
	}
	h.limit(p, 3, 3)
	take(p, 3, ann, "too_many_licenses")
	h.limit(p, 3, 4)
	take(p, 3, ann, "")
	h.verify()
}

// TestLimitIsOfTheShop checks that the limit does not apply to the operator's programs and to paid
// orders, and that a repeated order gets its first answer.
func TestLimitIsOfTheShop(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	ann := h.user("ann")
	first, err := h.licenses.Sell(t.Context(), inShop(p, 1, person("ann"), "first"))
	if err != nil {
		t.Fatal(err)
	}
	h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: new(person("ann")), ExternalID: "by a program"})
	paid := license.Order{By: tester, Paid: true, PlanName: "Tier 1", Purchase: license.Purchase{
		PartnerID: p, Tier: 1, BuyerID: ann.ID, Quantity: 1, ExternalID: "paid", Shop: true,
	}}
	if _, err := h.licenses.Sell(t.Context(), paid); err != nil {
		t.Errorf("an order that was paid for: %v", err)
	}
	again, err := h.licenses.Sell(t.Context(), inShop(p, 1, person("ann"), "first"))
	if err != nil || again.Licenses[0].Key != first.Licenses[0].Key {
		t.Errorf("the first order again: %+v, %v", again, err)
	}
	if _, err := h.licenses.Sell(t.Context(), inShop(p, 1, person("ann"), "second")); code(err) != license.CodeTooManyLicenses {
		t.Errorf("another order: %v", err)
	}
}

// TestLimitCountsWhatIsOwned checks that only owned licenses of the plan count, if they have not
// ended.
func TestLimitCountsWhatIsOwned(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(h *harness, l license.License) error
		want string // of the next order
	}{
		"nothing": {func(*harness, license.License) error { return nil }, "too_many_licenses"},
		"refunded": {func(h *harness, l license.License) error {
			_, err := h.licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: l.Key, ExternalID: "f"})
			return err
		}, ""},
		"refund reversed": {func(h *harness, l license.License) error {
			f, err := h.licenses.Refund(h.Context(), tester, license.RefundOrder{LicenseKey: l.Key, ExternalID: "f"})
			if err != nil {
				return err
			}
			_, err = h.licenses.ReverseRefund(h.Context(), tester, f.ID)
			return err
		}, "too_many_licenses"},
		"held": {func(h *harness, l license.License) error {
			_, err := h.licenses.Hold(h.Context(), tester, l.Key, license.HoldChargeback)
			return err
		}, "too_many_licenses"},
		"given away": {func(h *harness, l license.License) error {
			_, err := h.licenses.Transfer(h.Context(), tester, l.Key, person("bob"))
			return err
		}, ""},
		"changed to another plan": {func(h *harness, l license.License) error {
			_, err := h.licenses.ChangePlan(h.Context(), tester, l.Key, license.PlanChange{Tier: 2, ExternalID: "c"})
			return err
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			p := h.partner()
			sale, err := h.licenses.Sell(t.Context(), inShop(p, 1, person("ann"), "first"))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.act(h, sale.Licenses[0]); err != nil {
				t.Fatal(err)
			}
			ann := h.user("ann")
			if err := h.licenses.CheckLimit(t.Context(), p, 1, ann.ID); code(err) != c.want {
				t.Errorf("CheckLimit: got %q, want %q", code(err), c.want)
			}
			plans := []partner.Plan{{Tier: 1}, {Tier: 3}, {Tier: 4, PriceCents: 100}}
			reached, err := h.licenses.AtLimit(t.Context(), ann.ID, p, plans)
			if l, ok := reached[1]; err != nil || ok != (c.want != "") || ok && l.Key != sale.Licenses[0].Key || len(reached) > 1 {
				t.Errorf("AtLimit: %+v, %v", reached, err)
			}
			if _, err := h.licenses.Sell(t.Context(), inShop(p, 1, person("ann"), "second")); code(err) != c.want {
				t.Errorf("the next order: got %q, want %q", code(err), c.want)
			}
			h.verify()
		})
	}
}

// TestLimitInOneSet checks that orders of one set count each other, and orders from elsewhere.
func TestLimitInOneSet(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	ann := h.user("ann")
	h.limit(p, 2, 3)
	byProgram := inShop(p, 2, person("ann"), "by a program")
	byProgram.Shop, byProgram.Quantity = false, 2
	byID := inShop(p, 2, person("ann"), "by id")
	byID.Buyer, byID.BuyerID = nil, ann.ID
	two := inShop(p, 2, person("ann"), "two")
	two.Quantity = 2
	results := h.licenses.PurchaseAll(t.Context(), []license.Order{
		inShop(p, 1, person("ann"), "first"),
		inShop(p, 1, person("ann"), "second"),
		inShop(p, 1, person("bob"), "bob's"),
		inShop(p, 1, person("ann"), "first"), // repeat
		byProgram,
		two,
		byID,
		inShop(p, 2, person("ann"), "one more"),
		inShop(p, 1, person("ann"), "third"), // decided after the first was sold, and before it is written
	})
	const many = "too_many_licenses"
	want := []string{"", many, "", "", "", many, "", many, many}
	if diff := cmp.Diff(want, codes(results)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	h.verify()
}

// TestLimitWithin: within a transaction the limit counts what the transaction sold before.
func TestLimitWithin(t *testing.T) {
	h := newHarness(t)
	p, ann := h.partner(), h.user("ann")
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		within := h.licenses.Within(tx)
		if _, err := within.Sell(t.Context(), inShop(p, 1, person("ann"), "first")); err != nil {
			return err
		}
		return within.CheckLimit(t.Context(), p, 1, ann.ID)
	})
	if code(err) != license.CodeTooManyLicenses {
		t.Error(err)
	}
}

// TestLimitHoldsInARace: of orders that come at the same time, in transactions of their own,
// as many are sold as the plan allows. All of them begin while another transaction has the
// lock of the partner.
func TestLimitHoldsInARace(t *testing.T) {
	h := newHarness(t)
	h.licenses.Gather = nil
	p := h.partner()
	h.user("ann")
	h.limit(p, 1, 2)
	release := h.hold(p)
	const orders = 6
	got := make([]string, orders)
	var begun, done sync.WaitGroup
	begun.Add(orders)
	for i := range orders {
		done.Go(func() {
			begun.Done()
			_, err := h.licenses.Sell(t.Context(), inShop(p, 1, person("ann"), fmt.Sprint("order ", i)))
			got[i] = code(err)
		})
	}
	begun.Wait()
	release()
	done.Wait()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"", "", "too_many_licenses", "too_many_licenses", "too_many_licenses", "too_many_licenses"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := h.count(`SELECT count(*) FROM licenses WHERE partner_id = $1`, p); n != 2 {
		t.Errorf("%d licenses", n)
	}
}

// TestLimitInTheirOrder checks that an order that waits for the outcome of another is still decided
// before later orders of the same person. Those may have another name of the person.
func TestLimitInTheirOrder(t *testing.T) {
	for name, c := range map[string]struct {
		first, second bool // whether the person's orders are of the shop
		want          []string
	}{
		"two of the shop":         {true, true, []string{"too_many_licenses", "", "too_many_licenses"}},
		"the second by a program": {true, false, []string{"too_many_licenses", "", ""}},
		"the first by a program":  {false, true, []string{"too_many_licenses", "", "too_many_licenses"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			p := h.partner()
			if _, _, err := h.accounts.Create(t.Context(), tester, account.Person{Email: "ann@example.com", ExternalID: "u1"}); err != nil {
				t.Fatal(err)
			}
			h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: new(person("bob"))})
			refused := inShop(p, 1, person("bob"), "same")
			first := inShop(p, 1, person("ann"), "same") // it might repeat the one before
			first.Shop = c.first
			second := inShop(p, 1, account.Person{ExternalID: "u1"}, "other")
			second.Shop = c.second
			results := h.licenses.PurchaseAll(t.Context(), []license.Order{refused, first, second})
			if diff := cmp.Diff(c.want, codes(results)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
