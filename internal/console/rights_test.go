package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/visitor/pagetest"
)

var confirmLink = regexp.MustCompile(`/account/email/confirm\?token=[0-9a-f]{64}`)

// leaveLinks creates a link of each kind for a person. The returned function counts the usable
// ones.
func (h *harness) leaveLinks(u account.User) func() int64 {
	h.Helper()
	by := h.web.NewBrowser().SignIn(u.Email, password)
	by.Post("/account/email", "email", "other-"+u.Email)
	h.Must(h.Accounts.SendLink(h.Context(), u.Email, ""))
	h.Must(h.Accounts.SendReset(h.Context(), u.Email, ""))
	_, _, err := h.Accounts.Link(h.Context(), apptest.Tester, u.ID, "")
	h.Must(err)
	_, err = (&account.LinkMailer{Store: h.Accounts}).Round(h.Context())
	h.Must(err)
	usable := func() int64 {
		return h.Count(`SELECT count(*) FROM login_links WHERE user_id = $1 AND used_at = 0 AND expires_at > $2`, u.ID, h.Accounts.Now())
	}
	if n := usable(); n != 4 {
		h.Fatalf("%d links can be used", n)
	}
	return usable
}

// awaited returns the next link of a kind that is emailed to an address. Other emails are skipped.
func awaited(t *testing.T, mails *apptest.Catcher, to string, link *regexp.Regexp) string {
	t.Helper()
	for {
		select {
		case m := <-mails.Mails:
			if found := link.FindString(m.Text); m.To == to && found != "" {
				return found
			}
		case <-t.Context().Done():
			t.Fatalf("no link was mailed to %s", to)
		}
	}
}

// acceptAs accepts an emailed invitation.
func (h *harness) acceptAs(b *pagetest.Browser, link string) *pagetest.Page {
	h.Helper()
	return b.Press(b.Get(link), "Accept")
}

// TestRightsThatGrow: with every new right, a person's other sessions and all their links end. The
// session that gained it continues.
func TestRightsThatGrow(t *testing.T) {
	mails, set := apptest.NewCatcher()
	h := start(t, set)
	other, _ := h.Partner("Reef", profile.URLs{})
	invited := func(team int64, email string) string {
		if team == 0 {
			_, err := (account.Inviter{Accounts: h.Accounts}).Invite(h.Context(), h.actor(admin), email, account.RoleSales)
			h.Must(err)
			return awaited(t, mails, email, invitationLink)
		}
		_, err := h.Inviter.Invite(h.Context(), apptest.Tester, team, email, partner.Viewer)
		h.Must(err)
		return awaited(t, mails, email, portalInvitationLink)
	}
	joins := func(team int64) func(account.User, *pagetest.Browser) {
		return func(u account.User, b *pagetest.Browser) { h.acceptAs(b, invited(team, u.Email)) }
	}
	// The part before the slash is the person's first role.
	for name, gain := range map[string]func(account.User, *pagetest.Browser){
		"buyer/accepts the invitation of operators": joins(0),
		"buyer/accepts the invitation of a partner": joins(h.tide.ID),
		"member/joins a second team":                joins(other.ID),
		"member/becomes an operator":                joins(0),
		"buyer/changes the address": func(u account.User, b *pagetest.Browser) {
			b.Post("/account/email", "email", "new-"+u.Email)
			b.Press(b.Get(awaited(t, mails, "new-"+u.Email, confirmLink)), "Use the new address")
		},
		"viewer/gets another role": func(u account.User, _ *pagetest.Browser) {
			_, err := h.Accounts.ChangeRole(h.Context(), h.actor(admin), u.ID, account.RoleViewer, account.RoleAdmin)
			h.Must(err)
		},
		"buyer/is promoted on the machine": func(u account.User, _ *pagetest.Browser) {
			_, err := h.Accounts.AddOperator(h.Context(), apptest.Tester, u.Email)
			h.Must(err)
			h.Exec(`DELETE FROM login_links WHERE user_id = $1 AND next = '/console/'`, u.ID) // the link of the command works
		},
		"buyer/is added by a token": func(u account.User, _ *pagetest.Browser) {
			_, err := h.Partners.AddMember(h.Context(), apptest.Tester, h.tide.ID, u.ID, partner.Viewer)
			h.Must(err)
		},
		"member/gets another role with the partner": func(u account.User, _ *pagetest.Browser) {
			_, err := h.Partners.ChangeRole(h.Context(), apptest.Tester, h.tide.ID, u.ID, partner.Viewer, partner.Developer)
			h.Must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			is, act, _ := strings.Cut(name, "/")
			u := h.operator(strings.ReplaceAll(act, " ", ".")+"@example.com", "")
			switch is {
			case "viewer":
				u = h.operator(u.Email, account.RoleViewer)
			case "member":
				_, err := h.Partners.AddMember(t.Context(), apptest.Tester, h.tide.ID, u.ID, partner.Viewer)
				h.Must(err)
			}
			links := h.leaveLinks(u)
			mine, held := h.web.NewBrowser().SignIn(u.Email, password), h.web.NewBrowser().SignIn(u.Email, password)
			gain(u, mine)
			held.WantSignedIn("")
			if n := links(); n != 0 {
				t.Errorf("%d links can still be used", n)
			}
			if strings.Contains(act, "accepts") || strings.Contains(act, "joins") || strings.Contains(act, "becomes") || strings.Contains(act, "changes") {
				if got := mine.Get("/account"); got.Status != http.StatusOK {
					t.Errorf("the session that gained it: %d to %q", got.Status, got.Header.Get("Location"))
				}
			}
		})
	}
}

// again returns the sign-in page that leads back to a page.
func again(path string) string { return "/sign-in?again=1&next=" + url.QueryEscape(path) }

// TestRightsThatShrink: people who lose a role or a membership, or are demoted, sign in again in
// the console and the portal; the session continues in the shop.
func TestRightsThatShrink(t *testing.T) {
	h := start(t)
	portal := fmt.Sprintf("/portal/%d/", h.tide.ID)
	for name, lose := range map[string]func(account.User){
		"operator is demoted": func(u account.User) {
			_, err := h.Accounts.ChangeRole(h.Context(), h.actor(admin), u.ID, account.RoleAdmin, account.RoleSupport)
			h.Must(err)
		},
		"operator is removed": func(u account.User) { h.Must(h.Accounts.RemoveOperator(h.Context(), h.actor(admin), u.ID)) },
		"operator leaves":     func(u account.User) { h.Must(h.Accounts.RemoveOperator(h.Context(), h.actor(u.Email), u.ID)) },
		"member is demoted": func(u account.User) {
			_, err := h.Partners.ChangeRole(h.Context(), apptest.Tester, h.tide.ID, u.ID, partner.Developer, partner.Viewer)
			h.Must(err)
		},
		"member is removed": func(u account.User) {
			h.Must(h.Partners.RemoveMember(h.Context(), apptest.Tester, h.tide.ID, u.ID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			u := h.operator(strings.ReplaceAll(name, " ", ".")+"@example.com", account.RoleAdmin)
			_, err := h.Partners.AddMember(t.Context(), apptest.Tester, h.tide.ID, u.ID, partner.Developer)
			h.Must(err)
			b := h.web.NewBrowser().SignIn(u.Email, password)
			b.Get(path("/team")).Want(http.StatusOK, "Team")
			before := h.Count(`SELECT session_epoch FROM users WHERE id = $1`, u.ID)
			lose(u)
			if n := h.Count(`SELECT session_epoch FROM users WHERE id = $1`, u.ID); n != before {
				t.Error("all sessions ended")
			}
			for _, page := range []string{path("/team"), portal} {
				b.Get(page).WantRedirect(again(page))
			}
			b.Get("/licenses").Want(http.StatusOK, "My licenses")
			b.WantSignedIn(u.Email)
			back := b.Press(b.Get(again("/console/")), "Sign in", "email", u.Email, "password", password)
			back.WantRedirect("/console/")
			wanted := http.StatusOK
			if name == "operator is removed" || name == "operator leaves" {
				wanted = http.StatusNotFound
			}
			if got := b.Get(path("")); got.Status != wanted {
				t.Errorf("after a new sign-in: %d, want %d", got.Status, wanted)
			}
		})
	}
}

// TestRemovedPartner: the members of a removed partner lose their membership.
func TestRemovedPartner(t *testing.T) {
	h := start(t)
	gone, _ := h.Partner("Gone", profile.URLs{})
	u := h.operator("member@gone.example", account.RoleViewer)
	_, err := h.Partners.AddMember(t.Context(), apptest.Tester, gone.ID, u.ID, partner.Viewer)
	h.Must(err)
	b := h.web.NewBrowser().SignIn(u.Email, password)
	b.Get(path("")).Want(http.StatusOK, "Today")
	h.Must(h.Profiles.Remove(t.Context(), apptest.Tester, gone.ID))
	b.Get(path("")).WantRedirect(again("/console"))
	b.Get("/licenses").Want(http.StatusOK, "My licenses")
}

// TestAcceptNeedsARecentSignIn: accepting an invitation requires the person's own sign-in within
// ten minutes; otherwise they sign in and come back.
func TestAcceptNeedsARecentSignIn(t *testing.T) {
	mails, set := apptest.NewCatcher()
	clock := apptest.StoppedClock(time.Now().UTC().Truncate(time.Second))
	h := start(t, set, clock.Set)
	b, held := h.as(buyer), h.web.NewBrowser()
	made := h.as(support).Post(path("/people/%d/link", h.User(buyer).ID))
	want(t, made, 200, "sign-in link")
	useLink(held, made.Body).WantRedirect("/licenses")

	h.as(admin).Post(path("/team/invite"), "email", buyer, "role", "admin").WantRedirect(path("/team"))
	link := mails.Mailed(t, buyer, invitationLink)
	token := strings.TrimPrefix(link, "/console/invitation?token=")
	// The session of support's own link cannot accept it, although it is new.
	if page := held.Get(link).Want(http.StatusOK, "Join the team of Claviger"); !strings.Contains(page.Text(), "Sign in again") {
		t.Errorf("an assisted session reads: %s", page.Text())
	}
	held.Post("/console/invitation", "token", token).WantRedirect(again("/console/invitation"))

	clock.Advance(10*time.Minute - time.Second)
	page := b.Get(link).Want(http.StatusOK, "Join the team of Claviger")
	clock.Advance(2 * time.Second)
	b.Press(page, "Accept").WantRedirect(again("/console/invitation"))
	if got := h.role(buyer); got != "" {
		t.Fatalf("an old session accepted it: %q", got)
	}
	if page := b.Get(link); !strings.Contains(page.Text(), "Sign in again") {
		t.Errorf("who signed in long ago reads: %s", page.Text())
	}
	b.Press(b.Get(again("/console/invitation")), "Sign in", "email", buyer, "password", password).WantRedirect("/console/invitation")
	h.acceptAs(b, "/console/invitation").WantRedirect("/console/")
	b.Get(path("")).Want(http.StatusOK, "Today")
	if got := h.role(buyer); got != account.RoleAdmin {
		t.Errorf("the role is %q", got)
	}
	held.WantSignedIn("")
}
