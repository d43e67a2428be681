package license_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestRedeemable checks that Redeemable lists the licenses that Redeem accepts, only of this owner
// and partner.
func TestRedeemable(t *testing.T) {
	h := newHarness(t)
	p, other := h.partner(), h.partner()
	ann, bob := person("ann"), person("bob")
	var mine []license.License
	for range 6 {
		mine = append(mine, h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann})...)
	}
	h.buy(license.Purchase{PartnerID: other, Tier: 1, Buyer: &ann})
	h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &bob})
	h.buy(license.Purchase{PartnerID: p, Tier: 1})
	user := h.user("ann")

	if _, err := h.licenses.Redeem(t.Context(), tester, mine[1].RedemptionID, user.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Redeem(t.Context(), tester, mine[2].RedemptionID, user.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Disconnect(t.Context(), tester, mine[2].RedemptionID, user.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Hold(t.Context(), tester, mine[3].Key, license.HoldOther); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: mine[4].Key}); err != nil {
		t.Fatal(err)
	}
	got, err := h.licenses.Redeemable(t.Context(), user.ID, p)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{mine[5].Key, mine[2].Key, mine[1].Key, mine[0].Key} // newest first
	if diff := cmp.Diff(want, keys(got)); diff != "" {
		t.Errorf("redeemable (-want +got):\n%s", diff)
	}
	for _, l := range got {
		if _, err := h.licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID); err != nil {
			t.Errorf("it is called redeemable, but: %v", err)
		}
	}
	owned, err := h.licenses.Owned(t.Context(), user.ID)
	if err != nil || len(owned) != 7 {
		t.Errorf("%d owned, %v; want 7", len(owned), err)
	}
	if nobody, err := h.licenses.Owned(t.Context(), 0); err != nil || len(nobody) != 0 {
		t.Errorf("nobody owns %d, %v", len(nobody), err)
	}
	h.verify()
}

// TestRedeemThen checks that the functions in then succeed or fail together with the redemption.
func TestRedeemThen(t *testing.T) {
	h := newHarness(t)
	p := h.partner()
	l := h.buy(license.Purchase{PartnerID: p, Tier: 1})[0]
	user := h.user("ann")
	refusal := errors.New("no")
	_, err := h.licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID, func(*sqldb.Tx, license.License) error { return refusal })
	if !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	if now := h.license(l.Key); now != l {
		t.Errorf("a redemption that did not come to its end left %+v", now)
	}
	var seen license.License
	after, err := h.licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID, func(tx *sqldb.Tx, l license.License) error {
		seen = l
		_, err := license.Get(t.Context(), tx, l.ID)
		return err
	})
	if err != nil || seen != after || seen.Status != event.Active || seen.OwnerID != user.ID {
		t.Errorf("it saw %+v; redeemed is %+v, %v", seen, after, err)
	}
}

// TestDisconnect checks that only the owner may disconnect, and that others cannot see the license.
func TestDisconnect(t *testing.T) {
	h := newHarness(t)
	ann := person("ann")
	l := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Buyer: &ann})[0]
	user, stranger := h.user("ann"), h.user("eve")
	if _, err := h.licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Disconnect(t.Context(), tester, l.RedemptionID, stranger.ID); code(err) != "unknown_license" {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := h.licenses.Disconnect(t.Context(), tester, l.RedemptionID, user.ID); err != nil {
		t.Errorf("the owner: %v", err)
	}
	if _, err := h.licenses.Disconnect(t.Context(), tester, l.RedemptionID, user.ID); code(err) != "license_not_active" {
		t.Errorf("again: %v", err)
	}
}

// payments is what was paid for a license.
func (h *harness) payments(l license.License) []license.Receipt {
	h.Helper()
	list, err := h.licenses.Payments(h.Context(), l.ID)
	if err != nil || len(list) == 0 {
		h.Fatalf("%d payments, %v", len(list), err)
	}
	return list
}

// TestReceipts: each purchase of the chain, with what became of it.
func TestReceipts(t *testing.T) {
	h := newHarness(t)
	ann := person("ann")
	l := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Buyer: &ann, Quantity: 2, AmountCents: 11800, Currency: "USD", ExternalID: "order-1"})[0]
	_, err := h.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 3, AmountCents: 5000, Currency: "USD", ExternalID: "order-2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, paid := range h.payments(l) {
		if c, err := h.licenses.ReceiptOf(t.Context(), paid.ID, l.OwnerID); err != nil || c.Refunded || c.Partly {
			t.Errorf("before any refund: %+v, %v", c, err)
		}
	}
	if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{PartnerID: l.PartnerID, PurchaseExternalID: "order-2"}); err != nil {
		t.Fatal(err)
	}
	got, err := h.licenses.Receipts(t.Context(), l.ID, l.OwnerID)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, len(got))
	for i := range got {
		if got[i].At.IsZero() {
			t.Errorf("receipt %d has no time", i)
		}
		got[i].At, ids[i], got[i].ID = l.CreatedAt, got[i].ID, 0
	}
	want := []license.Receipt{
		{PartnerID: l.PartnerID, BuyerID: l.OwnerID, At: l.CreatedAt, Kind: license.NewLicense, Tier: 1, AmountCents: 11800, Currency: "USD", Quantity: 2, ExternalID: "order-1", Part: license.Part{Units: 5900, Currency: "USD"}},
		{PartnerID: l.PartnerID, BuyerID: l.OwnerID, At: l.CreatedAt, Kind: license.PlanUpgrade, Tier: 3, AmountCents: 5000, Currency: "USD", Quantity: 1, ExternalID: "order-2", Refunded: true, Part: license.Part{Units: 5000, Currency: "USD"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Each has its own receipt, only for the buyer.
	if _, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key}); err != nil {
		t.Fatal(err)
	}
	bob := h.user("bob")
	for i, want := range []license.Receipt{{Partly: true}, {Refunded: true}} {
		c, err := h.licenses.ReceiptOf(t.Context(), ids[i], l.OwnerID)
		if err != nil || c.Partly != want.Partly || c.Refunded != want.Refunded || c.AmountCents != got[i].AmountCents {
			t.Errorf("receipt %d: %+v, %v", i, c, err)
		}
		for _, other := range []int64{bob.ID, 0} {
			if _, err := h.licenses.ReceiptOf(t.Context(), ids[i], other); code(err) != "unknown_purchase" {
				t.Errorf("the receipt for user %d: %v", other, err)
			}
		}
	}
	if _, err := h.licenses.Transfer(t.Context(), tester, l.Key, person("bob")); err != nil {
		t.Fatal(err)
	}
	if list, err := h.licenses.Receipts(t.Context(), l.ID, bob.ID); err != nil || len(list) != 0 {
		t.Errorf("the new owner reads what the old one paid: %+v, %v", list, err)
	}
}

// TestStandings checks the standings of a user's licenses, together and one by one.
func TestStandings(t *testing.T) {
	h := newHarness(t)
	p, ann, bob := h.partner(), person("ann"), person("bob")
	var mine []license.License
	for range 4 {
		mine = append(mine, h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann})...)
	}
	refund := func(o license.RefundOrder) {
		if _, err := h.licenses.Refund(t.Context(), tester, o); err != nil {
			t.Fatal(err)
		}
	}
	refund(license.RefundOrder{LicenseKey: mine[1].Key})
	refund(license.RefundOrder{LicenseKey: h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &bob})[0].Key})
	// A refund of only the plan leaves the first purchase, on hold or not.
	_, err := h.licenses.ChangePlan(t.Context(), tester, mine[2].Key, license.PlanChange{Tier: 3, ExternalID: "order-2"})
	if err != nil {
		t.Fatal(err)
	}
	refund(license.RefundOrder{PartnerID: p, PurchaseExternalID: "order-2"})
	for _, l := range mine[2:] {
		if _, err := h.licenses.Hold(t.Context(), tester, l.Key, license.HoldOther); err != nil {
			t.Fatal(err)
		}
	}
	for i := range mine {
		mine[i] = h.license(mine[i].Key)
	}
	got, err := h.licenses.Standings(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range mine {
		standing := got[l.ID]
		if standing.EndedAt.IsZero() != (i != 1) || standing.HeldAt.IsZero() != (i < 2) || standing.Given {
			t.Errorf("license %d stands as %+v", i, standing)
		}
		if alone, err := h.licenses.Standing(t.Context(), l); err != nil || alone != standing {
			t.Errorf("alone, license %d stands as %+v, %v", i, alone, err)
		}
	}
	if none, err := h.licenses.Standings(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("nobody's are %v, %v", none, err)
	}
}

// TestGiven checks that a used and then transferred license is Given until its new owner uses it.
func TestGiven(t *testing.T) {
	h := newHarness(t)
	ann, bob := person("ann"), h.user("bob")
	l := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1, Buyer: &ann})[0]
	given := func(want bool, after string) {
		t.Helper()
		if s, err := h.licenses.Standing(t.Context(), l); err != nil || s.Given != want {
			t.Errorf("after %s: %+v, %v", after, s, err)
		}
	}
	must := func(_ license.License, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(h.licenses.Redeem(t.Context(), tester, l.RedemptionID, l.OwnerID))
	must(h.licenses.Release(t.Context(), tester, l.Key))
	given(false, "a release")
	must(h.licenses.Redeem(t.Context(), tester, l.RedemptionID, l.OwnerID))
	must(h.licenses.Transfer(t.Context(), tester, l.Key, person("bob")))
	given(true, "a transfer")
	must(h.licenses.Redeem(t.Context(), tester, l.RedemptionID, bob.ID))
	given(false, "its use")
}

// TestErasedUserClaimsNothing checks that a request by a concurrently erased user does not leave a
// license with an erased owner.
func TestErasedUserClaimsNothing(t *testing.T) {
	h := newHarness(t)
	l := h.buy(license.Purchase{PartnerID: h.partner(), Tier: 1})[0]
	user := h.user("ann")
	if _, err := h.licenses.EraseUser(t.Context(), tester, user.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID); code(err) != "user_erased" {
		t.Errorf("got %v", err)
	}
	if now := h.license(l.Key); now != l {
		t.Errorf("the license is %+v", now)
	}
}
