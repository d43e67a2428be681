package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/visitor/pagetest"
)

// TestPartnerURLs: an admin saves a URL and sees its check and the result; a URL that fails is not
// saved.
func TestPartnerURLs(t *testing.T) {
	h := start(t)
	reached, answer := make(chan struct{}), make(chan int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached <- struct{}{}
		w.WriteHeader(<-answer)
	}))
	t.Cleanup(server.Close)
	at := path("/partners/%d/urls", h.tide.ID)
	wantsNone(t, h.as(support).Get(at), "Save and check")
	wants(t, h.as(support).Post(at+"/redirect-url", "redirect_url", server.URL), http.StatusNotFound)
	page := h.as(admin).Get(at)
	wants(t, page, http.StatusOK, "URLs of Tide Planner", "Redirect URL", "Webhook URL", `"validate":true`)
	h.submit(admin, page, at+"/redirect-url", "redirect_url", server.URL).WantRedirect(at + "#redirect-url")
	<-reached
	running := h.as(viewer).Get(at)
	wants(t, running, http.StatusOK, "The check is running", server.URL)
	answer <- http.StatusNotFound
	h.wantTold(viewer, running, "The check failed")
	wants(t, h.as(viewer).Get(at), http.StatusOK, "The check failed", "404")
	if n := h.Count(`SELECT count(*) FROM profiles WHERE redirect_url <> ''`); n != 0 {
		t.Error("a URL that failed was saved")
	}
	h.submit(admin, page, at+"/redirect-url", "redirect_url", server.URL).WantRedirect(at + "#redirect-url")
	<-reached
	answer <- http.StatusOK
	h.waitFor(viewer, at, "The check passed")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'profile.urls' AND actor_kind = 'user' AND session <> ''`); n != 1 {
		t.Errorf("%d entries of the audit", n)
	}

	// Another URL was saved after this page was built.
	stale := h.submit(admin, page, at+"/redirect-url", "redirect_url", "https://other.example")
	wants(t, stale, http.StatusConflict, "This has changed since the page was shown", "Redirect URL was empty and is now")
	wants(t, h.as(admin).Post(at+"/webhook-url", "webhook_url", "https://other.example"), http.StatusBadRequest, "The form was not sent whole")
	page = h.as(admin).Get(at)
	wants(t, h.submit(admin, page, at+"/webhook-url", "webhook_url", "ftp://none"), http.StatusUnprocessableEntity, "must begin with http:")
	h.submit(admin, page, at+"/redirect-url", "redirect_url", "").WantRedirect(at + "#redirect-url")
	if n := h.Count(`SELECT count(*) FROM profiles WHERE redirect_url <> ''`); n != 0 {
		t.Error("the URL was not removed")
	}
}

// TestPartnerContacts: an admin adds a contact, sends it a test email and removes it.
func TestPartnerContacts(t *testing.T) {
	h := start(t)
	at := path("/partners/%d/contacts", h.tide.ID)
	wants(t, h.as(viewer).Get(at), http.StatusOK, "Contacts of Tide Planner", "No contacts")
	wantsNone(t, h.as(support).Get(at), "Add the contact")
	wants(t, h.as(support).Post(at, "name", "Ops", "email", "ops@tide.example"), http.StatusNotFound)
	page := h.as(admin).Get(at)
	wants(t, h.as(admin).Press(page, "Add the contact", "name", "Ops", "email", "none"), http.StatusUnprocessableEntity, "email")
	h.as(admin).Press(page, "Add the contact", "name", "Ops", "email", "ops@tide.example").WantRedirect(at)
	wants(t, h.as(admin).Press(page, "Add the contact", "name", "Ops", "email", "OPS@tide.example"), http.StatusConflict, "There is a contact with this email address")
	page = h.as(admin).Get(at)
	wants(t, page, http.StatusOK, "Ops", "ops@tide.example", "Send a test mail", "/operator/v1/partners/")
	contact := h.contact()
	for _, act := range []string{"/test", "/remove"} {
		wants(t, h.as(support).Post(at+"/"+contact+act), http.StatusNotFound)
	}
	ask := h.as(admin).Get(at + "/" + contact + "/test")
	wants(t, ask, http.StatusOK, "Send Ops a test mail", "that the partner may make")
	h.as(admin).Press(ask, "Send it").WantRedirect(at)
	if n := h.Count(`SELECT count(*) FROM mails WHERE recipient = 'ops@tide.example'`); n != 1 {
		t.Errorf("%d mails", n)
	}
	ask = h.as(admin).Get(at + "/" + contact + "/remove")
	h.as(admin).Press(ask, "Remove").WantRedirect(at)
	wants(t, h.as(admin).Press(ask, "Remove"), http.StatusNotFound)
	wants(t, h.as(viewer).Get(at), http.StatusOK, "No contacts")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action IN ('contact.create', 'contact.test', 'contact.delete') AND actor_kind = 'user' AND session <> ''`); n != 3 {
		t.Errorf("%d entries of the audit", n)
	}
}

// TestPartnerSettings: an admin changes a setting of a partner; an older page is refused with the
// changes.
func TestPartnerSettings(t *testing.T) {
	h := start(t)
	at := path("/partners/%d/settings", h.tide.ID)
	page := h.as(viewer).Get(at)
	wants(t, page, http.StatusOK, "Settings of Tide Planner", "Brand", "Strict delivery", "Signing algorithm", "RS256", "Error member", "Sign-in start URL", "Single key", "the partner's server")
	wantsNone(t, page, "Use a single key", "your server")
	wants(t, h.as(support).Post(at, "brand", "Other"), http.StatusNotFound)
	wants(t, h.as(support).Post(at+"/single-key", "overlap_s", "0"), http.StatusNotFound)
	before := h.as(admin).Get(at)
	wants(t, h.as(admin).Press(before, "Save", "brand", ""), http.StatusUnprocessableEntity, "Brand is missing.")
	wants(t, h.as(admin).Press(before, "Save", "brand", "not a brand"), http.StatusUnprocessableEntity, "brand")
	h.as(admin).Press(before, "Save", "brand", "Tide").WantRedirect(at)
	wants(t, h.as(viewer).Get(at), http.StatusOK, "X-Tide-Signature")
	wants(t, h.as(admin).Press(before, "Save", "brand", "Other"), http.StatusConflict, "Tide")
	wants(t, h.as(admin).Post(at, "brand", "Other"), http.StatusBadRequest, "The form was not sent whole")
	wants(t, h.as(viewer).Get(at), http.StatusOK, "X-Tide-Signature")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'partner.update' AND actor_kind = 'user' AND session <> ''`); n != 1 {
		t.Errorf("%d entries of the audit", n)
	}
}

// TestPartnerSingleKey: the response to the form shows the new secrets once, and "Switch now" ends
// the replaced ones.
func TestPartnerSingleKey(t *testing.T) {
	h := start(t)
	ask := h.as(admin).Get(path("/partners/%d/settings/single-key", h.tide.ID))
	wants(t, ask, http.StatusOK, "Use a single key", "/operator/v1/partners/")
	answer := h.as(admin).Press(ask, "Use a single key", "overlap_s", "604800")
	wants(t, answer, http.StatusOK, "The new secrets of Tide Planner", "API key and webhook secret")
	again := h.as(admin).Press(ask, "Use a single key", "overlap_s", "604800")
	wants(t, again, http.StatusConflict, "Nothing was changed")

	list := h.as(admin).Get(path("/partners/%d/credentials", h.tide.ID))
	wants(t, list, http.StatusOK, "Replaced", "Works for another 7 days.", "Switch now")
	wantsNone(t, h.as(support).Get(path("/partners/%d/credentials", h.tide.ID)), "Switch now")
	replaced := h.Count(`SELECT min(id) FROM partner_secrets WHERE partner_id = $1 AND expires_at <> 0`, h.tide.ID)
	at := path("/partners/%d/credentials/%d/switch", h.tide.ID, replaced)
	page := h.as(admin).Get(at)
	wants(t, page, http.StatusOK, "stops working at once", "It would work for another 7 days.")
	h.as(admin).Press(page, "Switch now").WantRedirect(path("/partners/%d/credentials", h.tide.ID))
	wants(t, h.as(admin).Press(page, "Switch now"), http.StatusNotFound)
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'partner.switch' AND actor_kind = 'user' AND session <> ''`); n != 1 {
		t.Errorf("%d entries of the audit", n)
	}
	if n := h.Count(`SELECT count(*) FROM partner_secrets WHERE id = $1`, replaced); n != 0 {
		t.Error("the replaced secret is still there")
	}
	current := h.Count(`SELECT min(id) FROM partner_secrets WHERE partner_id = $1 AND expires_at = 0`, h.tide.ID)
	wants(t, h.as(admin).Post(path("/partners/%d/credentials/%d/switch", h.tide.ID, current)), http.StatusConflict, "There is nothing to switch")
}

// submit sends the form of a page with this target, with a field filled in.
func (h *harness) submit(email string, page *pagetest.Page, to, name, value string) *pagetest.Page {
	h.Helper()
	_, form, ok := strings.Cut(page.Body, `action="`+to+`"`)
	_, seen, found := strings.Cut(form, `name="seen" value="`)
	if !ok || !found {
		h.Fatalf("no form goes to %s:\n%s", to, page.Body)
	}
	seen, _, _ = strings.Cut(seen, `"`)
	return h.as(email).Post(to, "seen", seen, name, value)
}
