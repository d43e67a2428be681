package signin_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/visitor/pagetest"
	"claviger/internal/wire"
)

func TestSignInByLink(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, "")
	b := h.NewBrowser()
	page := b.Follow(b.Press(b.Get("/sign-in?next=%2Faccount"), "Send me a sign-in link", "email", pagetest.Ann)).Want(http.StatusOK, "Check your email")
	if !strings.Contains(page.Text(), pagetest.Ann) {
		t.Errorf("the page does not name the address: %s", page.Text())
	}

	// An email scanner opens the link, and so does a browser that is signed in as another user.
	link := h.MailedLink(pagetest.Ann)
	for range 3 {
		h.NewBrowser().Get(link).Want(http.StatusOK, "Welcome back")
	}
	h.AddUser("bob@example.com", pagetest.Password)
	bob := h.NewBrowser().SignIn("bob@example.com", pagetest.Password)
	opened := bob.Get(link).Want(http.StatusOK, "Welcome back")
	if !strings.Contains(opened.Text(), "You are signed in as bob@example.com.") || strings.Contains(opened.Body, pagetest.Ann) {
		t.Errorf("bob reads: %s", opened.Text())
	}
	bob.WantSignedIn("bob@example.com")

	b.Press(b.Get(link), "Continue as a•••@example.com").WantRedirect("/account")
	b.WantSignedIn(pagetest.Ann)
	late := h.NewBrowser()
	late.Post("/sign-in/link", "token", strings.TrimPrefix(link, "/sign-in/link?token=")).Want(http.StatusGone, "This link was used already")
	late.WantSignedIn("")
}

func TestLinksThatNoLongerWork(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, "")
	b := h.NewBrowser()
	send := func() string {
		b.Follow(b.Post("/sign-in/send", "email", pagetest.Ann)).Want(http.StatusOK, "Check your email")
		return h.MailedLink(pagetest.Ann)
	}
	used := send()
	b.Press(b.Get(used), "Continue as").WantRedirect("/licenses")
	b.Post("/sign-out")
	expired := send()
	h.Advance(account.LinkLife)
	tests := []struct {
		name, link, title string
		status            int
	}{
		{"used", used, "This link was used already", http.StatusGone},
		{"expired", expired, "This link no longer works", http.StatusGone},
		{"cut short", used[:len(used)-3], "This link is not valid", http.StatusNotFound},
		{"without a token", "/sign-in/link", "This link is not valid", http.StatusNotFound},
		{"not a token", "/sign-in/link?token=%00%ff", "This link is not valid", http.StatusNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.In(t)
			page := b.Get(tt.link).Want(tt.status, tt.title)
			_, token, _ := strings.Cut(tt.link, "token=")
			if tt.name != "not a token" {
				b.Post("/sign-in/link", "token", token).Want(tt.status, tt.title)
			}
			b.WantSignedIn("")
			b.Follow(b.Press(page, "Send me a new link", "email", pagetest.Ann)).Want(http.StatusOK, "Check your email")
			b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as").WantRedirect("/licenses")
			b.WantSignedIn(pagetest.Ann)
			b.Post("/sign-out")
		})
	}
}

// TestExpiredLinkLeadsToItsPage checks that an expired link still leads to its page: by a new link,
// by the password, or immediately if the visitor is signed in.
func TestExpiredLinkLeadsToItsPage(t *testing.T) {
	const next = "/account?x=1"
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b, late := h.NewBrowser(), h.NewBrowser()
	b.Post("/sign-in/send", "email", pagetest.Ann, "next", next)
	link := h.MailedLink(pagetest.Ann)
	b.Press(b.Get(link), "Continue as").WantRedirect(next)

	page := b.Get(link).Want(http.StatusGone, "This link was used already")
	if got := page.Links(next)[next]; got != "Continue" || !strings.Contains(page.Text(), "already signed in as "+pagetest.Ann) {
		t.Errorf("who is signed in reads: %s", page.Text())
	}
	b.Get("/sign-in/link?token=x").Want(http.StatusNotFound, "This link is not valid")
	if got := b.Get("/sign-in/link?token=x").Links("/licenses"); got["/licenses"] == "" {
		t.Errorf("a link that leads nowhere offers %v", got)
	}

	pages := []*pagetest.Page{late.Get(link), late.Post("/sign-in/link", "token", strings.TrimPrefix(link, "/sign-in/link?token="))}
	for _, page := range pages {
		page.Want(http.StatusGone, "This link was used already")
		if got := page.Links("/sign-in?next=%2faccount%3fx%3d1"); len(got) != 1 || strings.Contains(page.Text(), "Continue") {
			t.Errorf("who is not signed in reads: %s", page.Text())
		}
		late.Press(page, "Send me a new link", "email", pagetest.Ann).WantRedirect("/check-mail?next=%2Faccount%3Fx%3D1")
	}
	late.Press(late.Get(h.MailedLink(pagetest.Ann)), "Continue as").WantRedirect(next)
}

func TestOperatorsLinkForSomebodyWithoutAddress(t *testing.T) {
	h := pagetest.New(t)
	u, _, err := h.SignIn.Accounts.Create(t.Context(), pagetest.Tester, account.Person{ExternalID: "crm-7"})
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := h.SignIn.Accounts.Link(t.Context(), pagetest.Tester, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	b := h.NewBrowser()
	b.Press(b.Get(strings.TrimPrefix(link, h.URL)), "Continue").WantRedirect("/licenses")
	b.Get("/account").Want(http.StatusOK, "Your account")
	for _, path := range []string{"/account/delete", "/account/email", "/account/password", "/account/security/codes"} {
		if page := b.Get(path).Want(http.StatusForbidden, "You don't have access to this page"); !strings.Contains(page.Text(), "Contact us") {
			t.Errorf("%s says: %s", path, page.Text())
		}
	}
}

// TestOperatorsLinkToAPage checks that the buyer is redirected to the operator's page, and not to
// another site.
func TestOperatorsLinkToAPage(t *testing.T) {
	h := pagetest.New(t)
	u, l := h.AddUser(pagetest.Ann, pagetest.Password), h.Sell(pagetest.Ann, 1)
	link, _, err := h.SignIn.Accounts.Link(t.Context(), pagetest.Tester, u.ID, pagetest.RedeemPath(l))
	if err != nil {
		t.Fatal(err)
	}
	b := h.NewBrowser()
	page := b.Follow(b.Press(b.Get(strings.TrimPrefix(link, h.URL)), "Continue"))
	page.Want(http.StatusOK, "Your license for Tide Planner is ready")
	for _, next := range elsewhere {
		if _, _, err := h.SignIn.Accounts.Link(t.Context(), pagetest.Tester, u.ID, next); next != "" && !fault.Is(err, "invalid_field") {
			t.Errorf("a link to %.40q: %v", next, err)
		}
	}
}

func TestSignUp(t *testing.T) {
	h := pagetest.New(t)
	b := h.NewBrowser()
	page := b.Follow(b.Press(b.Get("/sign-up?next=%2Faccount"), "Create account", "email", pagetest.Ann, "name", "Ann", "password", pagetest.Password))
	page.Want(http.StatusOK, "Check your email")
	if !strings.Contains(page.Text(), "We sent an email to "+pagetest.Ann) {
		t.Errorf("the page says: %s", page.Text())
	}
	b.WantSignedIn("")
	b.Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusUnauthorized, "Sign in")

	b.Press(b.Get(h.MailedLink(pagetest.Ann)).Want(http.StatusOK, "Confirm your email address"), "Continue as a•••@example.com").WantRedirect("/account")
	b.WantSignedIn(pagetest.Ann)
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
}

// TestSignUpForSomebodyElse checks that the password that a stranger typed for an address never
// becomes that of the reader of the email.
func TestSignUpForSomebodyElse(t *testing.T) {
	h := pagetest.New(t)
	mallory, b := h.NewBrowser(), h.NewBrowser()
	mallory.Follow(mallory.Post("/sign-up", "email", pagetest.Ann, "name", "Mallory", "password", "mallory knows")).Want(http.StatusOK, "Check your email")
	s := b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as")
	s.WantRedirect("/account/password?next=")
	page := b.Follow(s).Want(http.StatusOK, "Choose a password")
	if page.Input("current_password") != nil {
		t.Error("a person without a password is asked for it")
	}
	b.Press(page, "Save the password", "password", "short").Want(http.StatusUnprocessableEntity, "Choose a password")
	b.Press(page, "Save the password", "password", pagetest.Password).WantRedirect("/account")
	b.WantSignedIn(pagetest.Ann)
	mallory.Post("/sign-in", "email", pagetest.Ann, "password", "mallory knows").Want(http.StatusUnauthorized, "Sign in")
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
}

func TestChoosingAPasswordCanWait(t *testing.T) {
	h := pagetest.New(t)
	mine, other := h.NewBrowser(), h.NewBrowser()
	mine.Follow(mine.Post("/sign-up", "email", pagetest.Ann, "password", pagetest.Password, "next", "/licenses?x=1")).Want(http.StatusOK, "Check your email")
	s := other.Press(other.Get(h.MailedLink(pagetest.Ann)), "Continue as")
	s.WantRedirect("/account/password?next=%2Flicenses%3Fx%3D1")
	if page := other.Follow(s); !strings.Contains(page.Body, `<a href="/licenses?x=1">Not now</a>`) {
		t.Errorf("the page offers no way on: %s", page.Text())
	}
	other.WantSignedIn(pagetest.Ann)
}

// TestSignUpWithAnAccount checks that the account is not revealed, and nothing changes.
func TestSignUpWithAnAccount(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser()
	b.Follow(b.Post("/sign-up", "email", pagetest.Ann, "password", "another password")).Want(http.StatusOK, "Check your email")
	b.Press(b.Get(h.MailedLink(pagetest.Ann)).Want(http.StatusOK, "Welcome back"), "Continue as").WantRedirect("/licenses")
	h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", "another password").Want(http.StatusUnauthorized, "Sign in")
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
}

func TestReset(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b, other := h.NewBrowser(), h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	page := b.Press(b.Get("/sign-in?next=%2Flicenses%3Fx%3D1"), "Sign in", "email", pagetest.Ann, "password", "forgotten").Want(http.StatusUnauthorized, "Sign in")
	if !strings.Contains(page.Body, `href="/reset?next=%2flicenses%3fx%3d1"`) {
		t.Error("the link to the reset page loses the next page")
	}
	b.Follow(b.Press(b.Get("/reset?next=%2Flicenses%3Fx%3D1"), "Send me a link", "email", pagetest.Ann)).Want(http.StatusOK, "Check your email")
	s := b.Press(b.Get(h.MailedLink(pagetest.Ann)).Want(http.StatusOK, "Choose a new password"), "Continue as")
	s.WantRedirect("/account/password?next=%2Flicenses%3Fx%3D1")
	page = b.Follow(s).Want(http.StatusOK, "Choose a password")

	// Only this browser may skip the current password.
	if other.Get("/account/password").Want(http.StatusOK, "Change your password").Input("current_password") == nil {
		t.Error("another browser may choose a password too")
	}
	other.Post("/account/password", "password", "taken over now").Want(http.StatusUnprocessableEntity, "Change your password")

	b.Press(page, "Save the password", "password", "brand new words").WantRedirect("/licenses?x=1")
	b.WantSignedIn(pagetest.Ann)
	other.WantSignedIn("")
	h.NewBrowser().SignIn(pagetest.Ann, "brand new words")
	h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusUnauthorized, "Sign in")
	if b.Get("/account/password").Want(http.StatusOK, "Change your password").Input("current_password") == nil {
		t.Error("the right serves twice")
	}
}

func TestResetExpires(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser()
	b.Post("/reset", "email", pagetest.Ann)
	page := b.Follow(b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as")).Want(http.StatusOK, "Choose a password")
	h.Advance(31 * time.Minute)
	b.Press(page, "Save the password", "password", "brand new words").Want(http.StatusUnprocessableEntity, "Change your password")
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
}

// TestResetIsOnlyForItsUser checks that the next user of this browser needs the current password.
func TestResetIsOnlyForItsUser(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser("bob@example.com", pagetest.Password)
	b := h.NewBrowser()
	b.Post("/reset", "email", pagetest.Ann)
	b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as").WantRedirect("/account/password?next=")
	b.Post("/sign-in", "email", "bob@example.com", "password", pagetest.Password).WantRedirect("/licenses")
	if b.Get("/account/password").Want(http.StatusOK, "Change your password").Input("current_password") == nil {
		t.Error("bob may choose a password because ann might have")
	}
}

// TestBodiesThatNoFormSends checks that they are refused, on both databases, and are no internal
// error.
func TestBodiesThatNoFormSends(t *testing.T) {
	h := pagetest.New(t)
	b := h.NewBrowser()
	for _, path := range []string{"/sign-in", "/sign-in/send", "/sign-in/link", "/sign-up", "/reset"} {
		for name, bad := range map[string]string{"NUL": "a\x00b", "not UTF-8": "a\xffb", "large": strings.Repeat("x", 70<<10)} {
			s := b.Post(path, "email", bad, "password", bad, "token", bad, "name", bad, "next", bad)
			if s.Status < 400 || s.Status >= 500 {
				t.Errorf("%s with a value that is %s: %d", path, name, s.Status)
			}
		}
	}
	if wire.DefaultBodyLimit < 70<<10 {
		t.Error("the large body of this test is not told from one that the server itself refuses")
	}
}

// TestBodyOfAGet checks that the body of a request without a form is neither read nor written to
// disk.
func TestBodyOfAGet(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	for padding, want := range map[int]string{1: "/account", 100 << 10: "/licenses"} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		for _, field := range [][2]string{{"padding", strings.Repeat("x", padding)}, {"next", "/account"}} {
			if err := form.WriteField(field[0], field[1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := form.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/sign-in", &body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", form.FormDataContentType())
		answer, err := b.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := answer.Header.Get("Location"); got != want {
			t.Errorf("with %d bytes before it, next leads to %q, want %q", padding, got, want)
		}
	}
}

// TestJunkLinksAreThrottled checks that they are limited by client address, and that working links
// are not refused because of them.
func TestJunkLinksAreThrottled(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, "")
	b := h.NewBrowser()
	b.Post("/sign-in/send", "email", pagetest.Ann)
	junk := func() *pagetest.Page { return b.Post("/sign-in/link", "token", "junk") }
	for range 20 {
		junk().Want(http.StatusNotFound, "This link is not valid")
	}
	page := junk().Want(http.StatusTooManyRequests, "This link is not valid")
	if got := page.Header.Get("Retry-After"); got != "3" || !strings.Contains(page.Text(), "wait 3 seconds") {
		t.Errorf("Retry-After is %q, the page says %s", got, page.Text())
	}
	// A new browser has another address.
	h.NewBrowser().Post("/sign-in/link", "token", "junk").Want(http.StatusNotFound, "This link is not valid")
	b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as").WantRedirect("/licenses")
	b.WantSignedIn(pagetest.Ann)
	h.Advance(3 * time.Second)
	junk().Want(http.StatusNotFound, "This link is not valid")
}
