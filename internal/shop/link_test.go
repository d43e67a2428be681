package shop_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/wire"
)

func TestSignInByLink(t *testing.T) {
	h := build(t)
	h.user(ann, "")
	b := h.browser()
	page := b.follow(b.press(b.get("/sign-in?next=%2Faccount"), "Send me a sign-in link", "email", ann)).want(http.StatusOK, "Check your mail")
	if !strings.Contains(page.text(), ann) {
		t.Errorf("the page does not name the address: %s", page.text())
	}

	// A mail scanner looks at the link, and so does a browser that is signed in as
	// somebody else.
	link := h.link(ann)
	for range 3 {
		h.browser().get(link).want(http.StatusOK, "Welcome back")
	}
	h.user("bob@example.com", password)
	bob := h.browser().signIn("bob@example.com", password)
	opened := bob.get(link).want(http.StatusOK, "Welcome back")
	if !strings.Contains(opened.text(), "You are signed in as bob@example.com.") || strings.Contains(opened.Body, ann) {
		t.Errorf("bob reads: %s", opened.text())
	}
	bob.signedIn("bob@example.com")

	b.press(b.get(link), "Continue as a•••@example.com").leads("/account")
	b.signedIn(ann)
	late := h.browser()
	late.post("/sign-in/link", "token", strings.TrimPrefix(link, "/sign-in/link?token=")).want(http.StatusGone, "This link was used already")
	late.signedIn("")
}

func TestDeadLinks(t *testing.T) {
	h := build(t)
	h.user(ann, "")
	b := h.browser()
	send := func() string {
		b.follow(b.post("/sign-in/send", "email", ann)).want(http.StatusOK, "Check your mail")
		return h.link(ann)
	}
	used := send()
	b.press(b.get(used), "Continue as").leads("/licenses")
	b.post("/sign-out")
	expired := send()
	h.advance(account.LinkLife)
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
			h.in(t)
			page := b.get(tt.link).want(tt.status, tt.title)
			_, token, _ := strings.Cut(tt.link, "token=")
			if tt.name != "not a token" {
				b.post("/sign-in/link", "token", token).want(tt.status, tt.title)
			}
			b.signedIn("")
			b.follow(b.press(page, "Send me a new link", "email", ann)).want(http.StatusOK, "Check your mail")
			b.press(b.get(h.link(ann)), "Continue as").leads("/licenses")
			b.signedIn(ann)
			b.post("/sign-out")
		})
	}
}

// TestDeadLinkKnowsTheWay: a link that does not work any more still leads to where
// it led, by a new one, by the password, or at once for whoever is signed in.
func TestDeadLinkKnowsTheWay(t *testing.T) {
	const next = "/account?x=1"
	h := build(t)
	h.user(ann, password)
	b, late := h.browser(), h.browser()
	b.post("/sign-in/send", "email", ann, "next", next)
	link := h.link(ann)
	b.press(b.get(link), "Continue as").leads(next)

	page := b.get(link).want(http.StatusGone, "This link was used already")
	if got := page.links(next)[next]; got != "Go on" || !strings.Contains(page.text(), "you are signed in as "+ann) {
		t.Errorf("who is signed in reads: %s", page.text())
	}
	b.get("/sign-in/link?token=x").want(http.StatusNotFound, "This link is not valid")
	if got := b.get("/sign-in/link?token=x").links("/licenses"); got["/licenses"] == "" {
		t.Errorf("a link that leads nowhere offers %v", got)
	}

	pages := []*sheet{late.get(link), late.post("/sign-in/link", "token", strings.TrimPrefix(link, "/sign-in/link?token="))}
	for _, page := range pages {
		page.want(http.StatusGone, "This link was used already")
		if got := page.links("/sign-in?next=%2faccount%3fx%3d1"); len(got) != 1 || strings.Contains(page.text(), "Go on") {
			t.Errorf("who is not signed in reads: %s", page.text())
		}
		late.press(page, "Send me a new link", "email", ann).leads("/check-mail?next=%2Faccount%3Fx%3D1")
	}
	late.press(late.get(h.link(ann)), "Continue as").leads(next)
}

func TestOperatorsLinkForSomebodyWithoutAddress(t *testing.T) {
	h := build(t)
	u, _, err := h.signin.Accounts.Create(t.Context(), tester, account.Person{ExternalID: "crm-7"})
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := h.signin.Accounts.Link(t.Context(), tester, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.press(b.get(strings.TrimPrefix(link, h.url)), "Continue").leads("/licenses")
	b.get("/account").want(http.StatusOK, "Your account")
	page := b.get("/account/delete").want(http.StatusOK, "Delete your account")
	b.press(page, "Delete my account", "confirm", "").want(http.StatusUnprocessableEntity, "Delete your account")
	b.follow(b.press(page, "Delete my account", "confirm", "delete")).want(http.StatusOK, "Goodbye")
}

// TestOperatorsLinkToAPage: the buyer lands where the operator wants them, and not
// outside.
func TestOperatorsLinkToAPage(t *testing.T) {
	h := build(t)
	u, l := h.user(ann, password), h.sell(ann, 1)
	link, _, err := h.signin.Accounts.Link(t.Context(), tester, u.ID, redeemPage(l))
	if err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	page := b.follow(b.press(b.get(strings.TrimPrefix(link, h.url)), "Continue"))
	page.want(http.StatusOK, "Your license for Tide Planner is ready")
	for _, next := range elsewhere {
		if _, _, err := h.signin.Accounts.Link(t.Context(), tester, u.ID, next); next != "" && !fault.Is(err, "invalid_field") {
			t.Errorf("a link to %.40q: %v", next, err)
		}
	}
}

func TestSignUp(t *testing.T) {
	h := build(t)
	b := h.browser()
	page := b.follow(b.press(b.get("/sign-up?next=%2Faccount"), "Create account", "email", ann, "name", "Ann", "password", password))
	page.want(http.StatusOK, "Check your mail")
	if !strings.Contains(page.text(), "We sent a mail to "+ann) {
		t.Errorf("the page says: %s", page.text())
	}
	b.signedIn("")
	b.post("/sign-in", "email", ann, "password", password).want(http.StatusUnauthorized, "Sign in")

	b.press(b.get(h.link(ann)).want(http.StatusOK, "Confirm your email address"), "Continue as a•••@example.com").leads("/account")
	b.signedIn(ann)
	h.browser().signIn(ann, password)
}

// TestSignUpForSomebodyElse: the password that a stranger typed for an address
// never becomes that of the person who reads the mail.
func TestSignUpForSomebodyElse(t *testing.T) {
	h := build(t)
	mallory, b := h.browser(), h.browser()
	mallory.follow(mallory.post("/sign-up", "email", ann, "name", "Mallory", "password", "mallory knows")).want(http.StatusOK, "Check your mail")
	s := b.press(b.get(h.link(ann)), "Continue as")
	s.leads("/account/password?next=")
	page := b.follow(s).want(http.StatusOK, "Choose a password")
	if page.input("current_password") != nil {
		t.Error("a person without a password is asked for it")
	}
	b.press(page, "Save the password", "password", "short").want(http.StatusUnprocessableEntity, "Choose a password")
	b.press(page, "Save the password", "password", password).leads("/account")
	b.signedIn(ann)
	mallory.post("/sign-in", "email", ann, "password", "mallory knows").want(http.StatusUnauthorized, "Sign in")
	h.browser().signIn(ann, password)
}

func TestChoosingAPasswordCanWait(t *testing.T) {
	h := build(t)
	mine, other := h.browser(), h.browser()
	mine.follow(mine.post("/sign-up", "email", ann, "password", password, "next", "/licenses?x=1")).want(http.StatusOK, "Check your mail")
	s := other.press(other.get(h.link(ann)), "Continue as")
	s.leads("/account/password?next=%2Flicenses%3Fx%3D1")
	if page := other.follow(s); !strings.Contains(page.Body, `<a href="/licenses?x=1">Not now</a>`) {
		t.Errorf("the page offers no way on: %s", page.text())
	}
	other.signedIn(ann)
}

// TestSignUpWithAnAccount: nobody learns of the account, and nothing changes.
func TestSignUpWithAnAccount(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser()
	b.follow(b.post("/sign-up", "email", ann, "password", "another password")).want(http.StatusOK, "Check your mail")
	b.press(b.get(h.link(ann)).want(http.StatusOK, "Welcome back"), "Continue as").leads("/licenses")
	h.browser().post("/sign-in", "email", ann, "password", "another password").want(http.StatusUnauthorized, "Sign in")
	h.browser().signIn(ann, password)
}

func TestReset(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b, other := h.browser(), h.browser().signIn(ann, password)
	page := b.press(b.get("/sign-in?next=%2Flicenses%3Fx%3D1"), "Sign in", "email", ann, "password", "forgotten").want(http.StatusUnauthorized, "Sign in")
	if !strings.Contains(page.Body, `href="/reset?next=%2flicenses%3fx%3d1"`) {
		t.Error("the way to the reset forgets where to go on to")
	}
	b.follow(b.press(b.get("/reset?next=%2Flicenses%3Fx%3D1"), "Send me a link", "email", ann)).want(http.StatusOK, "Check your mail")
	s := b.press(b.get(h.link(ann)).want(http.StatusOK, "Choose a new password"), "Continue as")
	s.leads("/account/password?next=%2Flicenses%3Fx%3D1")
	page = b.follow(s).want(http.StatusOK, "Choose a password")

	// The right to do without the current password is this browser's alone.
	if other.get("/account/password").want(http.StatusOK, "Change your password").input("current_password") == nil {
		t.Error("another browser may choose a password too")
	}
	other.post("/account/password", "password", "taken over now").want(http.StatusUnprocessableEntity, "Change your password")

	b.press(page, "Save the password", "password", "brand new words").leads("/licenses?x=1")
	b.signedIn(ann)
	other.signedIn("")
	h.browser().signIn(ann, "brand new words")
	h.browser().post("/sign-in", "email", ann, "password", password).want(http.StatusUnauthorized, "Sign in")
	if b.get("/account/password").want(http.StatusOK, "Change your password").input("current_password") == nil {
		t.Error("the right serves twice")
	}
}

func TestResetIsOverAfterAWhile(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser()
	b.post("/reset", "email", ann)
	page := b.follow(b.press(b.get(h.link(ann)), "Continue as")).want(http.StatusOK, "Choose a password")
	h.advance(31 * time.Minute)
	b.press(page, "Save the password", "password", "brand new words").want(http.StatusUnprocessableEntity, "Change your password")
	h.browser().signIn(ann, password)
}

// TestRightIsNotInherited: whoever signs in next at this browser has to know the
// current password.
func TestRightIsNotInherited(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	h.user("bob@example.com", password)
	b := h.browser()
	b.post("/reset", "email", ann)
	b.press(b.get(h.link(ann)), "Continue as").leads("/account/password?next=")
	b.post("/sign-in", "email", "bob@example.com", "password", password).leads("/licenses")
	if b.get("/account/password").want(http.StatusOK, "Change your password").input("current_password") == nil {
		t.Error("bob may choose a password because ann might have")
	}
}

// TestBodiesThatNoFormSends are refused, on both databases, and not an error of
// ours.
func TestBodiesThatNoFormSends(t *testing.T) {
	h := build(t)
	b := h.browser()
	for _, path := range []string{"/sign-in", "/sign-in/send", "/sign-in/link", "/sign-up", "/reset"} {
		for name, bad := range map[string]string{"NUL": "a\x00b", "not UTF-8": "a\xffb", "large": strings.Repeat("x", 70<<10)} {
			s := b.post(path, "email", bad, "password", bad, "token", bad, "name", bad, "next", bad)
			if s.Status < 400 || s.Status >= 500 {
				t.Errorf("%s with a value that is %s: %d", path, name, s.Status)
			}
		}
	}
	if wire.DefaultBodyLimit < 70<<10 {
		t.Error("the large body of this test is not told from one that the server itself refuses")
	}
}

// TestBodyOfAGet: nobody makes us read, or write to the disk, what comes along with
// a request that has no form.
func TestBodyOfAGet(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser().signIn(ann, password)
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
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/sign-in", &body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", form.FormDataContentType())
		answer, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got := answer.Header.Get("Location"); got != want {
			t.Errorf("with %d bytes before it, next leads to %q, want %q", padding, got, want)
		}
	}
}

// TestJunkLinksAreThrottled: by the address that they come from, and no link that
// works is refused because of them.
func TestJunkLinksAreThrottled(t *testing.T) {
	h := build(t)
	h.user(ann, "")
	b := h.browser()
	b.post("/sign-in/send", "email", ann)
	junk := func() *sheet { return b.post("/sign-in/link", "token", "junk") }
	for range 20 {
		junk().want(http.StatusNotFound, "This link is not valid")
	}
	page := junk().want(http.StatusTooManyRequests, "This link is not valid")
	if got := page.Header.Get("Retry-After"); got != "3" || !strings.Contains(page.text(), "wait 3 seconds") {
		t.Errorf("Retry-After is %q, the page says %s", got, page.text())
	}
	h.browser().post("/sign-in/link", "token", "junk").want(http.StatusNotFound, "This link is not valid") // from elsewhere
	b.press(b.get(h.link(ann)), "Continue as").leads("/licenses")
	b.signedIn(ann)
	h.advance(3 * time.Second)
	junk().want(http.StatusNotFound, "This link is not valid")
}
