package shop_test

import (
	"net/http"
	"testing"

	"claviger/internal/sqldb"
)

// TestAskingLooksAtNobody: the pages that have a link mailed look up nobody while
// the visitor waits, so that the time they take tells nothing about an address.
// They are answered while the table of people is out of the way.
func TestAskingLooksAtNobody(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	rename := func(from, to string) {
		err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			tx.Queue("ALTER TABLE " + from + " RENAME TO " + to)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rename("users", "away")
	for _, email := range []string{ann, "nobody@example.com"} {
		for _, form := range []string{"/sign-in/send", "/reset"} {
			b := h.browser()
			before, _ := h.db.Counts()
			b.follow(b.post(form, "email", email)).want(http.StatusOK, "Check your mail")
			if after, _ := h.db.Counts(); after != before+1 {
				t.Errorf("%s for %s took %d transactions, want 1", form, email, after-before)
			}
		}
	}
	rename("away", "users")
	if n := len(h.mails(ann)); n != 2 {
		t.Errorf("%d mails were sent, want two", n)
	}
}
