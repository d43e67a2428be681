package portal_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/partner"
)

var tester = apptest.Tester

var invitationLink = regexp.MustCompile(`/portal/invitation\?token=[0-9a-f]{64}`)

// startWithMail is start with a catcher of emails.
func startWithMail(t *testing.T) (*harness, *apptest.Catcher) {
	t.Helper()
	c, set := apptest.NewCatcher()
	return start(t, set), c
}

// role returns the role of a person in Tide, "" for none.
func (h *harness) role(email string) partner.Role {
	h.Helper()
	m, err := h.Partners.Member(h.Context(), h.tide.ID, h.User(email).ID)
	if err != nil {
		return ""
	}
	return m.Role
}

// TestInvite: anyone with the link sees the invitation, and only the person with the address
// accepts it, once; a new link ends the old.
func TestInvite(t *testing.T) {
	h, mails := startWithMail(t)
	boss := h.as(admin)
	page := boss.Get(h.path("/team")).Want(http.StatusOK, "Team")
	boss.Press(page, "Send the invitation", "email", viewer, "role", "admin").Want(http.StatusConflict, "Team")
	boss.Press(page, "Send the invitation", "email", "x", "role", "admin").Want(http.StatusUnprocessableEntity, "Team")
	first := boss.Follow(boss.Press(page, "Send the invitation", "email", buyer, "role", "viewer")).Want(http.StatusOK, "Team")
	if text := first.Text(); strings.Contains(text, "an earlier one") || !strings.Contains(text, "only the newest one to an address works") {
		t.Errorf("after the first invitation the page says:\n%s", text)
	}
	old := mails.Mailed(t, buyer, invitationLink)
	page = boss.Follow(boss.Press(page, "Send the invitation", "email", buyer, "role", "developer"))
	if !strings.Contains(page.Text(), "Works for another 7 days.") {
		t.Errorf("the list says:\n%s", page.Text())
	}
	link := mails.Mailed(t, buyer, invitationLink)
	if got := h.as("").Get(old); got.Status != http.StatusNotFound || !strings.Contains(got.Text(), "a newer one was sent") {
		t.Errorf("the older link: %d\n%s", got.Status, got.Text())
	}

	// Signed out: the page shows the role and links to the sign-in, and no URL on the way contains
	// the token.
	nobody := h.web.NewBrowser()
	shown := nobody.Get(link).Want(http.StatusOK, "Join the team of Tide Planner")
	if !strings.Contains(shown.Text(), "You are invited as developer") || !strings.Contains(shown.Text(), buyer) || shown.Input("token") != nil {
		t.Errorf("a stranger with the link is shown:\n%s", shown.Text())
	}
	for to := range shown.Links("/sign-") {
		if strings.Contains(to, "token") {
			t.Errorf("the way to sign in is %s", to)
		}
	}
	token := strings.TrimPrefix(link, "/portal/invitation?token=")
	nobody.Post("/portal/invitation", "token", token).WantRedirect("/sign-in?next=")
	h.as(stranger).Post("/portal/invitation", "token", token).Want(http.StatusForbidden, "This invitation does not work")
	if got := h.as(stranger).Get(link); got.Input("token") != nil || !strings.Contains(got.Text(), "you are signed in as "+stranger) {
		t.Errorf("somebody else is shown:\n%s", got.Text())
	}
	if got := h.as(buyer).Do(http.MethodPost, "/portal/invitation", url.Values{"token": {token}}, "cross-site"); got.Status != http.StatusForbidden || h.role(buyer) != "" {
		t.Errorf("from another site: %d", got.Status)
	}

	// The link is remembered during the sign-in.
	nobody.Post("/sign-in?next=%2Fportal%2Finvitation", "email", buyer, "password", password).WantRedirect("/portal/invitation")
	back := nobody.Get("/portal/invitation").Want(http.StatusOK, "Join the team of Tide Planner")
	if h.role(buyer) != "" {
		t.Fatal("looking accepted it")
	}
	nobody.Press(back, "Accept").WantRedirect(h.path(""))
	if h.role(buyer) != partner.Developer {
		t.Errorf("the role is %q", h.role(buyer))
	}
	nobody.Post("/portal/invitation", "token", token).Want(http.StatusNotFound, "This invitation does not work")
	nobody.Get(h.path("/credentials")).Want(http.StatusOK, "Credentials")
}

// TestWithdrawnInvitation: a withdrawn invitation ends, and so do those of a removed admin.
func TestWithdrawnInvitation(t *testing.T) {
	h, mails := startWithMail(t)
	boss := h.as(admin)
	boss.Press(boss.Get(h.path("/team")), "Send the invitation", "email", buyer, "role", "admin")
	link := mails.Mailed(t, buyer, invitationLink)
	ask := boss.Get(rowLink(t, boss.Get(h.path("/team")), "Withdraw the invitation of "+buyer)).Want(http.StatusOK, "Withdraw the invitation")
	h.as(buyer).Get(link).Want(http.StatusOK, "Join the team of Tide Planner")
	boss.Follow(boss.Press(ask, "Withdraw it")).Want(http.StatusOK, "Team")
	h.as(buyer).Get(link).Want(http.StatusNotFound, "This invitation does not work")
}

// TestMembers: admins change roles and remove people; the last admin stays.
func TestMembers(t *testing.T) {
	h := start(t)
	boss := h.as(admin)
	team := boss.Get(h.path("/team"))
	if got := h.as(developer).Get(h.path("/team")); got.Input("email") != nil || strings.Contains(got.Body, "/role") {
		t.Error("a developer is shown what only an admin may do")
	}
	own := boss.Get(rowLink(t, team, "Change role of "+admin+" (you)"))
	if got := boss.Press(own, "Change the role", "role", "viewer"); got.Status != http.StatusConflict || !strings.Contains(got.Text(), "no one else is one") {
		t.Errorf("the last admin demotes themselves: %d\n%s", got.Status, got.Text())
	}
	leave := boss.Get(h.path("/team/leave"))
	boss.Press(leave, "Leave the team").Want(http.StatusUnprocessableEntity, "Leave the team of Tide Planner")
	boss.Press(leave, "Leave the team", "leave", "yes").Want(http.StatusConflict, "Leave the team of Tide Planner")

	ask := boss.Get(rowLink(t, team, "Change role of "+developer)).Want(http.StatusOK, "Change the role of "+developer)
	boss.Follow(boss.Press(ask, "Change the role", "role", "admin")).Want(http.StatusOK, "Team")
	if late := boss.Press(ask, "Change the role", "role", "viewer"); late.Status != http.StatusConflict || !strings.Contains(late.Text(), "from developer to admin since the page was shown") {
		t.Errorf("on an old page: %d\n%s", late.Status, late.Text())
	}
	second := h.as(developer)
	second.WantSignedIn("") // the new role ended the session
	second.SignIn(developer, password)
	remove := second.Get(rowLink(t, second.Get(h.path("/team")), "Remove "+viewer)).Want(http.StatusOK, "Remove "+viewer+" from the team")
	second.Follow(second.Press(remove, "Remove from the team")).Want(http.StatusOK, "Team")
	if got := h.as(viewer).SignIn(viewer, password).Get(h.path("/team")); got.Status != http.StatusNotFound || h.role(viewer) != "" {
		t.Errorf("who was removed gets %d", got.Status)
	}
	boss.Press(leave, "Leave the team", "leave", "yes").WantRedirect("/account")
	if h.role(admin) != "" || h.role(developer) != partner.Admin {
		t.Error("the first admin did not leave, or the second is none")
	}
	history := second.Get(h.path("/audit")).Text()
	for _, want := range []string{"Changed the role of " + developer + " from developer to admin.", "Removed " + viewer + " from the team.", "Left the team."} {
		if !strings.Contains(history, want) {
			t.Errorf("the audit lacks %q:\n%s", want, history)
		}
	}
}

// TestSignUpOnTheWay: a person without an account creates one, and accepts.
func TestSignUpOnTheWay(t *testing.T) {
	h, mails := startWithMail(t)
	boss := h.as(admin)
	boss.Press(boss.Get(h.path("/team")), "Send the invitation", "email", "new@tide.example", "role", "viewer")
	b := h.web.NewBrowser()
	page := b.Get(mails.Mailed(t, "new@tide.example", invitationLink))
	form := b.Get(rowLink(t, page, "Create an account"))
	b.Press(form, "Create account", "email", "new@tide.example", "name", "Nia", "password", password)
	confirm := mails.Mailed(t, "new@tide.example", regexp.MustCompile(`/sign-in/link\?token=[0-9a-f]+`))
	b.Press(b.Get(confirm), "").WantRedirect("/portal/invitation")
	b.Press(b.Get("/portal/invitation"), "Accept").WantRedirect(h.path(""))
	h.as(admin).Get(h.path("/team")).Want(http.StatusOK, "Team")
	if h.role("new@tide.example") != partner.Viewer {
		t.Error("Nia is no member")
	}
}
