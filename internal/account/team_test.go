package account_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// admins makes users who are admins.
func (d *desk) admins(t *testing.T, emails ...string) []account.User {
	t.Helper()
	var list []account.User
	for _, email := range emails {
		u, _, err := d.Create(t.Context(), operator, account.Person{Email: email})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			u, err = account.SetRole(t.Context(), tx, operator, u.ID, account.RoleAdmin, d.now)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		list = append(list, u)
	}
	return list
}

// TestRoleScopes: each role has the scopes of the table in docs/console.md.
func TestRoleScopes(t *testing.T) {
	for role, want := range map[account.Role]string{
		account.RoleViewer: "read", account.RoleSales: "read sell", account.RoleSupport: "read support",
		account.RoleAdmin: "read sell support admin", "": "", "king": "",
	} {
		var may []string
		for _, s := range []account.Scope{account.Read, account.Sell, account.Support, account.Admin} {
			if role.May(s) {
				may = append(may, string(s))
			}
		}
		if got := strings.Join(may, " "); got != want {
			t.Errorf("%q may %q, want %q", role, got, want)
		}
	}
}

// TestAddOperator: the first admin gets a link for 30 minutes; again, it also removes
// second factors and sessions, and the audit says so.
func TestAddOperator(t *testing.T) {
	d := open(t)
	d.enrolled(t, "ann@market.example") // has a one-time code
	a, err := d.AddOperator(t.Context(), audit.System("claviger operator"), "ann@market.example")
	if f, err := d.Factors(t.Context(), a.User.ID); err != nil || !f.Any() {
		t.Errorf("the first time, second factors are %+v, %v", f, err)
	}
	if err != nil || a.Again || a.User.Role != account.RoleAdmin || a.Expires.Sub(d.now) != 30*time.Minute {
		t.Fatalf("added %+v, %v", a, err)
	}
	_, token, _ := strings.Cut(a.URL, "token=")
	d.now = d.now.Add(29 * time.Minute)
	e, err := d.UseLink(t.Context(), token, "", "")
	if err != nil || e.User.ID != a.User.ID || e.Next != "/console/" {
		t.Fatalf("the link: %+v, %v", e, err)
	}
	before, err := d.Get(t.Context(), a.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.AddOperator(t.Context(), audit.System("claviger operator"), "ANN@market.example")
	after, getErr := d.Get(t.Context(), a.User.ID)
	if err != nil || getErr != nil || !again.Again || again.User.ID != a.User.ID || after.SecondFactor || after.SessionEpoch == before.SessionEpoch {
		t.Errorf("again: %+v, %v; the user is %+v", again, err, after)
	}
	if f, err := d.Factors(t.Context(), a.User.ID); err != nil || f.Any() || f.RecoveryCodes > 0 {
		t.Errorf("second factors are %+v, %v", f, err)
	}
	d.now = d.now.Add(30 * time.Minute)
	_, token, _ = strings.Cut(again.URL, "token=")
	if _, err := d.UseLink(t.Context(), token, "", ""); !fault.Is(err, account.CodeLinkExpired) {
		t.Errorf("the link after 30 minutes: %v", err)
	}
	if got := strings.Join(d.actions(t), " "); !strings.Contains(got, "user.operator") || !strings.Contains(got, "user.factors_remove") {
		t.Errorf("the audit has %s", got)
	}
}

// TestLastAdmin: of two admins who remove each other at once, one stays; the last one
// keeps the role, and cannot be erased by people or programs.
func TestLastAdmin(t *testing.T) {
	d := open(t)
	two := d.admins(t, "ann@market.example", "bea@market.example")
	var wg sync.WaitGroup
	for i := range two {
		wg.Go(func() { _ = d.RemoveOperator(t.Context(), by(two[i]), two[1-i].ID) })
	}
	wg.Wait()
	left, err := d.Operators(t.Context())
	if err != nil || len(left) != 1 {
		t.Fatalf("left are %+v, %v", left, err)
	}
	last := left[0]
	if err := d.RemoveOperator(t.Context(), by(last), last.ID); !fault.Is(err, account.CodeLastAdmin) {
		t.Errorf("the last admin leaves: %v", err)
	}
	if _, err := d.ChangeRole(t.Context(), by(last), last.ID, account.RoleAdmin, account.RoleSales); !fault.Is(err, account.CodeLastAdmin) {
		t.Errorf("the last admin is made less: %v", err)
	}
	erase := func(actor audit.Actor) error {
		return d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, _, err := account.Erase(t.Context(), tx, actor, last.ID, d.now)
			return err
		})
	}
	if err := erase(operator); !fault.Is(err, account.CodeLastAdmin) {
		t.Errorf("the last admin is erased: %v", err)
	}
	if err := erase(audit.System("restore")); err != nil {
		t.Errorf("after a restore: %v", err)
	}
}

// TestTeamActs: only who is an admin at this moment changes the team, and each change has
// another version for open pages.
func TestTeamActs(t *testing.T) {
	d := open(t)
	list := d.admins(t, "ann@market.example", "bea@market.example", "cal@market.example")
	version := func() string {
		t.Helper()
		found, err := d.TeamVersions(t.Context(), []int64{0})
		if err != nil {
			t.Fatal(err)
		}
		return found[0]
	}
	first := version()
	if _, err := d.ChangeRole(t.Context(), by(list[0]), list[1].ID, account.RoleAdmin, account.RoleSupport); err != nil || version() == first {
		t.Fatalf("%v, the version is %s", err, version())
	}
	if _, err := d.ChangeRole(t.Context(), by(list[0]), list[1].ID, account.RoleAdmin, account.RoleSales); !fault.Is(err, "operator_changed") {
		t.Errorf("from another role than was seen: %v", err)
	}
	for name, err := range map[string]error{
		"removes": d.RemoveOperator(t.Context(), by(list[1]), list[2].ID),
		"invites": func() error {
			_, err := account.Inviter{Accounts: d.Book}.Invite(t.Context(), by(list[1]), "eve@example.com", account.RoleAdmin)
			return err
		}(),
	} {
		if !fault.Is(err, "unknown_operator") {
			t.Errorf("who is no admin %s: %v", name, err)
		}
	}
}

// TestEndedSessionsHavePagesChecked: the open pages of an operator learn that a session
// ended, those of the others need not.
func TestEndedSessionsHavePagesChecked(t *testing.T) {
	d := open(t)
	store := &account.Sessions{DB: d.DB, Now: d.Now}
	ann := d.admins(t, "ann@market.example")[0]
	bob, _, err := d.Create(t.Context(), operator, account.Person{Email: "bob@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []account.User{ann, bob} {
		key := "key of " + u.Email
		if err := store.Commit(key, []byte("x"), d.now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := d.NoteSession(t.Context(), key, account.NewSession{UserID: u.ID, Epoch: u.SessionEpoch, BegunAt: d.now}); err != nil {
			t.Fatal(err)
		}
		for i, end := range []func() error{
			func() error { return d.EndSession(t.Context(), operator, u, account.SessionID(key)) },
			func() error { _, err := d.SignOutEverywhere(t.Context(), operator, u.ID); return err },
		} {
			before, err := d.TeamVersions(t.Context(), []int64{0})
			if err == nil {
				err = end()
			}
			after, readErr := d.TeamVersions(t.Context(), []int64{0})
			if err != nil || readErr != nil || (after[0] != before[0]) != u.Operator() {
				t.Errorf("%d of %s: %v, %v; the version was %s and is %s", i, u.Email, err, readErr, before[0], after[0])
			}
		}
	}
}
