package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/visitor/pagetest"
)

var signInLink = regexp.MustCompile(`/sign-in/link\?token=[0-9a-f]{64}`)

var portalInvitationLink = regexp.MustCompile(`/portal/invitation\?token=[0-9a-f]{64}`)

// useLink signs a browser in with a sign-in link.
func useLink(b *pagetest.Browser, url string) *pagetest.Page {
	return b.Press(b.Get(signInLink.FindString(url)), "Continue")
}

// TestSupportCannotBecomeAdmin: support makes a sign-in link for an address with an open
// invitation, and keeps the session until the invited person accepts.
func TestSupportCannotBecomeAdmin(t *testing.T) {
	mails, set := apptest.NewCatcher()
	h := start(t, set)
	attacker := h.web.NewBrowser()
	h.as(admin).Post(path("/team/invite"), "email", buyer, "role", "admin").WantRedirect(path("/team"))
	link := mails.Mailed(t, buyer, invitationLink)
	made := h.as(support).Post(path("/people/%d/link", h.User(buyer).ID))
	t.Logf("the link: %d", made.Status)
	if made.Status == http.StatusOK {
		useLink(attacker, made.Body)
	}
	h.as(buyer).Press(h.as(buyer).Get(link), "Accept").WantRedirect("/console/")
	if got := attacker.Get(path("/tokens")); got.Status == http.StatusOK {
		t.Errorf("support opens a page for admins: %d %s", got.Status, got.Title())
	}
}

// TestSupportTokenCannotJoinTeam tests the same with a token and a partner's team.
func TestSupportTokenCannotJoinTeam(t *testing.T) {
	mails, set := apptest.NewCatcher()
	h := start(t, set)
	attacker := h.web.NewBrowser()
	_, err := h.Inviter.Invite(t.Context(), apptest.Tester, h.tide.ID, buyer, partner.Admin)
	h.Must(err)
	link := mails.Mailed(t, buyer, portalInvitationLink)
	made := apptest.Send(t, http.DefaultClient, http.MethodPost, fmt.Sprintf("%s/operator/v1/users/%d/session", h.App.URL(), h.User(buyer).ID),
		`{}`, "Authorization: Bearer "+h.Token("help desk", account.Support), "Content-Type: application/json")
	t.Logf("the link: %d %s", made.Status, made.Code())
	if made.Status == http.StatusCreated {
		var body struct{ URL string }
		made.Into(t, &body)
		useLink(attacker, body.URL)
	}
	h.as(buyer).Press(h.as(buyer).Get(link), "Accept")
	if got := attacker.Get(fmt.Sprintf("/portal/%d/team", h.tide.ID)); got.Status == http.StatusOK {
		t.Errorf("the session of a support token opens the team of a partner: %d %s", got.Status, got.Title())
	}
}

// TestAdminWithFactorMakesLinks: an admin with a second factor makes a sign-in link for a member
// and for an invited person. A session from such a link can make none.
func TestAdminWithFactorMakesLinks(t *testing.T) {
	h := start(t)
	u := h.User(admin)
	e := h.Accounts.EnrolTOTP(u)
	_, codes, err := h.Accounts.AddTOTP(t.Context(), h.actor(admin), u.ID, e.Sealed, accounttest.Code(t, e.Secret, h.Accounts.Now()))
	h.Must(err)
	b := h.web.NewBrowser()
	b.Press(b.Get("/sign-in"), "Sign in", "email", admin, "password", password)
	b.Press(b.Get("/sign-in/second"), "Sign in", "code", codes[0]).WantRedirect("/console/")
	_, err = h.Inviter.Invite(t.Context(), apptest.Tester, h.tide.ID, buyer, partner.Admin)
	h.Must(err)
	for _, email := range []string{member, buyer, support} {
		page := b.Get(path("/people/%d/link", h.User(email).ID))
		want(t, b.Press(page, "Make the link"), 200, "The sign-in link")
	}
	made := b.Press(b.Get(path("/people/%d/link", u.ID)), "Make the link")
	assisted := h.web.NewBrowser()
	useLink(assisted, made.Body).WantRedirect("/sign-in/second")
	assisted.Press(assisted.Get("/sign-in/second"), "Sign in", "code", codes[1]).WantRedirect("/console/")
	for _, email := range []string{member, sales} {
		want(t, assisted.Get(path("/people/%d/link", h.User(email).ID)), 403, "You signed in with a link that someone else made for you")
		want(t, assisted.Post(path("/people/%d/link", h.User(email).ID)), 403)
	}
}
