package shop_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/visitor/pagetest"
	"claviger/internal/wire"
)

// identity returns the identity token that the application gets for a code.
func identity(h *pagetest.Service, code string) string {
	h.Helper()
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {h.RedirectURL},
		"client_id": {h.Credentials.ClientID}, "client_secret": {h.Credentials.ClientSecret},
	}
	r := httptest.NewRequestWithContext(h.Context(), http.MethodPost, "/openid/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	wire.NewMux(h.Shop.OAuth.Routes()...).ServeHTTP(answer, r)
	var got struct {
		ID string `json:"id_token"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || got.ID == "" {
		h.Fatalf("the token endpoint answers %d %s", answer.Code, answer.Body)
	}
	h.AddSecret(got.ID)
	return got.ID
}

// annKnown returns a service with an application that knows Ann and has her identity token, and
// with Eve, who has her own license.
func annKnown(t *testing.T) (h *pagetest.Service, ofAnn string) {
	t.Helper()
	h, b, _ := annAndLicense(t)
	h.AddUser(pagetest.Eve, pagetest.Password)
	h.Sell(pagetest.Eve, 2)
	return h, identity(h, b.Press(b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest())), "Allow and continue").WantCallback(h.RedirectURL).Get("code"))
}

// TestHintOfWhoIsSignedIn: a hint of the signed-in person changes nothing, even if it has expired.
func TestHintOfWhoIsSignedIn(t *testing.T) {
	h, ofAnn := annKnown(t)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	h.Advance(90 * time.Minute)
	for _, prompt := range []string{"", "none"} {
		if q := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("id_token_hint", ofAnn, "prompt", prompt))).WantCallback(h.RedirectURL); q.Get("code") == "" {
			t.Errorf("prompt %q: %v", prompt, q)
		}
	}
}

// TestHintOfSomebodyElse: the person must sign in as the one that the application knows, and no
// other person gets through.
func TestHintOfSomebodyElse(t *testing.T) {
	h, ofAnn := annKnown(t)
	hint := func(pairs ...string) string {
		return pagetest.AuthorizeURL(h.AuthorizeRequest(append(pairs, "id_token_hint", ofAnn)...))
	}
	b := h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password)
	refused(b.Get(hint("prompt", "none")), h, "login_required")
	refused(h.NewBrowser().Get(hint("prompt", "none")), h, "login_required")
	ask := func() *pagetest.Page {
		h.Advance(time.Second)
		page := b.Follow(b.Get(hint())).Want(http.StatusOK, "Sign in")
		if !strings.Contains(page.Text(), "Sign in with the account that is connected to Tide Planner.") {
			t.Errorf("the page does not say whom it asks for: %s", page.Text())
		}
		return page
	}
	refused(b.Follow(b.Press(ask(), "Sign in", "email", pagetest.Eve, "password", pagetest.Password)), h, "login_required")
	if q := b.Follow(b.Press(ask(), "Sign in", "email", pagetest.Ann, "password", pagetest.Password)).WantCallback(h.RedirectURL); q.Get("code") == "" {
		t.Errorf("the right one gets %v", q)
	}
}

// TestHintAtTheDecision: the form passes the hint on.
func TestHintAtTheDecision(t *testing.T) {
	h, ofAnn := annKnown(t)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	page := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("id_token_hint", ofAnn, "prompt", "consent"))).Want(http.StatusOK, "Connect Tide Planner?")
	if in := page.Input("id_token_hint"); in == nil || pagetest.Attr(in, "value") != ofAnn {
		t.Error("the form does not hand the hint on")
	}
	b.Press(page, "Allow and continue").WantCallback(h.RedirectURL)
}

// TestForeignHint: a foreign hint is refused with a message.
func TestForeignHint(t *testing.T) {
	h, b, _ := annAndLicense(t)
	s := b.Get(pagetest.AuthorizeURL(h.AuthorizeRequest("id_token_hint", "eyJ.eyJ.x")))
	refused(s, h, "invalid_request")
	if q := s.WantCallback(h.RedirectURL); !strings.Contains(q.Get("error_description"), "id_token_hint is not an identity token") {
		t.Errorf("the application gets %v", q)
	}
}
