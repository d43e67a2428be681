package shop_test

import (
	"testing"
	"time"

	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// TestBuyerArrivesAfterTheNews: the buyer is sent to the application once it has
// been told of the license, and not before. The test plays what delivers.
func TestBuyerArrivesAfterTheNews(t *testing.T) {
	h, b, l := annAndLicense(t)
	h.shop.Patience = time.Hour
	hook := "https://tide.example/hook"
	if _, _, err := h.shop.OAuth.Profiles.Amend(t.Context(), tester, h.partner.ID, nothing, profile.URLChange{Webhook: &hook}, false); err != nil {
		t.Fatal(err)
	}
	page := b.get(consentPage(l))
	sent := make(chan *sheet, 1)
	go func() { sent <- b.press(page, "Allow and continue") }()

	waiting := func() int64 {
		n, err := sqldb.One(t.Context(), h.db, sqldb.Value[int64],
			`SELECT count(*) FROM deliveries WHERE license_id = $1 AND state = 1 AND kind = 2`, l.ID)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for waiting() == 0 {
	}
	for range 500 { // far longer than the answer takes when nobody waits
		waiting()
		select {
		case <-sent:
			t.Fatal("the buyer was sent on before the application was told")
		default:
		}
	}
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE deliveries SET attempts = 1 WHERE license_id = $1`, l.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	(<-sent).arrives(h.redirect)
}
