package payment_test

import (
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/payment"
	"claviger/internal/prune"
)

// TestErasedGuest: the release before this one erases a guest without knowing the typed address. The
// address, and the browser that paid, are removed later.
func TestErasedGuest(t *testing.T) {
	h := newHarness(t)
	accounts := accountsOn(h.db, h.book.Sealer, h.now)
	var ids []int64
	for _, email := range []string{"gone@example.com", "stays@example.com"} {
		u, err := accounts.StartGuest(t.Context(), account.GuestOrder{
			Email: email, Browser: "browser", PartnerID: h.partner, Tier: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, u.ID)
	}
	h.exec(`UPDATE users SET erased_at = $2, email = '', name = '' WHERE id = $1`, ids[0], h.now())
	if _, err := prune.Rows(t.Context(), h.db, h.now().Add(time.Second), payment.Expiring()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		address string
		here    bool
	}{{"", false}, {"stays@example.com", true}} {
		u, err := accounts.Get(t.Context(), ids[i])
		if err != nil || u.GuestEmail != want.address {
			t.Errorf("guest %d: %+v, %v", i, u, err)
		}
		if n := h.count(`SELECT count(*) FROM guests WHERE user_id = $1`, ids[i]); (n == 1) != want.here {
			t.Errorf("guest %d has %d rows", i, n)
		}
		if n := h.count(`SELECT count(*) FROM users WHERE id = $1 AND guest_email_key <> ''`, ids[i]); (n == 1) != want.here {
			t.Errorf("guest %d is found by the address: %d", i, n)
		}
	}
}
