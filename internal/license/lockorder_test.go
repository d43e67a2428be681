package license_test

import (
	"fmt"
	"sync"
	"testing"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestEraseBesideOthers erases people while licenses of several partners are bought for them,
// redeemed, transferred to them and refunded. The database does not retry transactions, so a
// command with another lock order would fail with a deadlock. At the end no erased person has a
// license.
func TestEraseBesideOthers(t *testing.T) {
	h := newHarnessOn(t, sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{NoRetry: true}))
	partners := []int64{h.partner(), h.partner(), h.partner()}
	check := func(doing string, err error) {
		if err != nil && fault.Of(err) == nil {
			t.Errorf("%s: %v", doing, err)
		}
	}
	var wg sync.WaitGroup
	for n := range 30 {
		who := account.Person{Email: fmt.Sprintf("user%d@example.com", n)}
		user, _, err := h.accounts.Create(t.Context(), tester, who)
		if err != nil {
			t.Fatal(err)
		}
		l := h.buy(license.Purchase{PartnerID: partners[2], Tier: 1, Buyer: &who})[0]
		open := h.buy(license.Purchase{PartnerID: partners[n%3], Tier: 1})[0]
		start := make(chan struct{})
		for doing, act := range map[string]func() error{
			"erase":       func() error { _, err := h.licenses.EraseUser(t.Context(), tester, user.ID); return err },
			"erase again": func() error { _, err := h.licenses.EraseUser(t.Context(), tester, user.ID); return err },
			"redeem":      func() error { _, err := h.licenses.Redeem(t.Context(), tester, l.RedemptionID, user.ID); return err },
			"claim":       func() error { _, err := h.licenses.Redeem(t.Context(), tester, open.RedemptionID, user.ID); return err },
			"refund": func() error {
				_, err := h.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key, ExternalID: l.Key, Reason: "asked"})
				return err
			},
			"buy": func() error {
				for _, id := range partners {
					p := license.Purchase{PartnerID: id, Tier: 1, Buyer: &who, Quantity: 1}
					if _, err := h.licenses.Purchase(t.Context(), tester, p); err != nil {
						return err
					}
				}
				return nil
			},
		} {
			wg.Go(func() {
				<-start
				check(doing, act())
			})
		}
		close(start)
	}
	wg.Wait()
	left, err := sqldb.One(t.Context(), h.db, sqldb.Value[int64], `SELECT count(*) FROM licenses JOIN users ON users.id = licenses.owner_id
		WHERE users.erased_at <> 0 AND licenses.erased = FALSE`)
	if left != 0 || err != nil {
		t.Errorf("%d licenses are owned by somebody who was erased, %v", left, err)
	}
	erased, err := sqldb.One(t.Context(), h.db, sqldb.Value[int64], `SELECT count(*) FROM users WHERE erased_at <> 0`)
	if erased != 30 || err != nil {
		t.Errorf("%d people were erased, want 30; %v", erased, err)
	}
}
