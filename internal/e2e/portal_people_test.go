package e2e_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// newTeamMember returns a browser in which the partner's member is signed in.
func newTeamMember(t *testing.T) *buyer {
	t.Helper()
	b := newBuyer(t, nil)
	b.signIn(b.card.Member.Email, b.card.Member.Password)
	return b
}

// signIn signs in by password.
func (b *buyer) signIn(email, password string) {
	b.t.Helper()
	b.visit("/sign-in")
	b.Type("#email", email)
	b.Type("#password", password)
	b.Press("main form button")
}

// portal opens a page of the partner's portal.
func (b *buyer) portal(path string) {
	b.t.Helper()
	b.visit(fmt.Sprintf("/portal/%d%s", b.card.Partner.ID, path))
}

// answers returns the API's status for a key.
func (b *buyer) answers(key string) int {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.card.BaseURL+"/v2/profile", http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// TestPortalRotation rotates the API key in a browser: both keys work until the member switches.
func TestPortalRotation(t *testing.T) {
	t.Parallel()
	b := newTeamMember(t)
	old := b.card.Partner.APIKey
	b.portal("/credentials")
	b.on("Credentials")
	b.Look("portal-credentials")
	b.Press("#keys a[href$='/rotate']")
	b.on("Rotate the API key")
	b.Look("portal-rotate")
	b.Press("main form button")
	b.on("Your new API key")
	made := regexp.MustCompile(`lk_[0-9a-f]{64}`).FindString(b.Text("main"))
	if made == "" || b.answers(made) != http.StatusOK || b.answers(old) != http.StatusOK {
		t.Fatalf("the new key %q answers %d, the old one %d", made, b.answers(made), b.answers(old))
	}
	if in := browser.Eval[int](b.Tab, `document.querySelectorAll('input[value*="lk_"], textarea').length`); in != 0 {
		t.Errorf("the key stands in %d fields", in)
	}
	b.Look("portal-new-secret")
	b.Press("main .actions a")
	b.on("Credentials")
	if text := b.Text("#keys"); !strings.Contains(text, "Works for another") || strings.Contains(text, made) {
		t.Errorf("the list says %s", text)
	}
	b.Look("portal-overlap")
	b.Press("#keys a[href$='/revoke']:only-child")
	b.on("Switch to the new API key now")
	b.Look("portal-switch")
	b.Press("main form button")
	b.on("Credentials")
	if b.answers(made) != http.StatusOK || b.answers(old) != http.StatusUnauthorized {
		t.Errorf("after the switch the new key answers %d, the old one %d", b.answers(made), b.answers(old))
	}
	b.portal("/audit")
	b.on("Audit")
	if text := b.Text(".timeline"); !strings.Contains(text, "Rotated the API key ending in "+made[len(made)-4:]) {
		t.Errorf("the audit says %s", text)
	}
	b.Look("portal-audit")
	b.portal("/product")
	b.on("Product")
	b.Look("portal-product")
	b.Press("#plans a[href$='/product/plans/2']")
	b.on("What buyers read about “Team”")
	b.Look("portal-plan-texts")
	b.portal("/settings")
	b.on("Settings")
	b.Look("portal-settings")
	b.portal("/settings/single-key")
	b.on("Use a single key")
	b.Look("portal-single-key")
}

// TestPortalInvite invites a person, who creates an account on the way and accepts.
func TestPortalInvite(t *testing.T) {
	t.Parallel()
	b := newTeamMember(t)
	b.portal("/contacts")
	b.on("Contacts")
	b.Type("#name", "Ops")
	b.Type("#email", "ops@example.com")
	b.Press("main form[action$='/contacts'] button")
	b.Look("portal-contacts")
	b.Press("#contacts a[href$='/test']")
	b.Look("portal-test-mail")
	b.portal("/team")
	b.on("Team")
	b.Type("#email", "nia@example.com")
	b.Press("main form[action$='/invite'] button")
	b.on("Team")
	if text := b.Text("#invitations"); !strings.Contains(text, "nia@example.com") {
		t.Errorf("the list says %s", text)
	}
	b.Look("portal-team")
	b.Press("#members a[href$='/role']")
	b.Look("portal-role")

	invitation := b.newestLink()
	b.portal("/team")
	b.Press(".person button")

	b.Open(invitation)
	b.on("Join the team of Sample App")
	b.Look("portal-invitation")
	b.Press("main a[href^='/sign-up']")
	b.Type("#name", "Nia")
	b.Type("#email", "nia@example.com")
	b.Type("#password", "correct horse battery")
	b.Press("main form button")
	b.on("Check your email")
	b.Open(b.newestLink())
	b.Press("main form button")
	b.on("Join the team of Sample App")
	b.Look("portal-accept")
	b.Press("main form[action='/portal/invitation'] button")
	b.portal("/team")
	b.on("Team")
	if text := b.Text("#members"); !strings.Contains(text, "Nia (you)") || !strings.Contains(text, "Developer") {
		t.Errorf("the team is %s", text)
	}
	b.Look("portal-team-developer")
	b.portal("/team/leave")
	b.Look("portal-leave")
}
