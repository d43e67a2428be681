package shop_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/sqldb"
)

// TestKnownBrowser: what strangers try does not close an account to the browser that
// its owner signed in with before, and what that browser tries is bounded too.
func TestKnownBrowser(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	h.user("bob@example.com", password)
	mine := h.browser().signIn(ann, password)
	mine.post("/sign-out")
	for range 12 {
		h.browser().post("/sign-in", "email", ann, "password", "a guess")
	}
	h.browser().post("/sign-in", "email", ann, "password", password).want(http.StatusTooManyRequests, "Sign in")
	forger := h.browser()
	forger.take(&http.Cookie{Name: "claviger-known", Value: "Zm9yZ2Vk", Path: "/"})
	forger.post("/sign-in", "email", ann, "password", password).want(http.StatusTooManyRequests, "Sign in")
	bob := h.browser().signIn("bob@example.com", password)
	bob.post("/sign-out")
	bob.post("/sign-in", "email", ann, "password", password).want(http.StatusTooManyRequests, "Sign in")

	mine.post("/sign-in", "email", strings.ToUpper(ann), "password", password).leads("/licenses")
	mine.signedIn(ann)
	mine.post("/sign-out")
	for range 9 {
		mine.post("/sign-in", "email", ann, "password", "a guess").want(http.StatusUnauthorized, "Sign in")
	}
}

// TestFullQueue: whoever finds too many waiting reads so at once, and somebody with
// a known browser is not among them.
func TestFullQueue(t *testing.T) {
	h := build(t)
	h.signin.Throttle = nil
	h.user(ann, password)
	mine := h.browser().signIn(ann, password)
	mine.post("/sign-out")
	// Everybody who is being served waits for this row, in either database.
	held, release := make(chan struct{}), make(chan struct{})
	written := make(chan error, 1)
	go func() {
		written <- h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE password_tries SET count = count`)
			close(held)
			<-release
			return err
		})
	}()
	<-held
	const each, refused = 40, 40 - 1 - 8 // one is served, eight wait
	strangers, known := make(chan *sheet, each), make(chan *sheet, each)
	for range each {
		go func() { strangers <- h.browser().post("/sign-in", "email", ann, "password", "a guess") }()
		go func() { known <- mine.post("/sign-in", "email", ann, "password", "a guess") }()
	}
	for range refused {
		page := (<-strangers).want(http.StatusServiceUnavailable, "Sign in")
		if page.Header.Get("Retry-After") != "2" || !strings.Contains(page.text(), "Try again in 2 seconds, or have a sign-in link sent to you.") || page.input("email") == nil {
			t.Errorf("Retry-After is %q, the page says %s", page.Header.Get("Retry-After"), page.text())
		}
	}
	close(release)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	for range each {
		(<-known).want(http.StatusUnauthorized, "Sign in")
	}
	for range each - refused {
		<-strangers // one more may have been refused, if those who are known came first
	}
	h.browser().signIn(ann, password)
}

// TestTooManyTries: the password of an account is closed after a hundred wrong ones,
// whether anybody has the address or not, and the mailed link is open.
func TestTooManyTries(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	for _, email := range []string{ann, "nobody@example.com"} {
		h.browser().post("/sign-in", "email", email, "password", "a guess").want(http.StatusUnauthorized, "Sign in")
	}
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE password_tries SET count = 100`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, email := range []string{"nobody@example.com", ann} {
		b := h.browser()
		page := b.post("/sign-in", "email", email, "password", password).want(http.StatusTooManyRequests, "Sign in")
		texts = append(texts, page.text()+page.Header.Get("Retry-After"))
		if email == ann {
			b.follow(b.press(page, "Send me a sign-in link")).want(http.StatusOK, "Check your mail")
			b.press(b.get(h.link(ann)), "Continue as").leads("/licenses")
			b.signedIn(ann)
		}
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "Have a sign-in link sent to you: it works at once.") {
		t.Errorf("the pages say\n%s\n%s", texts[0], texts[1])
	}
}

// TestNetworks: who has many networks of a household is one client.
func TestNetworks(t *testing.T) {
	h := build(t)
	from := func(i int) *sheet {
		b := h.browser()
		b.address = fmt.Sprintf("2001:db8:1:%x00::1", i)
		return b.post("/sign-in/send", "email", fmt.Sprintf("u%d@example.com", i))
	}
	for i := range 80 { // four times what one of them may
		from(i).leads("/check-mail")
	}
	from(80).want(http.StatusTooManyRequests, "Sign in")
}
