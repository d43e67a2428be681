package signin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/visitor/pagetest"
)

func TestSignIn(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser()
	b.WantSignedIn("")

	page := b.Get("/account")
	page.WantRedirect("/sign-in?next=%2Faccount")
	b.Press(b.Follow(page), "Sign in", "email", " Ann@Example.com ", "password", pagetest.Password).WantRedirect("/account")
	b.WantSignedIn(pagetest.Ann)
	b.Get("/sign-in").WantRedirect("/licenses")
	b.Get("/sign-in?next=%2Faccount").WantRedirect("/account")
	b.Get("/sign-up?next=%2Faccount").WantRedirect("/account")
	if got := pagetest.Attr(b.Get("/sign-in?again=1").Want(http.StatusOK, "Sign in").Input("email"), "value"); got != pagetest.Ann {
		t.Errorf("who is to sign in again finds the address %q", got)
	}

	b.Press(b.Get("/account"), "Sign out").WantRedirect("/")
	b.WantSignedIn("")
}

func TestSignOutToBeSomebodyElse(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	b.Post("/sign-out", "next", "/licensing/x/redeem/").WantRedirect("/sign-in?next=%2Flicensing%2Fx%2Fredeem%2F")
	b.WantSignedIn("")
}

func TestMistakesShowTheFormAgain(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser()
	tests := []struct {
		name, page, button, title string
		typed                     []string
		status                    int
		field, says               string // the invalid field, "" for none in particular
	}{
		{"no address", "/sign-in", "Sign in", "Sign in", []string{"password", "some password"}, 422, "email", "Enter your email address."},
		{"no password", "/sign-in", "Sign in", "Sign in", []string{"email", pagetest.Ann}, 422, "password", "Enter your password, or request a sign-in link."},
		{"wrong", "/sign-in", "Sign in", "Sign in", []string{"email", pagetest.Ann, "password", "nope nope"}, 401, "", "The email address or the password is wrong."},
		{"link to no address", "/sign-in", "Send me a sign-in link", "Sign in", []string{"email", "ann"}, 422, "email", "This is not an email address."},
		{"sign up without address", "/sign-up", "Create account", "Create an account", []string{"password", pagetest.Password}, 422, "email", "Enter your email address."},
		{"sign up, bad address", "/sign-up", "Create account", "Create an account", []string{"email", "a@b@c", "password", pagetest.Password}, 422, "email", "This is not an email address."},
		{"sign up, short password", "/sign-up", "Create account", "Create an account", []string{"email", "new@example.com", "password", "seven77"}, 422, "password", "Password must have at least 8 characters"},
		{"sign up, name too long", "/sign-up", "Create account", "Create an account", []string{"name", strings.Repeat("x", 101), "email", "new@example.com", "password", pagetest.Password}, 422, "name", "This name cannot be used."},
		{"reset of no address", "/reset", "Send me a link", "Reset your password", []string{"email", ""}, 422, "email", "Enter your email address."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.In(t)
			page := b.Press(b.Get(tt.page+"?next=%2Faccount"), tt.button, tt.typed...).Want(tt.status, tt.title)
			if n := strings.Count(page.Text(), tt.says); tt.field != "" && n != 2 || n < 1 {
				t.Errorf("%q is said %d times: %s", tt.says, n, page.Text())
			}
			for name, values := range pagetest.Fields(tt.typed) {
				if got := pagetest.Attr(page.Input(name), "value"); name != "password" && got != values[0] {
					t.Errorf("%s holds %q", name, got)
				}
			}
			if got := pagetest.Attr(page.Input("next"), "value"); got != "/account" {
				t.Errorf("the form goes on to %q", got)
			}
			for _, name := range []string{"email", "password", "name"} {
				if in := page.Input(name); in != nil && (pagetest.Attr(in, "aria-invalid") == "true") != (name == tt.field) {
					t.Errorf("%s: aria-invalid is %q", name, pagetest.Attr(in, "aria-invalid"))
				}
			}
		})
	}
	if n := len(h.Emails("new@example.com")); n > 0 {
		t.Errorf("%d mails were sent after mistakes", n)
	}
}

// strangers cannot sign in with a password, each for a reason that must not be revealed.
var strangers = []string{"nobody@example.com", "without@example.com", "wrongpw@example.com", "not an address"}

func strange(t *testing.T) *pagetest.Service {
	t.Helper()
	h := pagetest.New(t)
	h.AddUser(strangers[1], "")
	h.AddUser(strangers[2], pagetest.Password)
	return h
}

// blank returns an answer without the typed address.
func blank(s *pagetest.Page, email string) string {
	return fmt.Sprintf("%d Retry-After:%s Location:%s\n%s", s.Status, s.Header.Get("Retry-After"), s.Header.Get("Location"), strings.ReplaceAll(s.Body, email, "ADDRESS"))
}

func TestSameAnswerWhateverIsWrong(t *testing.T) {
	h := strange(t)
	var first []string
	for i, email := range strangers {
		b := h.NewBrowser()
		var answers []string
		for range 11 { // the last is over the limit
			answers = append(answers, blank(b.Post("/sign-in", "email", email, "password", "not the password"), email))
		}
		if i == 0 {
			first = answers
			if !strings.HasPrefix(first[9], "401 ") || !strings.HasPrefix(first[10], "429 Retry-After:6 ") {
				t.Fatalf("the tenth answer is %.20q, the eleventh %.20q", first[9], first[10])
			}
		}
		if d := cmp.Diff(first, answers); d != "" {
			t.Errorf("%s is told apart (-%s +%s):\n%s", email, strangers[0], email, d)
		}
	}
}

func TestSameAnswerToWhoAsksForMail(t *testing.T) {
	for _, path := range []string{"/sign-in/send", "/reset", "/sign-up"} {
		t.Run(path, func(t *testing.T) {
			h := strange(t)
			var first []string
			for i, email := range strangers[:3] {
				b := h.NewBrowser()
				var answers []string
				for range 6 { // the last is over the limit
					s := b.Post(path, "email", email, "password", "another password", "next", "/account")
					answers = append(answers, blank(s, email)+blank(b.Follow(s), email))
				}
				if i == 0 {
					first = answers
					if !strings.HasPrefix(first[4], "303 ") || !strings.HasPrefix(first[5], "429 Retry-After:12 ") {
						t.Fatalf("the fifth answer is %.20q, the sixth %.20q", first[4], first[5])
					}
				}
				if d := cmp.Diff(first, answers); d != "" {
					t.Errorf("%s is told apart (-%s +%s):\n%s", email, strangers[0], email, d)
				}
				known := i > 0 || path == "/sign-up"
				if n := len(h.Emails(email)); known != (n > 0) {
					t.Errorf("%s got %d mails", email, n)
				}
			}
		})
	}
}

// TestThrottledAccountCanUseALink checks that locking an account by trying passwords does not lock
// out its owner.
func TestThrottledAccountCanUseALink(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	for i := range 12 {
		h.NewBrowser().Post("/sign-in", "email", []string{pagetest.Ann, "ANN@example.com"}[i%2], "password", "a guess")
	}
	b := h.NewBrowser()
	page := b.Press(b.Get("/sign-in?next=%2Faccount"), "Sign in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusTooManyRequests, "Sign in")
	if got := page.Header.Get("Retry-After"); got != "6" || !strings.Contains(page.Text(), "Wait 6 seconds") {
		t.Errorf("Retry-After is %q, the page says %s", got, page.Text())
	}
	b.Follow(b.Press(page, "Send me a sign-in link")).Want(http.StatusOK, "Check your email")
	b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as a•••@example.com").WantRedirect("/account")
	b.WantSignedIn(pagetest.Ann)

	h.Advance(6 * time.Second)
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
}

func TestThrottledClient(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser()
	for i := range 30 {
		b.Post("/sign-in", "email", fmt.Sprintf("u%d@example.com", i), "password", "a guess").Want(http.StatusUnauthorized, "Sign in")
	}
	b.Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusTooManyRequests, "Sign in")
	h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)

	for i := range 20 {
		b.Follow(b.Post("/sign-in/send", "email", fmt.Sprintf("u%d@example.com", i))).Want(http.StatusOK, "Check your email")
	}
	b.Post("/sign-in/send", "email", pagetest.Ann).Want(http.StatusTooManyRequests, "Sign in")
	b.Post("/sign-up", "email", pagetest.Ann, "password", pagetest.Password).Want(http.StatusTooManyRequests, "Create an account")
	b.Post("/reset", "email", pagetest.Ann).Want(http.StatusTooManyRequests, "Reset your password")
	other := h.NewBrowser()
	other.Follow(other.Post("/reset", "email", pagetest.Ann)).Want(http.StatusOK, "Check your email")
	if n := len(h.Emails(pagetest.Ann)); n != 2 { // the other one is about the sign-in
		t.Errorf("%d mails were sent, want two", n)
	}
}

// TestSessionIsRenewed checks that a sign-in replaces the session, which an attacker may have
// planted.
func TestSessionIsRenewed(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	ways := map[string]func(b *pagetest.Browser){
		"password": func(b *pagetest.Browser) { b.SignIn(pagetest.Ann, pagetest.Password) },
		"link": func(b *pagetest.Browser) {
			b.Post("/sign-in/send", "email", pagetest.Ann)
			b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as").WantRedirect("/licenses")
		},
	}
	for name, enter := range ways {
		t.Run(name, func(t *testing.T) {
			b, thief := h.In(t).NewBrowser(), h.NewBrowser()
			b.Post("/sign-up", "email", "other@example.com", "password", pagetest.Password) // makes a session
			planted := b.Cookie()
			enter(b)
			b.WantSignedIn(pagetest.Ann)
			if b.Cookie().Value == planted.Value {
				t.Error("the session has the token of before")
			}
			thief.SetCookie(planted)
			thief.WantSignedIn("")
		})
	}
}

func TestSignOutEndsTheSession(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b, thief := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password), h.NewBrowser()
	kept := b.Cookie()
	b.Press(b.Get("/account"), "Sign out").WantRedirect("/")
	thief.SetCookie(kept)
	thief.WantSignedIn("")
}

// elsewhere has addresses that lead to another site, at least in some browsers.
var elsewhere = []string{
	"https://evil.example/", "//evil.example/", "///evil.example", `/\evil.example`, `\\evil.example`, `/./\evil.example`, `/..//\evil.example`,
	`/x/../\evil.example`, "javascript:alert(1)", "evil.example", "http:evil.example", "/\t/evil.example", "/\n/evil.example", " //evil.example",
	"/\u0000/evil.example", "@evil.example", "?next=//evil.example", "/%zz", "/" + strings.Repeat("x", 24<<10), "/\xff",
}

func TestOpenRedirects(t *testing.T) {
	h := pagetest.New(t)
	h.SignIn.Throttle = nil
	h.AddUser(pagetest.Ann, pagetest.Password)
	for _, next := range elsewhere {
		t.Run(next[:min(len(next), 30)], func(t *testing.T) {
			b := h.In(t).NewBrowser()
			for _, page := range []string{"/sign-in", "/sign-up", "/reset"} {
				s := b.Get(page + "?next=" + url.QueryEscape(next))
				if got := pagetest.Attr(s.Input("next"), "value"); got != "" {
					t.Errorf("%s passes %q on", page, got)
				}
			}
			s := b.Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password, "next", next)
			if s.Status == http.StatusBadRequest { // requests that no browser sends may be refused completely
				b.SignIn(pagetest.Ann, pagetest.Password)
			} else {
				s.WantRedirect("/licenses")
			}
			b.Get("/sign-in?next=" + url.QueryEscape(next)).WantRedirect("/licenses")
			b.Get("/sign-up?next=" + url.QueryEscape(next)).WantRedirect("/licenses")
			if got := pagetest.Attr(b.Get("/account/password?next="+url.QueryEscape(next)).Input("next"), "value"); got != "" {
				t.Errorf("the password page passes %q on", got)
			}
			s = b.Post("/sign-out", "next", next)
			if s.Status != http.StatusBadRequest {
				s.WantRedirect("/")
			}
			s = b.Post("/sign-in/send", "email", pagetest.Ann, "next", next)
			if s.Status != http.StatusBadRequest {
				b.Press(b.Get(h.MailedLink(pagetest.Ann)), "Continue as").WantRedirect("/licenses")
			}
		})
	}
}

func TestNextIsPassedOn(t *testing.T) {
	h := pagetest.New(t)
	const next, escaped = "/licensing/a?b=c&d=/e", "%2flicensing%2fa%3fb%3dc%26d%3d%2fe"
	b := h.NewBrowser()
	for _, page := range []string{"/sign-in", "/sign-up", "/reset"} {
		s := b.Get(page + "?next=" + url.QueryEscape(next))
		if got := pagetest.Attr(s.Input("next"), "value"); got != next {
			t.Errorf("%s goes on to %q", page, got)
		}
		for _, other := range []string{"/sign-in", "/sign-up"} {
			if page == other || page == "/reset" && other == "/sign-up" {
				continue
			}
			if want := `href="` + other + "?next=" + escaped + `"`; !strings.Contains(s.Body, want) {
				t.Errorf("%s has no %s", page, want)
			}
		}
	}
	h.AddUser(pagetest.Ann, pagetest.Password)
	b.Press(b.Get("/sign-in?next="+url.QueryEscape(next)), "Sign in", "email", pagetest.Ann, "password", pagetest.Password).WantRedirect(next)
}

func TestCookies(t *testing.T) {
	for name, h := range map[string]*pagetest.Service{"http": pagetest.New(t), "https": pagetest.NewSecure(t)} {
		t.Run(name, func(t *testing.T) {
			h.In(t).AddUser(pagetest.Ann, pagetest.Password)
			s := h.NewBrowser().Post("/sign-in", "email", pagetest.Ann, "password", pagetest.Password)
			lives := map[string]time.Duration{}
			for _, line := range s.Header.Values("Set-Cookie") {
				cookie, err := http.ParseSetCookie(line)
				if err != nil {
					t.Fatal(err)
				}
				want := http.Cookie{Name: strings.TrimPrefix(cookie.Name, "__Host-"), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
				if name == "https" {
					want.Name, want.Secure = "__Host-"+want.Name, true
				}
				got := http.Cookie{Name: cookie.Name, Path: cookie.Path, Domain: cookie.Domain, HttpOnly: cookie.HttpOnly, SameSite: cookie.SameSite, Secure: cookie.Secure}
				if d := cmp.Diff(want, got); d != "" || len(cookie.Value) < 32 {
					t.Errorf("cookie of %d characters (-want +got):\n%s", len(cookie.Value), d)
				}
				lives[strings.TrimPrefix(cookie.Name, "__Host-")] = time.Duration(cookie.MaxAge) * time.Second
			}
			if len(lives) != 2 || lives["claviger"] > 30*24*time.Hour || lives["claviger-known"] != 180*24*time.Hour {
				t.Errorf("the cookies live %v", lives)
			}
		})
	}
}

func TestNobodyGetsACookieForLooking(t *testing.T) {
	h := pagetest.New(t)
	b := h.NewBrowser()
	for _, path := range []string{"/", "/sign-in", "/sign-up", "/reset", "/check-mail", "/goodbye", "/sign-in/link?token=x", "/account", pagetest.AuthorizeURL(h.AuthorizeRequest())} {
		if c := b.Get(path).Header.Get("Set-Cookie"); c != "" {
			t.Errorf("%s sets the cookie %s", path, c)
		}
	}
}

// TestFormsOfOtherSites checks that no form can be sent from another site. The exception is the one
// that OpenID requires to be open, which has no effect on its own.
func TestFormsOfOtherSites(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	before := len(h.Emails(pagetest.Ann))
	for _, route := range h.Routes() {
		// Stripe signs its posts.
		if route.Method != http.MethodPost || route.Path == "/openid/authorize" || route.Path == "/stripe/webhook" {
			continue
		}
		path := strings.NewReplacer("{id}", "1").Replace(route.Path)
		form := url.Values{"email": {pagetest.Ann}, "password": {pagetest.Password}, "confirm": {pagetest.Ann}}
		for _, site := range []string{"cross-site", "same-site"} {
			if s := b.Do(http.MethodPost, path, form, site); s.Status != http.StatusForbidden {
				t.Errorf("POST %s from %s: %d, want 403", path, site, s.Status)
			}
		}
	}
	b.WantSignedIn(pagetest.Ann)
	if n := len(h.Emails(pagetest.Ann)) - before; n > 0 {
		t.Errorf("%d mails were sent for forms of other sites", n)
	}
}
