package portal_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/partner"
	"claviger/internal/visitor/pagetest"
)

var (
	apiKey       = regexp.MustCompile(`lk_[0-9a-f]{64}`)
	anySecret    = regexp.MustCompile(`(lk_|cs_)[0-9a-f]{64}|whsec_[0-9A-Za-z+/=]{44}`)
	inInputField = regexp.MustCompile(`<(input|textarea)[^>]*(lk_|cs_|whsec_)`)
)

// rowLink returns the URL of an act on a row of a page's tables.
func rowLink(t testing.TB, page *pagetest.Page, label string) string {
	t.Helper()
	for url, text := range page.Links("/") {
		if strings.Join(strings.Fields(text), " ") == label {
			return url
		}
	}
	t.Fatalf("the page has no link %q: %v", label, page.Links("/"))
	return ""
}

// wantSecret checks a page that shows a new secret, and returns it.
func wantSecret(t testing.TB, page *pagetest.Page, kind *regexp.Regexp) string {
	t.Helper()
	made := kind.FindString(page.Body)
	switch {
	case page.Status != http.StatusOK || made == "":
		t.Fatalf("no secret: %d\n%s", page.Status, page.Text())
	case page.Header.Get("Cache-Control") != "no-store" || page.Header.Get("Location") != "" || inInputField.MatchString(page.Body):
		t.Errorf("the secret is redirected, stored or in a field: %v", page.Header)
	}
	return made
}

// opens reports whether a key works for Tide.
func (h *harness) opens(key string) bool {
	h.Helper()
	p, err := h.Partners.ByKey(h.Context(), key)
	return err == nil && p.ID == h.tide.ID
}

// TestNewKey: a key is created and shown once; sending the form again creates no second one.
func TestNewKey(t *testing.T) {
	h := start(t)
	b := h.as(developer)
	page := b.Get(h.path("/credentials")).Want(http.StatusOK, "Credentials")
	form := page.Input("form")
	if form == nil || anySecret.MatchString(page.Body) {
		t.Fatal("the page has no form of its own, or shows a secret")
	}
	send := func(name string) *pagetest.Page {
		return b.Post(h.path("/credentials/keys"), "form", pagetest.Attr(form, "value"), "name", name)
	}
	key := wantSecret(t, send("CI"), apiKey)
	if !h.opens(key) {
		t.Error("the new key does not work")
	}
	for _, name := range []string{"CI", "another"} { // reloaded, and sent again with other content
		again := send(name)
		if again.Status != http.StatusConflict || anySecret.MatchString(again.Body) || !strings.Contains(again.Text(), "This form was sent before") {
			t.Errorf("sent again: %d\n%s", again.Status, again.Text())
		}
	}
	list, err := h.Partners.ListCredentials(t.Context(), h.tide.ID)
	if err != nil || len(list) != 4 {
		t.Errorf("%d credentials, %v", len(list), err)
	}
	page = b.Get(h.path("/credentials"))
	if !strings.Contains(page.Text(), "…"+key[len(key)-4:]) || strings.Contains(page.Body, key) {
		t.Error("the list has not its end, or has all of it")
	}
	if got := h.as(viewer).Get(h.path("/credentials")); strings.Contains(got.Body, "/rotate") || got.Input("name") != nil {
		t.Error("a viewer is shown what only a developer may do")
	}
	b.Press(page, "Make the key", "name", "ci").Want(http.StatusUnprocessableEntity, "Credentials")
}

// TestRotation: the new secret is shown once, both work, and the switch ends the old one.
func TestRotation(t *testing.T) {
	h := start(t)
	b := h.as(developer)
	_, err := h.Partners.Rotate(t.Context(), tester, h.tide.ID, partner.APIKey, 0)
	h.Must(err)
	ask := b.Get(rowLink(t, b.Get(h.path("/credentials")), "Rotate API key main")).Want(http.StatusOK, "Rotate the API key “main”")
	if refused := b.Press(ask, "Rotate", "overlap_s", "99999999"); refused.Status != http.StatusUnprocessableEntity || anySecret.MatchString(refused.Body) {
		t.Errorf("too long an overlap: %d", refused.Status)
	}
	ask = b.Get(rowLink(t, b.Get(h.path("/credentials")), "Rotate API key main"))
	first := wantSecret(t, b.Press(ask, "Rotate", "overlap_s", "0"), apiKey)
	if again := b.Press(ask, "Rotate", "overlap_s", "0"); again.Status != http.StatusConflict || anySecret.MatchString(again.Body) {
		t.Errorf("a reload after the old one has ended: %d\n%s", again.Status, again.Text())
	}

	ask = b.Get(rowLink(t, b.Get(h.path("/credentials")), "Rotate API key main"))
	colleague := h.as(admin).Get(rowLink(t, b.Get(h.path("/credentials")), "Rotate API key main"))
	second := wantSecret(t, b.Press(ask, "Rotate", "overlap_s", "86400"), apiKey)
	if !h.opens(first) || !h.opens(second) {
		t.Error("during the overlap not both work")
	}
	if late := h.as(admin).Press(colleague, "Rotate", "overlap_s", "0"); late.Status != http.StatusConflict || !strings.Contains(late.Text(), "has been replaced or revoked since the page was shown") {
		t.Errorf("a colleague whose page is old: %d\n%s", late.Status, late.Text())
	}
	page := b.Get(h.path("/credentials"))
	if !strings.Contains(page.Text(), "Works for another 24 hours.") {
		t.Errorf("no countdown:\n%s", page.Text())
	}
	now := b.Get(rowLink(t, page, "Switch now API key main")).Want(http.StatusOK, "Switch to the new API key now")
	if !h.opens(first) {
		t.Error("asking ended the key")
	}
	b.Follow(b.Press(now, "Switch now")).Want(http.StatusOK, "Credentials")
	if h.opens(first) || !h.opens(second) {
		t.Error("the switch did not end the replaced key alone")
	}
}

// TestRevocation: revoked secrets end immediately, and a client secret can be created again.
func TestRevocation(t *testing.T) {
	h := start(t)
	b := h.as(developer)
	page := b.Get(h.path("/credentials"))
	if strings.Contains(page.Text(), "Revoke webhook secret main") {
		t.Error("what signs webhooks can be revoked")
	}
	ask := b.Get(rowLink(t, page, "Revoke client secret main")).Want(http.StatusOK, "Revoke the client secret “main”")
	if !strings.Contains(ask.Text(), "Sign-ins stop") || !strings.Contains(ask.Body, "-X DELETE") {
		t.Errorf("it does not say what happens:\n%s", ask.Text())
	}
	page = b.Follow(b.Press(ask, "Revoke it now")).Want(http.StatusOK, "Credentials")
	if !strings.Contains(page.Text(), "No client secret") {
		t.Errorf("the page says:\n%s", page.Text())
	}
	made := wantSecret(t, b.Press(page, "Make a client secret"), anySecret)
	if _, err := h.Partners.ByClient(t.Context(), h.DB, h.tide.ClientID, made); err != nil {
		t.Errorf("the new client secret: %v", err)
	}
	if again := b.Press(page, "Make a client secret"); again.Status != http.StatusConflict || anySecret.MatchString(again.Body) {
		t.Errorf("sent again: %d", again.Status)
	}
	history := b.Get(h.path("/audit")).Text()
	for _, want := range []string{"Revoked the client secret ending in ", "Rotated the client secret ending in ", developer} {
		if !strings.Contains(history, want) {
			t.Errorf("the audit lacks %q:\n%s", want, history)
		}
	}
}
