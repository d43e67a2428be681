package shop_test

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	ann      = "ann@example.com"
	password = "correct horse battery"
)

func TestSignIn(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser()
	b.signedIn("")

	page := b.get("/account")
	page.leads("/sign-in?next=%2Faccount")
	b.press(b.follow(page), "Sign in", "email", " Ann@Example.com ", "password", password).leads("/account")
	b.signedIn(ann)
	b.get("/sign-in").leads("/licenses")
	b.get("/sign-in?next=%2Faccount").leads("/account")
	b.get("/sign-up?next=%2Faccount").leads("/account")
	if got := attr(b.get("/sign-in?again=1").want(http.StatusOK, "Sign in").input("email"), "value"); got != ann {
		t.Errorf("who is to sign in again finds the address %q", got)
	}

	b.press(b.get("/account"), "Sign out").leads("/")
	b.signedIn("")
}

func TestSignOutToBeSomebodyElse(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser().signIn(ann, password)
	b.post("/sign-out", "next", "/licensing/x/redeem/").leads("/sign-in?next=%2Flicensing%2Fx%2Fredeem%2F")
	b.signedIn("")
}

func TestMistakesShowTheFormAgain(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser()
	tests := []struct {
		name, page, button, title string
		typed                     []string
		status                    int
		field, says               string // the field at fault, "" for none in particular
	}{
		{"no address", "/sign-in", "Sign in", "Sign in", []string{"password", "some password"}, 422, "email", "Enter your email address."},
		{"no password", "/sign-in", "Sign in", "Sign in", []string{"email", ann}, 422, "password", "Enter your password, or have a sign-in link sent to you."},
		{"wrong", "/sign-in", "Sign in", "Sign in", []string{"email", ann, "password", "nope nope"}, 401, "", "The email address or the password is not right."},
		{"link to no address", "/sign-in", "Send me a sign-in link", "Sign in", []string{"email", "ann"}, 422, "email", "This is not an email address."},
		{"sign up without address", "/sign-up", "Create account", "Create an account", []string{"password", password}, 422, "email", "Enter your email address."},
		{"sign up, bad address", "/sign-up", "Create account", "Create an account", []string{"email", "a@b@c", "password", password}, 422, "email", "This is not an email address."},
		{"sign up, short password", "/sign-up", "Create account", "Create an account", []string{"email", "new@example.com", "password", "seven77"}, 422, "password", "Password must have at least 8 characters"},
		{"sign up, name too long", "/sign-up", "Create account", "Create an account", []string{"name", strings.Repeat("x", 101), "email", "new@example.com", "password", password}, 422, "name", "This name cannot be used."},
		{"reset of no address", "/reset", "Send me a link", "Reset your password", []string{"email", ""}, 422, "email", "Enter your email address."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.in(t)
			page := b.press(b.get(tt.page+"?next=%2Faccount"), tt.button, tt.typed...).want(tt.status, tt.title)
			if n := strings.Count(page.text(), tt.says); tt.field != "" && n != 2 || n < 1 {
				t.Errorf("%q is said %d times: %s", tt.says, n, page.text())
			}
			for name, values := range fields(tt.typed) {
				if got := attr(page.input(name), "value"); name != "password" && got != values[0] {
					t.Errorf("%s holds %q", name, got)
				}
			}
			if got := attr(page.input("next"), "value"); got != "/account" {
				t.Errorf("the form goes on to %q", got)
			}
			for _, name := range []string{"email", "password", "name"} {
				if in := page.input(name); in != nil && (attr(in, "aria-invalid") == "true") != (name == tt.field) {
					t.Errorf("%s: aria-invalid is %q", name, attr(in, "aria-invalid"))
				}
			}
		})
	}
	if n := len(h.mails("new@example.com")); n > 0 {
		t.Errorf("%d mails were sent after mistakes", n)
	}
}

// strangers are who cannot sign in with a password, each for a reason that nobody
// is to learn.
var strangers = []string{"nobody@example.com", "without@example.com", "wrongpw@example.com", "not an address"}

func strange(t *testing.T) *house {
	t.Helper()
	h := build(t)
	h.user(strangers[1], "")
	h.user(strangers[2], password)
	return h
}

// blank is an answer without what was typed.
func blank(s *sheet, email string) string {
	return fmt.Sprintf("%d Retry-After:%s Location:%s\n%s", s.Status, s.Header.Get("Retry-After"), s.Header.Get("Location"), strings.ReplaceAll(s.Body, email, "ADDRESS"))
}

func TestSameAnswerWhateverIsWrong(t *testing.T) {
	h := strange(t)
	var first []string
	for i, email := range strangers {
		b := h.browser()
		var answers []string
		for range 11 { // the last is one too many
			answers = append(answers, blank(b.post("/sign-in", "email", email, "password", "not the password"), email))
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
				b := h.browser()
				var answers []string
				for range 6 { // the last is one too many
					s := b.post(path, "email", email, "password", "another password", "next", "/account")
					answers = append(answers, blank(s, email)+blank(b.follow(s), email))
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
				if n := len(h.mails(email)); known != (n > 0) {
					t.Errorf("%s got %d mails", email, n)
				}
			}
		})
	}
}

// TestThrottledAccountOpensByMail: whoever tries a password until the account is
// closed for a while has not closed it for its owner.
func TestThrottledAccountOpensByMail(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	for i := range 12 {
		h.browser().post("/sign-in", "email", []string{ann, "ANN@example.com"}[i%2], "password", "a guess")
	}
	b := h.browser()
	page := b.press(b.get("/sign-in?next=%2Faccount"), "Sign in", "email", ann, "password", password).want(http.StatusTooManyRequests, "Sign in")
	if got := page.Header.Get("Retry-After"); got != "6" || !strings.Contains(page.text(), "Wait 6 seconds") {
		t.Errorf("Retry-After is %q, the page says %s", got, page.text())
	}
	b.follow(b.press(page, "Send me a sign-in link")).want(http.StatusOK, "Check your mail")
	b.press(b.get(h.link(ann)), "Continue as a•••@example.com").leads("/account")
	b.signedIn(ann)

	h.advance(6 * time.Second)
	h.browser().signIn(ann, password)
}

func TestThrottledClient(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser()
	for i := range 30 {
		b.post("/sign-in", "email", fmt.Sprintf("u%d@example.com", i), "password", "a guess").want(http.StatusUnauthorized, "Sign in")
	}
	b.post("/sign-in", "email", ann, "password", password).want(http.StatusTooManyRequests, "Sign in")
	h.browser().signIn(ann, password)

	for i := range 20 {
		b.follow(b.post("/sign-in/send", "email", fmt.Sprintf("u%d@example.com", i))).want(http.StatusOK, "Check your mail")
	}
	b.post("/sign-in/send", "email", ann).want(http.StatusTooManyRequests, "Sign in")
	b.post("/sign-up", "email", ann, "password", password).want(http.StatusTooManyRequests, "Create an account")
	b.post("/reset", "email", ann).want(http.StatusTooManyRequests, "Reset your password")
	other := h.browser()
	other.follow(other.post("/reset", "email", ann)).want(http.StatusOK, "Check your mail")
	if n := len(h.mails(ann)); n != 1 {
		t.Errorf("%d mails were sent, want one", n)
	}
}

// TestSessionIsRenewed: a session that somebody else may have planted is not the
// one that is signed in.
func TestSessionIsRenewed(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	ways := map[string]func(b *browser){
		"password": func(b *browser) { b.signIn(ann, password) },
		"link": func(b *browser) {
			b.post("/sign-in/send", "email", ann)
			b.press(b.get(h.link(ann)), "Continue as").leads("/licenses")
		},
	}
	for name, enter := range ways {
		t.Run(name, func(t *testing.T) {
			b, thief := h.in(t).browser(), h.browser()
			b.post("/sign-up", "email", "other@example.com", "password", password) // makes a session
			planted := b.cookie()
			enter(b)
			b.signedIn(ann)
			if b.cookie().Value == planted.Value {
				t.Error("the session has the token of before")
			}
			thief.take(planted)
			thief.signedIn("")
		})
	}
}

// take gives the browser a cookie.
func (b *browser) take(c *http.Cookie) {
	b.Helper()
	u, err := url.Parse(b.url)
	if err != nil {
		b.Fatal(err)
	}
	if b.jar, err = cookiejar.New(nil); err != nil {
		b.Fatal(err)
	}
	b.jar.SetCookies(u, []*http.Cookie{c})
	b.client.Jar = b.jar
}

func TestSignedOutForGood(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b, thief := h.browser().signIn(ann, password), h.browser()
	kept := b.cookie()
	b.press(b.get("/account"), "Sign out").leads("/")
	thief.take(kept)
	thief.signedIn("")
}

// elsewhere are addresses that lead away from here, or may in some browser.
var elsewhere = []string{
	"https://evil.example/", "//evil.example/", "///evil.example", `/\evil.example`, `\\evil.example`, `/./\evil.example`, `/..//\evil.example`,
	`/x/../\evil.example`, "javascript:alert(1)", "evil.example", "http:evil.example", "/\t/evil.example", "/\n/evil.example", " //evil.example",
	"/\u0000/evil.example", "@evil.example", "?next=//evil.example", "/%zz", "/" + strings.Repeat("x", 24<<10), "/\xff",
}

func TestOpenRedirects(t *testing.T) {
	h := build(t)
	h.signin.Throttle = nil
	h.user(ann, password)
	for _, next := range elsewhere {
		t.Run(next[:min(len(next), 30)], func(t *testing.T) {
			b := h.in(t).browser()
			for _, page := range []string{"/sign-in", "/sign-up", "/reset"} {
				s := b.get(page + "?next=" + url.QueryEscape(next))
				if got := attr(s.input("next"), "value"); got != "" {
					t.Errorf("%s passes %q on", page, got)
				}
			}
			s := b.post("/sign-in", "email", ann, "password", password, "next", next)
			if s.Status == http.StatusBadRequest { // what no browser sends may be refused as a whole
				b.signIn(ann, password)
			} else {
				s.leads("/licenses")
			}
			b.get("/sign-in?next=" + url.QueryEscape(next)).leads("/licenses")
			b.get("/sign-up?next=" + url.QueryEscape(next)).leads("/licenses")
			if got := attr(b.get("/account/password?next="+url.QueryEscape(next)).input("next"), "value"); got != "" {
				t.Errorf("the password page passes %q on", got)
			}
			s = b.post("/sign-out", "next", next)
			if s.Status != http.StatusBadRequest {
				s.leads("/")
			}
			s = b.post("/sign-in/send", "email", ann, "next", next)
			if s.Status != http.StatusBadRequest {
				b.press(b.get(h.link(ann)), "Continue as").leads("/licenses")
			}
		})
	}
}

func TestNextIsKept(t *testing.T) {
	h := build(t)
	const next, escaped = "/licensing/a?b=c&d=/e", "%2flicensing%2fa%3fb%3dc%26d%3d%2fe"
	b := h.browser()
	for _, page := range []string{"/sign-in", "/sign-up", "/reset"} {
		s := b.get(page + "?next=" + url.QueryEscape(next))
		if got := attr(s.input("next"), "value"); got != next {
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
	h.user(ann, password)
	b.press(b.get("/sign-in?next="+url.QueryEscape(next)), "Sign in", "email", ann, "password", password).leads(next)
}

func TestCookies(t *testing.T) {
	for name, h := range map[string]*house{"http": build(t), "https": buildSecure(t)} {
		t.Run(name, func(t *testing.T) {
			h.in(t).user(ann, password)
			s := h.browser().post("/sign-in", "email", ann, "password", password)
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
	h := build(t)
	b := h.browser()
	for _, path := range []string{"/", "/sign-in", "/sign-up", "/reset", "/check-mail", "/goodbye", "/sign-in/link?token=x", "/account", authorize(h.request())} {
		if c := b.get(path).Header.Get("Set-Cookie"); c != "" {
			t.Errorf("%s sets the cookie %s", path, c)
		}
	}
}

// TestFormsOfOtherSites: no form of the door can be sent from another site, but
// for the one that OpenID wants to be open, which does nothing by itself.
func TestFormsOfOtherSites(t *testing.T) {
	h := build(t)
	h.user(ann, password)
	b := h.browser().signIn(ann, password)
	for _, route := range h.routes() {
		if route.Method != http.MethodPost || route.Path == "/openid/authorize" {
			continue
		}
		path := strings.NewReplacer("{id}", "1").Replace(route.Path)
		form := url.Values{"email": {ann}, "password": {password}, "confirm": {ann}}
		for _, site := range []string{"cross-site", "same-site"} {
			if s := b.do(http.MethodPost, path, form, site); s.Status != http.StatusForbidden {
				t.Errorf("POST %s from %s: %d, want 403", path, site, s.Status)
			}
		}
	}
	b.signedIn(ann)
	if n := len(h.mails(ann)); n > 0 {
		t.Errorf("%d mails were sent for forms of other sites", n)
	}
}
