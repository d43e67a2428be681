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

// TestTeamActs: only who is an admin at this moment changes the team, and a person whose
// role changes has another version for open pages.
func TestTeamActs(t *testing.T) {
	d := open(t)
	list := d.admins(t, "ann@market.example", "bea@market.example", "cal@market.example")
	version := func() string {
		t.Helper()
		found, err := d.AccessVersions(t.Context(), []int64{list[1].ID})
		if err != nil {
			t.Fatal(err)
		}
		return found[list[1].ID]
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

// TestEndedSessionsHavePagesChecked: the open pages of a person learn that a session of
// theirs ended, whatever the reason, and those of the others need not.
func TestEndedSessionsHavePagesChecked(t *testing.T) {
	d := open(t)
	store := &account.Sessions{DB: d.DB, Now: d.Now}
	people := d.admins(t, "ann@market.example")
	for _, email := range []string{"bob@example.com", "cal@example.com"} {
		u, _, err := d.Create(t.Context(), operator, account.Person{Email: email})
		if err != nil {
			t.Fatal(err)
		}
		people = append(people, u)
	}
	ids := []int64{people[0].ID, people[1].ID, people[2].ID}
	versions := func() map[int64]string {
		t.Helper()
		found, err := d.AccessVersions(t.Context(), ids)
		if err != nil || len(found) != len(ids) {
			t.Fatal(found, err)
		}
		return found
	}
	begin := func(u account.User, key string, life time.Duration) {
		t.Helper()
		if err := store.Commit(key, []byte("x"), d.now.Add(life)); err != nil {
			t.Fatal(err)
		}
		if err := d.NoteSession(t.Context(), key, account.NewSession{UserID: u.ID, Epoch: u.SessionEpoch, BegunAt: d.now}); err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range people[:2] {
		for name, end := range map[string]func(key string) error{
			"signed out":            store.Delete,
			"ended":                 func(key string) error { return d.EndSession(t.Context(), operator, u, account.SessionID(key)) },
			"expired":               func(string) error { d.now = d.now.Add(time.Hour); return nil },
			"signed out everywhere": func(string) (err error) { u, err = d.SignOutEverywhere(t.Context(), operator, u.ID); return err },
			"signed out and in": func(key string) error {
				d.now = d.now.Add(time.Second)
				begin(u, "again "+key, 24*time.Hour)
				return store.Delete(key)
			},
		} {
			life := 24 * time.Hour
			if name == "expired" {
				life = time.Hour
			}
			begin(u, name+u.Email, life)
			begin(u, name+", too"+u.Email, 24*time.Hour) // goes on
			before := versions()
			if err := end(name + u.Email); err != nil {
				t.Fatal(err)
			}
			for id, now := range versions() {
				if (now != before[id]) != (id == u.ID) {
					t.Errorf("%s, user %d: the version of user %d was %s and is %s", name, u.ID, id, before[id], now)
				}
			}
		}
	}
}
