package console_test

import (
	"net/http"
	"strings"
	"testing"

	"claviger/internal/audit"
	"claviger/internal/oauth"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestTokens creates a token, sees its secret once, and revokes it.
func TestTokens(t *testing.T) {
	h := start(t)
	ask := h.as(admin).Get(path("/tokens/new"))
	made := h.as(admin).Press(ask, "Make it", "name", "checkout", "scope_sell", "yes")
	wants(t, made, http.StatusOK, "The token checkout", "it is not shown again")
	secret := ""
	for _, word := range strings.Fields(made.Text()) {
		if strings.HasPrefix(word, "clvop_") || len(word) > 40 {
			secret = word
		}
	}
	token, err := h.Accounts.ByToken(t.Context(), secret)
	if err != nil || token.Name != "checkout" || len(token.Scopes) != 2 || token.ExpiresAt.IsZero() {
		t.Fatalf("the token is %+v, %v in %s", token, err, made.Text())
	}
	list := h.as(admin).Get(path("/tokens"))
	wants(t, list, http.StatusOK, "checkout", "read, sell", "Active")
	if strings.Contains(list.Body, secret) {
		t.Error("the list shows the secret")
	}
	for _, label := range []string{"Made", "Expires", "Last used"} { // a card on a phone shows several times
		if !strings.Contains(list.Body, `data-label="`+label+`"`) {
			t.Errorf("on a card no cell is named %s", label)
		}
	}
	wants(t, h.as(admin).Press(ask, "Make it", "name", "checkout", "scope_sell", "yes"), http.StatusConflict)
	if n := h.Count(`SELECT count(*) FROM operator_tokens`); n != 1 {
		t.Errorf("%d tokens after the form was sent again", n)
	}
	wants(t, h.as(admin).Press(h.as(admin).Get(path("/tokens/new")), "Make it", "name", " "), http.StatusUnprocessableEntity, "There is a problem")

	revoke := h.as(admin).Get(path("/tokens/%d/revoke", token.ID))
	h.as(admin).Press(revoke, "Revoke it").WantRedirect(path("/tokens"))
	if _, err := h.Accounts.ByToken(t.Context(), secret); err == nil {
		t.Error("it works after it was revoked")
	}
	wants(t, h.as(admin).Press(revoke, "Revoke it"), http.StatusConflict, "State was “active” and is now “revoked”")
	entries := h.as(viewer).Get(path("/audit?action=token.revoke"))
	wants(t, entries, http.StatusOK, "token.revoke", admin, "session")
	wantsNone(t, entries, "token.create")
}

// signingKeys returns the keys. A job creates them at the start.
func (h *harness) signingKeys() []oauth.Key {
	h.Helper()
	h.waitFor(viewer, path("/keys"), "ES256")
	list, err := (&oauth.Keys{DB: h.DB, Now: h.Accounts.Now}).List(h.Context())
	h.Must(err)
	return list
}

// TestKeys rotates a key with the form, once.
func TestKeys(t *testing.T) {
	h := start(t)
	h.waitFor(viewer, path("/keys"), "ES256")
	wantsNone(t, h.as(support).Get(path("/keys")), "Rotate ES256")
	ask := h.as(admin).Get(path("/keys/rotate?alg=ES256"))
	wants(t, ask, http.StatusOK, "Nobody is signed out", "If somebody else may know the present key, revoke it instead")
	wantsNone(t, ask, "Only if the present key may be known to others")
	h.as(admin).Press(ask, "Rotate it").WantRedirect(path("/keys"))
	wants(t, h.as(admin).Get(path("/keys")), http.StatusOK, "The next ES256 key signs from ", "until then the present one does")
	if n := h.Count(`SELECT count(*) FROM oauth_keys WHERE alg = 'ES256'`); n != 3 {
		t.Errorf("%d keys", n)
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'key.rotate' AND actor_kind = 'user'`); n != 1 {
		t.Errorf("%d entries", n)
	}
	stale := h.as(admin).Press(ask, "Rotate it")
	wants(t, stale, http.StatusConflict, "This has changed since the page was shown", "is new: “next”")
	wantsNone(t, stale, "the same again")
	if n := h.Count(`SELECT count(*) FROM oauth_keys WHERE alg = 'ES256'`); n != 3 {
		t.Errorf("a stale form made %d keys", n)
	}
	pending := h.as(admin).Press(h.as(admin).Get(path("/keys/rotate?alg=ES256")), "Rotate it")
	wants(t, pending, http.StatusConflict, "Wait until then, or rotate again and let it sign now.")
	h.as(admin).Press(h.as(admin).Get(path("/keys/rotate?alg=ES256")), "Rotate it", "now", "on").WantRedirect(path("/keys"))
	wants(t, h.as(admin).Get(path("/keys")), http.StatusOK, "The next ES256 key signs from now on.")
	// Neither the page nor the form has a default algorithm.
	for _, query := range []string{"", "?alg=none"} {
		wants(t, h.as(admin).Get(path("/keys/rotate%s", query)), http.StatusBadRequest, "choose one")
	}
	for _, alg := range []string{"", "none"} {
		wants(t, h.as(admin).Post(path("/keys/rotate"), "alg", alg), http.StatusBadRequest, "Nothing was rotated")
	}
	if n := h.Count(`SELECT count(*) FROM oauth_keys`); n != 5 {
		t.Errorf("there are %d keys", n)
	}
}

// TestRevokeKey revokes a key with the form, with the person in the audit; a stale form revokes
// nothing.
func TestRevokeKey(t *testing.T) {
	h := start(t)
	keys := h.signingKeys()
	list := h.as(admin).Get(path("/keys"))
	wantsNone(t, h.as(support).Get(path("/keys")), "Revoke…")
	at := map[oauth.State]string{}
	for _, k := range keys {
		if k.Alg == oauth.ES256 {
			at[k.State] = path("/keys/%s/revoke", k.ID)
			if list.Links(at[k.State])[at[k.State]] == "" {
				t.Errorf("the list does not lead to %s", at[k.State])
			}
		}
	}
	ask := h.as(admin).Get(at[oauth.Active])
	wants(t, ask, http.StatusOK, "Revoke the active ES256 key", "/openid/jwks", "one signs at once", "hold an identity token", "fetch the keys again", "/operator/v1/keys/")
	stale := h.as(admin).Get(at[oauth.Next])
	wants(t, stale, http.StatusOK, "Revoke the next ES256 key", "the key that signs goes on")
	wantsNone(t, stale, "hold an identity token")
	h.as(admin).Press(h.as(admin).Get(path("/keys/rotate?alg=ES256")), "Rotate it")
	for _, old := range []*pagetest.Page{ask, stale} {
		wants(t, h.as(admin).Press(old, "Revoke it"), http.StatusConflict, "is new: “next”")
	}
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'key.revoke'`); n != 0 {
		t.Errorf("stale forms revoked %d keys", n)
	}
	h.as(admin).Press(h.as(admin).Get(at[oauth.Active]), "Revoke it").WantRedirect(path("/keys"))
	wants(t, h.as(admin).Get(path("/keys")), http.StatusOK, "The active ES256 key is revoked. A new key signs from now on.")
	if n := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'key.revoke' AND actor_kind = 'user' AND actor_id = $1`, h.User(admin).ID); n != 3 {
		t.Errorf("%d entries with the person", n)
	}
	for _, was := range at {
		if page := h.as(admin).Get(was); page.Status != http.StatusNotFound {
			t.Errorf("%s is revoked and answered %d", was, page.Status)
		}
	}
	if again := h.as(admin).Press(ask, "Revoke it"); again.Status != http.StatusNotFound {
		t.Errorf("revoked twice: %d", again.Status)
	}
}

// TestSettingsAreMasked: the page shows every setting and no secret.
func TestSettingsAreMasked(t *testing.T) {
	h := start(t)
	page := h.as(viewer).Get(path("/settings"))
	wants(t, page, http.StatusOK, "secret-key", "allow-private-targets", "default")
	if strings.Contains(page.Body, "000102030405060708090a0b0c0d0e0f") {
		t.Error("it shows the secret key")
	}
}

// TestAuditFilters refuses invalid filters with a message.
func TestAuditFilters(t *testing.T) {
	h := start(t)
	for query, want := range map[string]string{
		"?actor=nobody": "is not one of the list", "?id=3": "choose whose it is", "?actor=user&id=x": "must be a number",
	} {
		wants(t, h.as(viewer).Get(path("/audit%s", query)), http.StatusBadRequest, want)
	}
	wants(t, h.as(viewer).Get(path("/audit?actor=system&before=nonsense")), http.StatusOK, "partner.create")
	wants(t, h.as(viewer).Get(path("/audit?actor=partner")), http.StatusOK, "Nothing matches")
}

// TestAuditVisits: the row of an act names the partner that the person acted for, and the support
// visit.
func TestAuditVisits(t *testing.T) {
	h := start(t)
	visit, own := h.actor(support), h.actor(member)
	visit.ActingFor, visit.SupportVisit, own.ActingFor = h.tide.ID, 7, h.tide.ID
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		audit.Record(tx, h.Accounts.Now(), visit, "visit.act", "partner:9", nil, nil)
		audit.Record(tx, h.Accounts.Now(), own, "member.act", "partner:9", nil, nil)
		return nil
	}))
	wants(t, h.as(viewer).Get(path("/audit?action=visit.act")), http.StatusOK, "in support visit 7 at Tide Planner")
	page := h.as(viewer).Get(path("/audit?action=member.act"))
	wants(t, page, http.StatusOK, "for Tide Planner")
	wantsNone(t, page, "support visit")
	wantsNone(t, h.as(viewer).Get(path("/audit?action=partner.create")), "for Tide Planner", "support visit")
}
