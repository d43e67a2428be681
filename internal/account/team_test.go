package account_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// admins makes admins.
func (d *harness) admins(t *testing.T, emails ...string) []account.User {
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

// TestRoleScopes checks the scopes of each role against the table in docs/console.md.
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

// TestAddOperator checks that the first admin gets a link for 30 minutes. A second call also
// removes second factors and sessions, and the audit records it.
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
	got := d.actions(t)
	made := slices.Index(got, "user.operator user:1")
	want := []string{
		"user.operator user:1", "user.link user:1", "user.sign_in user:1",
		"user.factors_remove user:1", "user.link user:1",
	}
	if made < 0 || !slices.Equal(got[made:], want) {
		t.Errorf("the audit has %q", got)
	}
}

// TestAddNewOperator: the first admin may be someone who has no account, or who signed up
// and has not confirmed the address. Both stay.
func TestAddNewOperator(t *testing.T) {
	d := open(t)
	d.signUp(t, "bea@market.example", "correct horse", "")
	for _, email := range []string{"bea@market.example", "ann@market.example"} {
		if a, err := d.AddOperator(t.Context(), operator, email); err != nil || a.Again {
			t.Errorf("%s: %+v, %v", email, a, err)
		}
	}
	want := []string{
		"user.sign_up user:1", "user.operator user:1", "user.link user:1",
		"user.create user:2", "user.operator user:2", "user.link user:2",
	}
	if got := d.actions(t); !slices.Equal(got, want) {
		t.Errorf("the audit has %q", got)
	}
	d.forget(t, 30*24*time.Hour)
	if list, err := d.Operators(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("a month later the team is %+v, %v", list, err)
	}
	_, err := d.AddOperator(t.Context(), operator, "not an address")
	refused(t, "not an address", err, "invalid_field")
}

// TestLastAdmin checks that if two admins remove each other concurrently, one stays. The last one
// keeps the role, and neither people nor programs can erase them.
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

// TestTeamActs checks that only current admins change the team, and that a change of role changes
// the access version for open pages.
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
			_, err := account.Inviter{Accounts: d.Store}.Invite(t.Context(), by(list[1]), "eve@example.com", account.RoleAdmin)
			return err
		}(),
	} {
		if !fault.Is(err, "unknown_operator") {
			t.Errorf("who is no admin %s: %v", name, err)
		}
	}
}

// TestWhoChangesTheTeam: people need the role of an admin, also to change their own. Each
// may leave. Tokens may do both, and everyone in the team came by an invitation.
func TestWhoChangesTheTeam(t *testing.T) {
	d := open(t)
	viewer := d.create(t, account.Person{Email: "vic@market.example"}) // has the id of the token
	if viewer.ID != operator.ID {
		t.Fatalf("the viewer is user %d", viewer.ID)
	}
	d.setRole(t, viewer.ID, account.RoleViewer)
	ann := d.admins(t, "ann@market.example", "bea@market.example")[0]
	buyer := d.create(t, account.Person{Email: "buyer@example.com"})
	gone := d.create(t, account.Person{Email: "gone@example.com"})
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, gone.ID, d.now)
		return err
	})
	for _, c := range []struct {
		name      string
		by        audit.Actor
		id        int64
		was, role account.Role
		code      string // "": it is done
	}{
		{"a viewer, of an admin", by(viewer), ann.ID, account.RoleAdmin, account.RoleViewer, "unknown_operator"},
		{"a viewer, of themselves", by(viewer), viewer.ID, account.RoleViewer, account.RoleAdmin, "unknown_operator"},
		{"a buyer, of themselves", by(buyer), buyer.ID, "", account.RoleAdmin, "unknown_operator"},
		{"an admin, of a buyer", by(ann), buyer.ID, "", account.RoleViewer, "unknown_operator"},
		{"an admin, of nobody", by(ann), 999, "", account.RoleViewer, account.CodeUnknownUser},
		{"an admin, of an erased person", by(ann), gone.ID, "", account.RoleViewer, account.CodeUserErased},
		{"an admin, to none", by(ann), viewer.ID, account.RoleViewer, "", "invalid_field"},
		{"an admin, to an unknown one", by(ann), viewer.ID, account.RoleViewer, "king", "invalid_field"},
		{"a token", operator, viewer.ID, account.RoleViewer, account.RoleSales, ""},
		{"an admin", by(ann), viewer.ID, account.RoleSales, account.RoleSupport, ""},
		{"an admin, of themselves", by(ann), ann.ID, account.RoleAdmin, account.RoleSupport, ""},
	} {
		u, err := d.ChangeRole(t.Context(), c.by, c.id, c.was, c.role)
		if c.code != "" {
			refused(t, c.name, err, c.code)
		} else if err != nil || u.Role != c.role {
			t.Errorf("%s: %+v, %v", c.name, u, err)
		}
	}
	_, err := account.Inviter{Accounts: d.Store}.Invite(t.Context(), operator, "eve@example.com", "king")
	refused(t, "an invitation to an unknown role", err, "invalid_field")
	for _, id := range []int64{999, gone.ID} {
		err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			return errorOf(account.SetRole(t.Context(), tx, operator, id, account.RoleAdmin, d.now))
		})
		if fault.Of(err) == nil {
			t.Errorf("user %d is an admin: %v", id, err)
		}
	}
	refused(t, "support removes support", d.RemoveOperator(t.Context(), by(viewer), ann.ID), "unknown_operator")
	if err := d.RemoveOperator(t.Context(), by(viewer), viewer.ID); err != nil {
		t.Errorf("support leaves: %v", err)
	}
	if u, err := d.Operator(t.Context(), ann.ID); err != nil || u.Role != account.RoleSupport {
		t.Errorf("in the team: %+v, %v", u, err)
	}
	_, err = d.Operator(t.Context(), viewer.ID)
	refused(t, "in the team after leaving it", err, "unknown_operator")
	if err := d.RemoveOperator(t.Context(), operator, ann.ID); err != nil {
		t.Errorf("a token removes: %v", err)
	}
}

// TestErasedAdminInvitesNobody: the invitations of an erased admin end.
func TestErasedAdminInvitesNobody(t *testing.T) {
	d := open(t)
	ann := d.admins(t, "ann@market.example", "bea@market.example")[0]
	eve := d.create(t, account.Person{Email: "eve@example.com"})
	value := d.invite(t, ann, eve.Email, account.RoleAdmin)
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, ann.ID, d.now)
		return err
	})
	_, err := account.Inviter{Accounts: d.Store}.Accept(t.Context(), by(eve), eve.ID, d.proof(eve.Email), value)
	if fault.Of(err) == nil {
		t.Errorf("accepted: %v", err)
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
			begin(u, name+", too"+u.Email, 24*time.Hour) // continues
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
