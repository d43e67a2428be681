package shop_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"claviger/internal/wire"
)

// identity is the identity token that the application gets for a code.
func (h *house) identity(code string) string {
	h.Helper()
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {h.redirect},
		"client_id": {h.keys.ClientID}, "client_secret": {h.keys.ClientSecret},
	}
	r := httptest.NewRequestWithContext(h.Context(), http.MethodPost, "/openid/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	wire.NewMux(h.shop.OAuth.Routes()...).ServeHTTP(answer, r)
	var got struct {
		ID string `json:"id_token"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || got.ID == "" {
		h.Fatalf("the token endpoint answers %d %s", answer.Code, answer.Body)
	}
	h.secret(got.ID)
	return got.ID
}

// annKnown is a house whose application knows Ann, whose identity token it has,
// and Eve, who has a license of her own.
func annKnown(t *testing.T) (h *house, ofAnn string) {
	t.Helper()
	h, b, _ := annAndLicense(t)
	h.user(eve, password)
	h.sell(eve, 2)
	return h, h.identity(b.press(b.get(authorize(h.request())), "Allow and continue").arrives(h.redirect).Get("code"))
}

// TestHintOfWhoIsSignedIn changes nothing, also when it has expired.
func TestHintOfWhoIsSignedIn(t *testing.T) {
	h, ofAnn := annKnown(t)
	b := h.browser().signIn(ann, password)
	h.advance(90 * time.Minute)
	for _, prompt := range []string{"", "none"} {
		if q := b.get(authorize(h.request("id_token_hint", ofAnn, "prompt", prompt))).arrives(h.redirect); q.Get("code") == "" {
			t.Errorf("prompt %q: %v", prompt, q)
		}
	}
}

// TestHintOfSomebodyElse: the person is asked to sign in as whom the application
// knows, and nobody else is let through.
func TestHintOfSomebodyElse(t *testing.T) {
	h, ofAnn := annKnown(t)
	hint := func(pairs ...string) string {
		return authorize(h.request(append(pairs, "id_token_hint", ofAnn)...))
	}
	b := h.browser().signIn(eve, password)
	b.get(hint("prompt", "none")).refused(h, "login_required")
	h.browser().get(hint("prompt", "none")).refused(h, "login_required")
	ask := func() *sheet {
		h.advance(time.Second)
		page := b.follow(b.get(hint())).want(http.StatusOK, "Sign in")
		if !strings.Contains(page.text(), "Sign in with the account that Tide Planner is connected with.") {
			t.Errorf("the page does not say whom it asks for: %s", page.text())
		}
		return page
	}
	b.follow(b.press(ask(), "Sign in", "email", eve, "password", password)).refused(h, "login_required")
	if q := b.follow(b.press(ask(), "Sign in", "email", ann, "password", password)).arrives(h.redirect); q.Get("code") == "" {
		t.Errorf("the right one gets %v", q)
	}
}

// TestHintAtTheDecision: the form hands the hint on.
func TestHintAtTheDecision(t *testing.T) {
	h, ofAnn := annKnown(t)
	b := h.browser().signIn(ann, password)
	page := b.get(authorize(h.request("id_token_hint", ofAnn, "prompt", "consent"))).want(http.StatusOK, "Connect Tide Planner?")
	if in := page.input("id_token_hint"); in == nil || attr(in, "value") != ofAnn {
		t.Error("the form does not hand the hint on")
	}
	b.press(page, "Allow and continue").arrives(h.redirect)
}

// TestForeignHint is refused in words.
func TestForeignHint(t *testing.T) {
	h, b, _ := annAndLicense(t)
	s := b.get(authorize(h.request("id_token_hint", "eyJ.eyJ.x")))
	s.refused(h, "invalid_request")
	if q := s.arrives(h.redirect); !strings.Contains(q.Get("error_description"), "id_token_hint is not an identity token") {
		t.Errorf("the application gets %v", q)
	}
}
