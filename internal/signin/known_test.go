package signin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestKnownBrowser checks that attempts by strangers do not lock an account for the browser that
// its owner used before. Attempts by that browser are limited too.
func TestKnownBrowser(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser("bob@example.com", pagetest.Password)
	mine := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	mine.Post("/sign-out")
	for range 12 {
		h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", "a guess")
	}
	h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusTooManyRequests, "Sign in")
	forger := h.NewBrowser()
	forger.SetCookie(&http.Cookie{Name: "claviger-known", Value: "Zm9yZ2Vk", Path: "/"})
	forger.Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusTooManyRequests, "Sign in")
	bob := h.NewBrowser().SignIn("bob@example.com", pagetest.Password)
	bob.Post("/sign-out")
	bob.Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusTooManyRequests, "Sign in")

	mine.Post("/sign-in", "email", strings.ToUpper(pagetest.Ann), "password", pagetest.Password).WantRedirect("/licenses")
	mine.WantSignedIn(pagetest.Ann)
	mine.Post("/sign-out")
	for range 9 {
		mine.Post("/sign-in", "email", pagetest.Ann, "password", "a guess").Want(http.StatusUnauthorized, "Sign in")
	}
}

// TestNewBrowserIsTold checks that users get an email about a sign-in from a new browser. There is
// none for a known browser or the first sign-in.
func TestNewBrowserIsTold(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, "")
	mine, mailed := h.NewBrowser(), 0
	told := func(want int, after string) {
		t.Helper()
		got := 0
		for _, m := range h.Emails(pagetest.Ann) {
			if strings.HasPrefix(m.Subject, "New sign-in to your account") {
				got++
				if !strings.Contains(m.Text, "Browser:          A browser") || !strings.Contains(m.Text, h.URL+"/account/security") {
					t.Errorf("the mail says\n%s", m.Text)
				}
			}
		}
		if got-mailed != want {
			t.Errorf("after %s: %d mails, want %d", after, got-mailed, want)
		}
		mailed = got
		h.Advance(time.Minute)
	}
	byLink := func(b *pagetest.Browser) {
		t.Helper()
		b.Post("/sign-in/send", "email", pagetest.Ann)
		b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as")
		b.WantSignedIn(pagetest.Ann)
		b.Post("/sign-out")
	}
	byLink(mine)
	told(0, "the first sign-in")
	byLink(mine)
	told(0, "another one with the same browser")
	byLink(h.NewBrowser())
	told(1, "one with another browser")
	h.SignIn.Accounts.Mail.Off = []mail.Kind{mail.NewSignIn}
	byLink(h.NewBrowser())
	told(0, "one while the mails are switched off")
}

// TestFullQueue checks that a full queue refuses strangers immediately, but not a known browser.
func TestFullQueue(t *testing.T) {
	h := pagetest.New(t)
	h.SignIn.Throttle = nil
	h.AddUser(pagetest.Ann, pagetest.Password)
	mine := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	mine.Post("/sign-out")
	// All clients being served wait for this row, in either database.
	held, release := make(chan struct{}), make(chan struct{})
	written := make(chan error, 1)
	go func() {
		written <- h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE password_tries SET count = count`)
			close(held)
			<-release
			return err
		})
	}()
	<-held
	const each, refused = 40, 40 - 1 - 8 // one is served, eight wait
	strangers, known := make(chan *pagetest.Page, each), make(chan *pagetest.Page, each)
	for range each {
		go func() { strangers <- h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", "a guess") }()
		go func() { known <- mine.Post("/sign-in", "email", pagetest.Ann, "password", "a guess") }()
	}
	for range refused {
		page := (<-strangers).Want(http.StatusServiceUnavailable, "Sign in")
		if page.Header.Get("Retry-After") != "2" || !strings.Contains(page.Text(), "Try again in 2 seconds, or request a sign-in link.") || page.Input("email") == nil {
			t.Errorf("Retry-After is %q, the page says %s", page.Header.Get("Retry-After"), page.Text())
		}
	}
	close(release)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	for range each {
		(<-known).Want(http.StatusUnauthorized, "Sign in")
	}
	for range each - refused {
		<-strangers // one more may have been refused, if the known ones came first
	}
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
}

// TestTooManyTries checks that an account's password is locked after a hundred wrong ones, for
// known and unknown addresses, and that the emailed link still works.
func TestTooManyTries(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	for _, email := range []string{pagetest.Ann, "nobody@example.com"} {
		h.NewBrowser().Post("/sign-in", "email", email, "password", "a guess").Want(http.StatusUnauthorized, "Sign in")
	}
	err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE password_tries SET count = 100`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, email := range []string{"nobody@example.com", pagetest.Ann} {
		b := h.NewBrowser()
		page := b.Post("/sign-in", "email", email, "password", pagetest.Password).Want(http.StatusTooManyRequests, "Sign in")
		texts = append(texts, page.Text()+page.Header.Get("Retry-After"))
		if email == pagetest.Ann {
			b.Follow(b.Press(page, "Send me a sign-in link")).Want(http.StatusOK, "Check your email")
			b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as").WantRedirect("/licenses")
			b.WantSignedIn(pagetest.Ann)
		}
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "Request a sign-in link: it works immediately.") {
		t.Errorf("the pages say\n%s\n%s", texts[0], texts[1])
	}
}

// TestNetworks checks that many networks of one household count as one client.
func TestNetworks(t *testing.T) {
	h := pagetest.New(t)
	from := func(i int) *pagetest.Page {
		b := h.NewBrowser()
		b.Address = fmt.Sprintf("2001:db8:1:%x00::1", i)
		return b.Post("/sign-in/send", "email", fmt.Sprintf("u%d@example.com", i))
	}
	for i := range 80 { // four times the limit of one
		from(i).WantRedirect("/check-mail")
	}
	from(80).Want(http.StatusTooManyRequests, "Sign in")
}
