package outage_test

import (
	"testing"
	"time"

	"claviger/internal/outage"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// TestPausedPartnersAreNotTold: while a partner is paused, no email is sent about its outage, and
// the pause does not count as one.
func TestPausedPartnersAreNotTold(t *testing.T) {
	h := newHarness(t)
	h.book.Changed = func(tx *sqldb.Tx, id int64, _ profile.Change) { outage.Restart(tx, id, h.now) }
	acme := h.partner("Acme", "Ann")
	h.fails(acme)
	if _, _, err := h.book.Pause(t.Context(), operator, acme, "unpaid invoice"); err != nil {
		t.Fatal(err)
	}
	for range 72 {
		h.now = h.now.Add(time.Hour)
		h.equal("mails during the pause", 0, len(h.round()))
	}
	if _, _, err := h.book.Resume(t.Context(), operator, acme); err != nil {
		t.Fatal(err)
	}
	h.fails(acme)
	h.now = h.now.Add(outage.After - time.Second)
	h.equal("mails within After of the pause", 0, len(h.round()))
	h.now = h.now.Add(time.Second)
	h.equal("mails after it", []string{"ann: Acme: webhooks have been failing since 7 March, 12:00 UTC"}, h.round())

	// After a notice, further notices follow, except during the pause.
	if _, _, err := h.book.Pause(t.Context(), operator, acme, "unpaid invoice"); err != nil {
		t.Fatal(err)
	}
	h.now = h.now.Add(30 * time.Hour)
	h.equal("mails during the second pause", 0, len(h.round()))
	if _, _, err := h.book.Resume(t.Context(), operator, acme); err != nil {
		t.Fatal(err)
	}
	h.equal("mails after the second pause", 1, len(h.round()))
}
