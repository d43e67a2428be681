package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
)

var invitationLink = regexp.MustCompile(`/console/invitation\?token=[0-9a-f]{64}`)

// role returns the role of a person, "" for none.
func (h *harness) role(email string) account.Role {
	h.Helper()
	u, err := h.Accounts.Get(h.Context(), h.User(email).ID)
	h.Must(err)
	return u.Role
}

// TestInvite: anyone with the link sees the invitation, and only the person with the address
// accepts it, once; a new link ends the old.
func TestInvite(t *testing.T) {
	mails, set := apptest.NewCatcher()
	h := start(t, set)
	boss := h.as(admin)
	page := boss.Get(path("/team")).Want(http.StatusOK, "Team")
	boss.Press(page, "Send the invitation", "email", viewer, "role", "admin").Want(http.StatusConflict, "Team")
	boss.Press(page, "Send the invitation", "email", "x", "role", "admin").Want(http.StatusUnprocessableEntity, "Team")
	boss.Post(path("/team/invite"), "email", buyer, "role", "king").Want(http.StatusUnprocessableEntity, "Team")
	first := boss.Follow(boss.Press(page, "Send the invitation", "email", buyer, "role", "viewer")).Want(http.StatusOK, "Team")
	wants(t, first, http.StatusOK, "only the newest one to an address works")
	wantsNone(t, first, "an earlier one")
	if n := strings.Count(first.Body, "data cards"); n != 2 {
		t.Errorf("%d of the two tables are cards on a phone", n)
	}
	old := mails.Mailed(t, buyer, invitationLink)
	page = boss.Follow(boss.Press(page, "Send the invitation", "email", buyer, "role", "support"))
	if !strings.Contains(page.Text(), "Works for another 7 days.") {
		t.Errorf("the list says:\n%s", page.Text())
	}
	link := mails.Mailed(t, buyer, invitationLink)
	if got := h.as("").Get(old); old == link || got.Status != http.StatusNotFound || !strings.Contains(got.Text(), "a newer one was sent") {
		t.Errorf("the older link: %d\n%s", got.Status, got.Text())
	}

	token := strings.TrimPrefix(link, "/console/invitation?token=")
	h.as("").Get(link).Want(http.StatusOK, "Join the team of Claviger")
	h.as(member).Post("/console/invitation", "token", token).Want(http.StatusForbidden, "This invitation does not work")
	if got := h.as(buyer).Do(http.MethodPost, "/console/invitation", map[string][]string{"token": {token}}, "cross-site"); got.Status != http.StatusForbidden {
		t.Errorf("from another site: %d", got.Status)
	}
	// A token of one team is invalid on the page of another.
	if got := h.as(buyer).Get(strings.Replace(link, "/console/", "/portal/", 1)); got.Status != http.StatusNotFound {
		t.Errorf("on the page of partners: %d", got.Status)
	}
	shown := h.as(buyer).Get(link).Want(http.StatusOK, "Join the team of Claviger")
	if got := h.role(buyer); got != "" || !strings.Contains(shown.Text(), "You are invited as support") {
		t.Fatalf("looking made %q:\n%s", got, shown.Text())
	}
	h.as(buyer).Press(shown, "Accept").WantRedirect("/console/")
	if got := h.role(buyer); got != account.RoleSupport {
		t.Errorf("the role is %q", got)
	}
	h.as(buyer).Get(path("")).Want(http.StatusOK, "Today")
	h.as(buyer).Post("/console/invitation", "token", token).Want(http.StatusNotFound, "This invitation does not work")
}

// TestInvitationEnds: an invitation is withdrawn, or ends with the role of the admin who sent it.
func TestInvitationEnds(t *testing.T) {
	mails, set := apptest.NewCatcher()
	h := start(t, set)
	second := h.operator("second@market.example", account.RoleAdmin)
	b := h.web.NewBrowser().SignIn("second@market.example", password)
	b.Post(path("/team/invite"), "email", buyer, "role", "admin").WantRedirect(path("/team"))
	link := mails.Mailed(t, buyer, invitationLink)
	_, err := h.Accounts.ChangeRole(t.Context(), h.actor(admin), second.ID, account.RoleAdmin, account.RoleViewer)
	h.Must(err)
	if got := h.as(buyer).Get(link); got.Status != http.StatusNotFound {
		t.Errorf("an invitation of somebody who is no admin any more: %d", got.Status)
	}
	boss := h.as(admin)
	boss.Post(path("/team/invite"), "email", buyer, "role", "admin").WantRedirect(path("/team"))
	link = mails.Mailed(t, buyer, invitationLink)
	var ask string
	for to := range boss.Get(path("/team")).Links("/console/team/invitations/") {
		ask = to
	}
	boss.Follow(boss.Press(boss.Get(ask), "Withdraw it")).Want(http.StatusOK, "Team")
	if got := h.as(buyer).Get(link); got.Status != http.StatusNotFound || h.role(buyer) != "" {
		t.Errorf("a withdrawn invitation: %d", got.Status)
	}
}

// TestMembers: roles change and end from the next request on; the last admin stays; a stale form is
// refused with the changes.
func TestMembers(t *testing.T) {
	h := start(t)
	boss := h.as(admin)
	of := func(email, act string) string { return path("/team/members/%d/%s", h.User(email).ID, act) }
	stale, staleRemove := boss.Get(of(support, "role")), boss.Get(of(support, "remove"))
	boss.Follow(boss.Press(stale, "Change the role", "role", "admin")).Want(http.StatusOK, "Team")
	got := boss.Press(stale, "Change the role", "role", "viewer")
	if got.Status != http.StatusConflict || !strings.Contains(got.Text(), "The role was “support” and is now “admin”.") || h.role(support) != account.RoleAdmin {
		t.Errorf("a stale form: %d, the role is %s\n%s", got.Status, h.role(support), got.Text())
	}
	if got := boss.Press(staleRemove, "Remove from the team"); got.Status != http.StatusConflict || h.role(support) != account.RoleAdmin {
		t.Errorf("a stale removal: %d", got.Status)
	}
	if got := boss.Post(of(support, "role"), "role", "viewer"); got.Status != http.StatusBadRequest || h.role(support) != account.RoleAdmin {
		t.Errorf("a form that does not say what it showed: %d", got.Status)
	}
	boss.Follow(boss.Press(boss.Get(of(support, "remove")), "Remove from the team")).Want(http.StatusOK, "Team")
	h.as(support).WantSignedIn("") // support gained a role
	if got := h.as(support).SignIn(support, password).Get(path("")); got.Status != http.StatusNotFound {
		t.Errorf("who was removed opens the console: %d", got.Status)
	}
	// The last admin can neither leave nor be demoted.
	if got := boss.Press(boss.Get(path("/team/leave")), "Leave the team", "leave", "on"); got.Status != http.StatusConflict || h.role(admin) != account.RoleAdmin {
		t.Errorf("the last admin left: %d", got.Status)
	}
	if got := boss.Press(boss.Get(of(admin, "role")), "Change the role", "role", "viewer"); got.Status != http.StatusConflict || h.role(admin) != account.RoleAdmin {
		t.Errorf("the last admin was made a viewer: %d", got.Status)
	}
	if text := h.as(viewer).Get(path("/team")).Text(); !strings.Contains(text, "(you)") || strings.Contains(text, "Invite somebody") || !strings.Contains(boss.Get(path("/team")).Text(), "Invite somebody") {
		t.Errorf("the team page of a viewer says %s", text)
	}
	h.as(viewer).Press(h.as(viewer).Get(path("/team/leave")), "Leave the team", "leave", "on").WantRedirect("/account")
	if h.role(viewer) != "" {
		t.Error("a viewer could not leave")
	}
}
