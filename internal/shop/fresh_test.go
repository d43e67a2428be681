package shop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/sqldb"
)

// asks signs Ann in for a request, which then asks for her consent.
func (b *browser) asks(pairs ...string) *sheet {
	b.Helper()
	signIn := b.follow(b.get(authorize(b.request(pairs...)))).want(http.StatusOK, "Sign in")
	return b.follow(b.press(signIn, "Sign in", "email", ann, "password", password)).want(http.StatusOK, "Connect Tide Planner?")
}

// TestSignInAtTheDecision: a sign-in that became too old while the consent was read
// has to be made again before the button counts; the one made for this very
// request need not.
func TestSignInAtTheDecision(t *testing.T) {
	for name, c := range map[string]struct {
		pairs  []string
		before bool          // Ann was signed in already
		reads  time.Duration // how long she reads the page
		again  bool          // she has to sign in again
	}{
		"nothing asked":              {nil, true, time.Hour, false},
		"young enough":               {[]string{"max_age", "60"}, true, 59 * time.Second, false},
		"too old by now":             {[]string{"max_age", "60"}, true, 2 * time.Minute, true},
		"signed in for it":           {[]string{"max_age", "60"}, false, 50 * time.Second, false},
		"signed in for it, too old":  {[]string{"max_age", "60"}, false, 2 * time.Minute, true},
		"the newest":                 {[]string{"max_age", "0"}, false, 20 * time.Second, false},
		"the newest, too old":        {[]string{"max_age", "0"}, false, time.Minute, true},
		"prompt=login":               {[]string{"prompt", "login"}, false, 5 * time.Minute, false},
		"prompt=login, long ago":     {[]string{"prompt", "login"}, false, time.Hour, true},
		"prompt=login and a max_age": {[]string{"prompt", "login", "max_age", "60"}, false, 2 * time.Minute, true},
		"select_account":             {[]string{"prompt", "select_account"}, false, 5 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t)
			h.user(ann, password)
			l := h.sell(ann, 1)
			b := h.browser()
			var page *sheet
			if c.before {
				page = b.signIn(ann, password).get(authorize(h.request(c.pairs...)))
			} else {
				page = b.asks(c.pairs...)
			}
			h.advance(c.reads)
			s := b.press(page, "Allow and continue")
			if !c.again {
				s.arrives(h.redirect)
				return
			}
			signIn := b.follow(s).want(http.StatusOK, "Sign in")
			if now := h.license(l); now.Status != event.Inactive {
				t.Errorf("the license is %s", now.Status)
			}
			page = b.follow(b.press(signIn, "Sign in", "email", ann, "password", password))
			b.press(page.want(http.StatusOK, "Connect Tide Planner?"), "Allow and continue").arrives(h.redirect)
		})
	}
}

// TestSignInOfAnotherRequest: a sign-in made for one request is none made for
// another that wants one of its own, nor for the same one sent again.
func TestSignInOfAnotherRequest(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.asks("prompt", "login")
	b.do(http.MethodPost, "/openid/authorize/decide", h.request("prompt", "login", "state", "other", "decision", "allow"), "same-origin").
		leads("/sign-in?again=1&next=" + url.QueryEscape(authorize(h.request("prompt", "login", "state", "other"))))
	h.advance(time.Second)
	b.follow(b.get(authorize(h.request("prompt", "login")))).want(http.StatusOK, "Sign in")
	b.press(page, "Allow and continue").arrives(h.redirect)
}

// TestDecisionOfSomebodyElse: who signed in meanwhile in another tab does not
// answer for whom the application expects.
func TestDecisionOfSomebodyElse(t *testing.T) {
	h, ofAnn := annKnown(t)
	b := h.browser().signIn(ann, password)
	page := b.get(authorize(h.request("id_token_hint", ofAnn, "prompt", "consent")))
	h.advance(time.Second)
	b.press(b.get("/sign-in?again=1"), "Sign in", "email", eve, "password", password)
	b.follow(b.press(page, "Allow and continue")).want(http.StatusOK, "Sign in")
}

// TestCancelNeedsNoSignIn, however old the one is that there is.
func TestCancelNeedsNoSignIn(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.get(authorize(h.request("max_age", "60")))
	h.advance(time.Hour)
	b.press(page, "Cancel").refused(h, "access_denied")
}

// TestSignedOutBeforeTheDecision: one sign-in is enough to come back.
func TestSignedOutBeforeTheDecision(t *testing.T) {
	_, b, _ := annAndLicense(t)
	page := b.asks("prompt", "login")
	b.post("/sign-out")
	signIn := b.follow(b.press(page, "Allow and continue")).want(http.StatusOK, "Sign in")
	b.follow(b.press(signIn, "Sign in", "email", ann, "password", password)).want(http.StatusOK, "Connect Tide Planner?")
}

// TestAskingToSignInStoresNothing: who is not signed in gets no session by being
// asked to, or anybody could fill their table.
func TestAskingToSignInStoresNothing(t *testing.T) {
	h, ofAnn := annKnown(t)
	count := func() int64 {
		n, err := sqldb.One(t.Context(), h.db, sqldb.Value[int64], `SELECT count(*) FROM sessions`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	for _, pairs := range [][]string{
		{"prompt", "login"}, {"prompt", "select_account"}, {"max_age", "0"}, {"id_token_hint", ofAnn}, {"prompt", "login", "id_token_hint", ofAnn},
	} {
		b := h.browser()
		b.follow(b.get(authorize(h.request(pairs...)))).want(http.StatusOK, "Sign in")
	}
	if after := count(); after != before {
		t.Errorf("%d sessions became %d", before, after)
	}
}

// TestHintToNobody: who is not signed in is told as whom to do so, as often as the
// page is shown.
func TestHintToNobody(t *testing.T) {
	h, ofAnn := annKnown(t)
	b := h.browser()
	page := b.follow(b.get(authorize(h.request("id_token_hint", ofAnn))))
	for range 2 {
		if text := page.text(); !strings.Contains(text, "Sign in with the account that Tide Planner is connected with.") {
			t.Errorf("the page does not say whom it asks for: %s", text)
		}
		page = b.press(page, "Sign in", "email", ann, "password", "wrong password")
	}
	b.follow(b.press(page, "Sign in", "email", ann, "password", password)).arrives(h.redirect)
}

// TestSignInByLinkForARequest counts for it, in whatever browser the link is opened.
func TestSignInByLinkForARequest(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect)
	h.advance(time.Second)
	signIn := b.follow(b.get(authorize(h.request("prompt", "login"))))
	b.press(signIn, "Send me a sign-in link", "email", ann)
	phone := h.browser()
	phone.follow(phone.press(phone.get(h.link(ann)), "Continue")).arrives(h.redirect)
}

// TestSignInForAnotherPage is none for a request that somebody was on the way to
// before.
func TestSignInForAnotherPage(t *testing.T) {
	h, b, _ := annAndLicense(t)
	h.advance(time.Second)
	signIn := b.follow(b.get(authorize(h.request("prompt", "login"))))
	b.press(signIn, "Sign in", "email", ann, "password", password) // and does not go on
	b.press(b.get("/sign-in?again=1"), "Sign in", "email", ann, "password", password)
	b.follow(b.get(authorize(h.request("prompt", "login")))).want(http.StatusOK, "Sign in")
}
