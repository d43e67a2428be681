package e2e_test

import (
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/devserver"
	"claviger/internal/e2e/browser"
)

// TestConsoleInvite invites an admin in a browser, with second factors required: from the email,
// over a new account, to a one-time code, without which there is no console, and in again with the
// next code. Then the inviting admin removes them.
func TestConsoleInvite(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, func(cfg *devserver.Config) { cfg.App.RequireSecondFactor = account.RequireAdmins })
	b.givesPassword(b.card.Operator.Email, b.card.Operator.Password)
	boss := b.mustAddCodes()
	b.Press("nav.side-nav a[href='/console/team']")
	b.on("Team")
	b.Type("#email", "ole@example.com")
	browser.Eval[string](b.Tab, `document.querySelector("#role").value = "admin"`)
	b.Press("main form[action$='/invite'] button")
	b.on("Team")
	if text := b.Text("#invitations"); !strings.Contains(text, "ole@example.com") || !strings.Contains(text, "Admin") {
		t.Errorf("the list says %s", text)
	}
	b.look("console-team-invited")
	invitation := b.newestLink()
	b.visit("/console/team")
	b.Press(".person button")

	b.Open(invitation)
	b.on("Join the team of Claviger")
	b.look("console-invitation")
	b.Press("main a[href^='/sign-up']")
	b.Type("#name", "Ole")
	b.Type("#email", "ole@example.com")
	b.Type("#password", "correct horse battery")
	b.Press("main form button")
	b.on("Check your email")
	b.Open(b.newestLink())
	b.Press("main form button")
	b.on("Join the team of Claviger")
	b.Press("main form[action='/console/invitation'] button")
	b.on("Security") // no console without a second factor
	ole := b.mustAddCodes()
	b.visit("/console/team")
	b.on("Team")
	if text := b.Text("main"); !strings.Contains(text, "Ole (you)") || !strings.Contains(text, "Invite somebody") {
		t.Errorf("the team page of an admin says %s", text)
	}
	b.visit("/console/team/leave")
	b.on("Leave the team of Claviger")
	b.look("console-leave")
	b.Press(".person button")
	b.signInWithCode("ole@example.com", "correct horse battery", ole)
	b.Press(".person button")

	b.signInWithCode(b.card.Operator.Email, b.card.Operator.Password, boss)
	b.visit("/console/team")
	b.Press("#members tr:last-child a[href$='/role']")
	b.on("Change the role of Ole")
	b.look("console-role")
	b.visit("/console/team")
	b.Press("#members tr:last-child a[href$='/remove']")
	b.on("Remove Ole from the team")
	b.look("console-remove")
	b.Press("main form button")
	b.on("Team")
	if text := b.Text("#members"); strings.Contains(text, "Ole") {
		t.Errorf("the team is %s", text)
	}
}
