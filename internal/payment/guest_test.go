package payment_test

import (
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/payment"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
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

// TestGuestPaysLate: a guest who pays while the unpaid ones are deleted stays.
func TestGuestPaysLate(t *testing.T) {
	h := newHarness(t)
	accounts := accountsOn(h.db, h.book.Sealer, h.now)
	u, err := accounts.StartGuest(t.Context(), account.GuestOrder{
		Email: "late@example.com", Browser: "browser", PartnerID: h.partner, Tier: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := h.order()
	o.UserID = u.ID
	c := h.begin(o)
	h.exec(`UPDATE checkouts SET state = $2, updated_at = 1 WHERE id = $1`, c.ID, int(payment.Closed))
	pruned := make(chan error, 1)
	if err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if err := account.Present(t.Context(), tx, u.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `UPDATE checkouts SET state = $2 WHERE id = $1`, c.ID, int(payment.Sold)); err != nil {
			return err
		}
		go func() {
			_, err := prune.Rows(t.Context(), h.db, h.now().Add(30*24*time.Hour), payment.Expiring())
			pruned <- err
		}()
		time.Sleep(50 * time.Millisecond) // the deletion begins, and waits for this transaction
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-pruned; err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.Get(t.Context(), u.ID); err != nil {
		t.Errorf("the guest who paid: %v", err)
	}
}
