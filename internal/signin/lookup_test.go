package signin_test

import (
	"net/http"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestRequestingLinksReadsNoUsers checks that pages that email a link look up no user while the
// visitor waits. So their response time reveals nothing about an address. They answer without the
// table of users.
func TestRequestingLinksReadsNoUsers(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	rename := func(from, to string) {
		err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			tx.Queue("ALTER TABLE " + from + " RENAME TO " + to)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rename("users", "away")
	for _, email := range []string{pagetest.Ann, "nobody@example.com"} {
		for _, form := range []string{"/sign-in/send", "/reset"} {
			b := h.NewBrowser()
			before, _ := h.DB.Counts()
			b.Follow(b.Post(form, "email", email)).Want(http.StatusOK, "Check your email")
			if after, _ := h.DB.Counts(); after != before+1 {
				t.Errorf("%s for %s took %d transactions, want 1", form, email, after-before)
			}
		}
	}
	rename("away", "users")
	if n := len(h.Emails(pagetest.Ann)); n != 2 {
		t.Errorf("%d mails were sent, want two", n)
	}
}
