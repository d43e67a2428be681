package account_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
)

// invite emails an invitation to the team and returns its token.
func (d *harness) invite(t *testing.T, from account.User, email string, role account.Role) string {
	t.Helper()
	if _, err := (account.Inviter{Accounts: d.Store}).Invite(t.Context(), by(from), email, role); err != nil {
		t.Fatal(err)
	}
	found := tokenText.FindStringSubmatch(d.mails(t)[0].Text)
	if found == nil {
		t.Fatalf("no link in\n%s", d.mails(t)[0].Text)
	}
	return found[1]
}

func (d *harness) setRole(t *testing.T, id int64, role account.Role) (u account.User) {
	t.Helper()
	d.write(t, func(tx *sqldb.Tx) (err error) {
		u, err = account.SetRole(t.Context(), tx, operator, id, role, d.now)
		return err
	})
	return u
}

// proof returns the proof of a person that has just signed in.
func (d *harness) proof(email string) invitation.Proof {
	return invitation.Proof{Email: email, SignedIn: d.now}
}

// TestAcceptInvitation gives the role of the invitation to the person with its address, once. An
// operator keeps their role, and invitations end with the role of their sender.
func TestAcceptInvitation(t *testing.T) {
	d := open(t)
	team := account.Inviter{Accounts: d.Store}
	admins := d.admins(t, "ann@market.example", "bea@market.example")
	eve := d.create(t, account.Person{Email: "eve@example.com"})
	value := d.invite(t, admins[0], eve.Email, account.RoleSales)
	if _, err := team.Accept(t.Context(), by(eve), eve.ID, d.proof("mallory@example.com"), value); fault.Of(err) == nil {
		t.Errorf("with another address: %v", err)
	}
	d.now = d.now.Add(time.Minute)
	u, err := team.Accept(t.Context(), by(eve), eve.ID, d.proof(eve.Email), value)
	if err != nil || u.Role != account.RoleSales || !u.OperatorSince.Equal(d.now) {
		t.Fatalf("accepted: %+v, %v", u, err)
	}
	if role, err := account.RoleOf(t.Context(), d.DB, eve.ID); err != nil || role != account.RoleSales {
		t.Errorf("stored: %q, %v", role, err)
	}
	if _, err := team.Accept(t.Context(), by(eve), eve.ID, d.proof(eve.Email), value); fault.Of(err) == nil {
		t.Errorf("again: %v", err)
	}
	again := d.invite(t, admins[0], "eve2@example.com", account.RoleAdmin)
	if u, err := team.Accept(t.Context(), by(eve), eve.ID, d.proof("eve2@example.com"), again); err == nil && u.Role != account.RoleSales {
		t.Errorf("an operator became %q", u.Role)
	}
	late := d.invite(t, admins[1], "zoe@example.com", account.RoleAdmin)
	d.setRole(t, admins[1].ID, account.RoleSupport)
	zoe := d.create(t, account.Person{Email: "zoe@example.com"})
	if _, err := team.Accept(t.Context(), by(zoe), zoe.ID, d.proof(zoe.Email), late); fault.Of(err) == nil {
		t.Errorf("an invitation of who is no longer an admin: %v", err)
	}
	if role, err := account.RoleOf(t.Context(), d.DB, 999); err != nil || role != "" {
		t.Errorf("the role of nobody: %q, %v", role, err)
	}
}

// TestOperatorSince checks that OperatorSince is set from the first role until the last ends.
func TestOperatorSince(t *testing.T) {
	d := open(t)
	d.admins(t, "ann@market.example")
	u := d.create(t, account.Person{Email: "bea@market.example"})
	begun := d.now
	for i, role := range []account.Role{account.RoleViewer, account.RoleAdmin, ""} {
		if u = d.setRole(t, u.ID, role); u.Role != role || i < 2 && !u.OperatorSince.Equal(begun) || i == 2 && !u.OperatorSince.IsZero() {
			t.Errorf("%q since %s", u.Role, u.OperatorSince)
		}
		d.now = d.now.Add(time.Hour)
	}
	err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetRole(t.Context(), tx, operator, u.ID, "king", d.now)
		return err
	})
	if f := fault.Of(err); f == nil || f.Field != "role" {
		t.Errorf("an unknown role: %v", err)
	}
}

// TestTeamIsBounded checks the limit of 200 people.
func TestTeamIsBounded(t *testing.T) {
	d := open(t)
	team := account.Inviter{Accounts: d.Store}
	ann := d.admins(t, "ann@market.example")[0]
	eve := d.create(t, account.Person{Email: "eve@example.com"})
	value := d.invite(t, ann, eve.Email, account.RoleViewer)
	for i := range 199 {
		d.create(t, account.Person{Email: fmt.Sprintf("p%d@example.com", i)})
	}
	d.write(t, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE users SET operator_role = 'viewer' WHERE id > $1`, eve.ID)
		return nil
	})
	_, err := team.Accept(t.Context(), by(eve), eve.ID, d.proof(eve.Email), value)
	refused(t, "one more than 200", err, invitation.CodeTooManyInvitations)
	d.write(t, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE users SET operator_role = '' WHERE id = $1`, eve.ID+1)
		return nil
	})
	if _, err := team.Accept(t.Context(), by(eve), eve.ID, d.proof(eve.Email), value); err != nil {
		t.Errorf("the 200th: %v", err)
	}
}

// TestLinkLeadsNowhereElse checks that an operator's link leads to a page of ours.
func TestLinkLeadsNowhereElse(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "licenses"} {
		if f := fault.Of(second(d.Link(t.Context(), operator, u.ID, next))); f == nil || f.Field != "next" {
			t.Errorf("%q: %v", next, f)
		}
	}
	if err := second(d.Link(t.Context(), operator, u.ID, "/licenses")); err != nil {
		t.Error(err)
	}
	for length, kept := range map[int]bool{24 << 10: true, 24<<10 + 1: false} {
		if path := "/" + strings.Repeat("a", length-1); (account.LocalPath(path) == path) != kept {
			t.Errorf("a path of %d bytes", length)
		}
	}
}

func second(_ string, _ time.Time, err error) error { return err }

// TestPasskeyOrigin checks that passkeys are bound to the public URL, and that there are none if
// browsers allow none.
func TestPasskeyOrigin(t *testing.T) {
	d := open(t)
	for public, want := range map[string][]string{
		"https://market.example":      {"market.example", "https://market.example"},
		"https://market.example:8443": {"market.example", "https://market.example:8443"},
		"http://localhost:8080":       {"localhost", "http://localhost:8080"},
		"http://127.0.0.1:8080":       {"localhost", "http://localhost:8080"},
		"http://market.example":       {"", ""},
		"https://192.0.2.7":           {"", ""},
		"https://%zz":                 {"", ""},
	} {
		d.PublicURL = public
		host, origin := d.PasskeyOrigin()
		if !slices.Equal([]string{host, origin}, want) {
			t.Errorf("%s: %s, %s", public, host, origin)
		}
		u := account.User{ID: 1, Email: "ann@example.com"}
		for name, begin := range map[string]func() error{
			"sign in":  func() error { return errorOf(d.BeginPasskeySignIn()) },
			"register": func() error { return errorOf(d.BeginPasskey(t.Context(), u)) },
		} {
			err := begin()
			if allowed := want[0] != ""; (err == nil) != allowed || !allowed && !fault.Is(err, account.CodeInvalidPasskey) {
				t.Errorf("%s at %s: %v", name, public, err)
			}
		}
		if want[0] != "" {
			continue
		}
		_, _, err := d.AddPasskey(t.Context(), by(u), u, "{}", nil, "Phone")
		if f := fault.Of(err); f == nil || f.Kind != fault.Conflict {
			t.Errorf("register at %s: %v", public, err)
		}
	}
}
