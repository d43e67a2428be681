package e2e_test

import (
	"strings"
	"testing"
)

// TestConsoleInvite invites an operator in a browser: from the mail, over a new account,
// to the console, where the role decides what they see; then the admin removes them.
func TestConsoleInvite(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.on("Today") // where operators come to after signing in
	b.Press("nav.side-nav a[href='/console/team']")
	b.on("Team")
	b.Type("#email", "ole@example.com")
	b.Press("main form[action$='/invite'] button")
	b.on("Team")
	if text := b.Text("#invitations"); !strings.Contains(text, "ole@example.com") || !strings.Contains(text, "Viewer") {
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
	b.on("Today")
	b.visit("/console/team")
	b.on("Team")
	if text := b.Text("main"); !strings.Contains(text, "Ole (you)") || strings.Contains(text, "Invite somebody") {
		t.Errorf("the team page of a viewer says %s", text)
	}
	b.look("console-team-viewer")
	b.visit("/console/team/leave")
	b.on("Leave the team of Claviger")
	b.look("console-leave")
	b.Press(".person button")

	b.signInAs(b.card.Operator.Email, b.card.Operator.Password)
	b.visit("/console/team")
	b.Press("#members tr:last-child a[href$='/role']")
	b.on("Change the role of Ole")
	b.look("console-role")
	b.visit("/console/team")
	b.Press("#members a[href$='/remove']")
	b.on("Remove Ole from the team")
	b.look("console-remove")
	b.Press("main form button")
	b.on("Team")
	if text := b.Text("#members"); strings.Contains(text, "Ole") {
		t.Errorf("the team is %s", text)
	}
}
