package shop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/event"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// asks signs Ann in for a request, which then asks for her consent.
func asks(b *pagetest.Browser, pairs ...string) *pagetest.Page {
	b.Helper()
	signIn := b.Follow(b.Get(pagetest.AuthorizeURL(b.AuthorizeRequest(pairs...)))).Want(http.StatusOK, "Sign in")
	return b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)).Want(http.StatusOK, "Connect Tide Planner?")
}

// TestSignInAtTheDecision: a sign-in that became too old while the consent was read must be
// repeated before the button works, unless it was made for this very AuthorizeRequest.
func TestSignInAtTheDecision(t *testing.T) {
	for name, c := range map[string]struct {
		pairs  []string
		before bool          // Ann was already signed in
		reads  time.Duration // time she reads the page
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
			h := pagetest.New(t)
			h.AddUser(pagetest.Ann, pagetest.Password)
			l := h.Sell(pagetest.Ann, 1)
			b := h.NewBrowser()
			var page *pagetest.Page
			if c.before {
				page = b.SignIn(pagetest.Ann, pagetest.Password).Get(pagetest.AuthorizeURL(h.AuthorizeRequest(c.pairs...)))
			} else {
				page = asks(b, c.pairs...)
			}
			h.Advance(c.reads)
			s := b.Press(page, "Allow and continue")
			if !c.again {
				s.WantCallback(h.RedirectURL)
				return
			}
			signIn := b.Follow(s).Want(http.StatusOK, "Sign in")
			if now := stored(h, l); now.Status != event.Inactive {
				t.Errorf("the license is %s", now.Status)
			}
			page = b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password))
			b.Press(page.Want(http.StatusOK, "Connect Tide Planner?"), "Allow and continue").WantCallback(h.RedirectURL)
		})
	}
}

// TestSignInOfAnotherRequest: a sign-in made for one request does not count for another that
// requires its own, nor for the same one sent again.
func TestSignInOfAnotherRequest(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := asks(b, "prompt", "login")
	b.Do(http.MethodPost, "/openid/authorize/decide", h.AuthorizeRequest("prompt", "login", "state", "other", "decision", "allow"), "same-origin").
		WantRedirect("/sign-in?again=1&next=" + url.QueryEscape(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "login", "state", "other"))))
	h.Advance(time.Second)
	b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "login")))).Want(http.StatusOK, "Sign in")
	b.Press(page, "Allow and continue").WantCallback(h.RedirectURL)
}

// TestDecisionOfSomebodyElse: a person who signed in in another tab cannot decide for the one that
// the application expects.
func TestDecisionOfSomebodyElse(t *testing.T) {
	h, ofAnn := annKnown(t)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("id_token_hint", ofAnn, "prompt", "consent")))
	h.Advance(time.Second)
	b.Press(b.Get("/sign-in?again=1"), "Sign in", "email", pagetest.Eve, "password", pagetest.Password)
	b.Follow(b.Press(page, "Allow and continue")).Want(http.StatusOK, "Sign in")
}

// TestCancelNeedsNoSignIn: cancelling works with a sign-in of any age.
func TestCancelNeedsNoSignIn(t *testing.T) {
	h, b, _ := annAndLicense(t)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("max_age", "60")))
	h.Advance(time.Hour)
	refused(b.Press(page, "Cancel"), h, "access_denied")
}

// TestSignedOutBeforeTheDecision: one sign-in is enough to come back.
func TestSignedOutBeforeTheDecision(t *testing.T) {
	_, b, _ := annAndLicense(t)
	page := asks(b, "prompt", "login")
	b.Post("/sign-out")
	signIn := b.Follow(b.Press(page, "Allow and continue")).Want(http.StatusOK, "Sign in")
	b.Follow(b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)).Want(http.StatusOK, "Connect Tide Planner?")
}

// TestAskingToSignInStoresNothing: a request to sign in creates no session, because anyone could
// fill the table.
func TestAskingToSignInStoresNothing(t *testing.T) {
	h, ofAnn := annKnown(t)
	count := func() int64 {
		n, err := sqldb.One(t.Context(), h.DB, sqldb.Value[int64], `SELECT count(*) FROM sessions`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	for _, pairs := range [][]string{
		{"prompt", "login"}, {"prompt", "select_account"}, {"max_age", "0"}, {"id_token_hint", ofAnn}, {"prompt", "login", "id_token_hint", ofAnn},
	} {
		b := h.NewBrowser()
		b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest(pairs...)))).Want(http.StatusOK, "Sign in")
	}
	if after := count(); after != before {
		t.Errorf("%d sessions became %d", before, after)
	}
}

// TestHintToNobody: a signed-out visitor is told which account to use, each time the page is shown.
func TestHintToNobody(t *testing.T) {
	h, ofAnn := annKnown(t)
	b := h.NewBrowser()
	page := b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("id_token_hint", ofAnn))))
	for range 2 {
		if text := page.Text(); !strings.Contains(text, "Sign in with the account that is connected to Tide Planner.") {
			t.Errorf("the page does not say whom it asks for: %s", text)
		}
		page = b.Press(page, "Sign in", "email", pagetest.Ann, "password", "wrong password")
	}
	b.Follow(b.Press(page, "Sign in", "email", pagetest.Ann, "password", pagetest.Password)).WantCallback(h.RedirectURL)
}

// TestSignInByLinkForARequest: a sign-in by link counts for the request, in any browser.
func TestSignInByLinkForARequest(t *testing.T) {
	h, b, _ := annAndLicense(t)
	b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL)
	h.Advance(time.Second)
	signIn := b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "login"))))
	b.Press(signIn, "Send me a sign-in link", "email", pagetest.Ann)
	phone := h.NewBrowser()
	phone.Follow(phone.Press(phone.Get(h.MailedLink(pagetest.Ann)), "Continue")).WantCallback(h.RedirectURL)
}

// TestSignInForAnotherPage: a sign-in for another page does not count for an earlier request.
func TestSignInForAnotherPage(t *testing.T) {
	h, b, _ := annAndLicense(t)
	h.Advance(time.Second)
	signIn := b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "login"))))
	b.Press(signIn, "Sign in", "email", pagetest.Ann, "password", pagetest.Password) // and does not continue
	b.Press(b.Get("/sign-in?again=1"), "Sign in", "email", pagetest.Ann, "password", pagetest.Password)
	b.Follow(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("prompt", "login")))).Want(http.StatusOK, "Sign in")
}
