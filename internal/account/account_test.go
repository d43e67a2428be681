package account_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/paging"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var (
	noon     = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	operator = audit.Actor{Kind: audit.ByToken, ID: 1, Name: "tests"}
)

// harness is a Store on an empty database with a clock that the test sets.
type harness struct {
	*account.Store
	now   time.Time
	woken atomic.Int64 // calls of Asked
}

func open(t *testing.T) *harness {
	t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	d := &harness{now: noon}
	d.Store = &account.Store{
		DB: sqldbtest.Open(t), Now: func() time.Time { return d.now }, PublicURL: "https://market.example",
		Marketplace: "Bazaar", HashCost: account.HashCost{KiB: 8, Passes: 1}, Sealer: box, Mail: &mail.Outbox{Sealer: box, Wake: func() { d.woken.Add(1) }},
	}
	return d
}

func (d *harness) create(t *testing.T, p account.Person) account.User {
	t.Helper()
	u, _, err := d.Create(t.Context(), operator, p)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// by returns the user as an actor.
func by(u account.User) audit.Actor { return audit.Actor{Kind: audit.ByUser, ID: u.ID} }

// write runs fn in a transaction.
func (d *harness) write(t *testing.T, fn func(tx *sqldb.Tx) error) {
	t.Helper()
	if err := d.DB.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// exec runs a statement of SQL.
func (d *harness) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	d.write(t, func(tx *sqldb.Tx) error {
		tx.Queue(sql, args...)
		return nil
	})
}

// actions are the audited actions, oldest first.
func (d *harness) actions(t *testing.T) []string {
	t.Helper()
	l := audit.Log{DB: d.DB}
	list, _, err := l.List(t.Context(), audit.Filter{}, paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Action+" "+e.Subject)
	}
	return names
}

func TestValid(t *testing.T) {
	for name, c := range map[string]struct {
		person account.Person
		field  string // "": acceptable
	}{
		"all":                 {account.Person{Email: "ann@example.com", Name: "Ann", ExternalID: "u-1"}, ""},
		"address alone":       {account.Person{Email: "ann@example.com"}, ""},
		"external id alone":   {account.Person{ExternalID: "u-1"}, ""},
		"nothing":             {account.Person{}, "email"},
		"name alone":          {account.Person{Name: "Ann"}, "email"},
		"not an address":      {account.Person{Email: "ann", ExternalID: "u-1"}, "email"},
		"address with spaces": {account.Person{Email: "a nn@example.com"}, "email"},
		"name too long":       {account.Person{Email: "ann@example.com", Name: strings.Repeat("n", 101)}, "name"},
		"name with NUL":       {account.Person{Email: "ann@example.com", Name: "a\x00"}, "name"},
		"name turned round":   {account.Person{Email: "ann@example.com", Name: "Ann\u202eeel"}, "name"},
		"external id: long":   {account.Person{ExternalID: strings.Repeat("n", 256)}, "external_id"},
		"external id: broken": {account.Person{ExternalID: "\xff"}, "external_id"},
	} {
		err := c.person.Valid()
		if f := fault.Of(err); (err != nil) != (c.field != "") || err != nil && (f == nil || f.Kind != fault.Unprocessable || f.Field != c.field) {
			t.Errorf("%s: %v, want a fault on %q", name, err, c.field)
		}
	}
}

func TestCreate(t *testing.T) {
	d := open(t)
	ann := account.Person{Email: "Ann@Example.com", Name: " Ann ", ExternalID: "u-1"}
	u, created, err := d.Create(t.Context(), operator, ann)
	want := account.User{ID: u.ID, Email: "Ann@Example.com", Name: "Ann", ExternalID: "u-1", CreatedAt: noon, UpdatedAt: noon}
	if u != want || !created || err != nil {
		t.Fatalf("Create = %+v, %v, %v; want %+v", u, created, err, want)
	}
	d.now = noon.Add(time.Hour)
	for name, p := range map[string]account.Person{
		"the same":                        ann,
		"address in capitals":             {Email: "ANN@EXAMPLE.COM"},
		"address with spaces around":      {Email: " ann@example.com "},
		"external id":                     {ExternalID: "u-1"},
		"external id wins over address":   {ExternalID: "u-1", Email: "other@example.com"},
		"another name changes no account": {Email: "ann@example.com", Name: "Eve"},
	} {
		if got, created, err := d.Create(t.Context(), operator, p); got != want || created || err != nil {
			t.Errorf("%s: %+v, %v, %v; want the same user", name, got, created, err)
		}
	}
	if got, err := d.Get(t.Context(), u.ID); got != want || err != nil {
		t.Errorf("Get = %+v, %v", got, err)
	}
	if _, _, err := d.Create(t.Context(), operator, account.Person{Email: "ann@example.com", ExternalID: "u-2"}); !fault.Is(err, "user_conflict") || fault.Of(err).Kind != fault.Conflict {
		t.Errorf("the address of a user with another external id: %v", err)
	}
	if _, _, err := d.Create(t.Context(), operator, account.Person{Email: "ann"}); !fault.Is(err, "invalid_field") {
		t.Errorf("a bad address: %v", err)
	}
	if diff := cmp.Diff([]string{"user.create user:1"}, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if _, err := d.Get(t.Context(), 99); !fault.Is(err, "unknown_user") || fault.Of(err).Kind != fault.Missing {
		t.Errorf("Get of nobody: %v", err)
	}
	d.create(t, account.Person{ExternalID: "u-3"})
	facts, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `SELECT after FROM audit_entries ORDER BY id`)
	if diff := cmp.Diff([]string{
		`{"email":true,"external_id":true,"name":true,"operator":false,"role":""}`,
		`{"email":false,"external_id":true,"name":false,"operator":false,"role":""}`,
	}, facts); diff != "" || err != nil {
		t.Errorf("audited facts: %v (-want +got):\n%s", err, diff)
	}
}

// TestOnlyASCIIFolds checks that addresses that are equal only under Unicode folding are two
// accounts. Otherwise a mail server that distinguishes them would give one person's emails, and so
// the account, to the other.
func TestOnlyASCIIFolds(t *testing.T) {
	d := open(t)
	kim := d.create(t, account.Person{Email: "kim@example.com"})
	other := d.create(t, account.Person{Email: "\u212aim@example.com"})
	if kim.ID == other.ID {
		t.Fatal("k and the Kelvin sign are one account")
	}
	if list := d.known(t, "KIM@example.com"); len(list) != 1 || list[0].ID != kim.ID {
		t.Errorf("KIM finds %+v, want kim", list)
	}
	if list := d.known(t, "\u212aIM@example.com"); len(list) != 1 || list[0].ID != other.ID {
		t.Errorf("the Kelvin sign finds %+v, want the other", list)
	}
}

func TestFindFillsIn(t *testing.T) {
	d := open(t)
	byEmail := d.create(t, account.Person{Email: "ann@example.com"})
	byID := d.create(t, account.Person{ExternalID: "u-2"})
	d.now = noon.Add(time.Hour)

	byEmail.ExternalID, byEmail.UpdatedAt = "u-1", d.now
	if got := d.create(t, account.Person{Email: "ANN@example.com", ExternalID: "u-1"}); got != byEmail {
		t.Errorf("external id filled in: %+v, want %+v", got, byEmail)
	}
	// The address belongs to another user and stays there.
	if got := d.create(t, account.Person{Email: "ann@example.com", ExternalID: "u-2"}); got != byID {
		t.Errorf("an address that is taken: %+v, want %+v", got, byID)
	}
	byID.Email, byID.UpdatedAt = "bob@example.com", d.now
	if got := d.create(t, account.Person{Email: "bob@example.com", ExternalID: "u-2"}); got != byID {
		t.Errorf("address filled in: %+v, want %+v", got, byID)
	}
	if got := d.create(t, account.Person{Email: "BOB@example.com"}); got != byID {
		t.Errorf("found by the filled-in address: %+v, want %+v", got, byID)
	}
	want := []string{"user.create user:1", "user.create user:2", "user.update user:1", "user.update user:2"}
	if diff := cmp.Diff(want, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestList(t *testing.T) {
	d := open(t)
	d.create(t, account.Person{Email: "a@example.com", ExternalID: "u-a"})
	d.create(t, account.Person{Email: "b@example.com"})
	d.create(t, account.Person{ExternalID: "u-c"})
	for _, c := range []struct {
		name   string
		filter account.Filter
		page   paging.Page
		want   []int64
		more   bool
	}{
		{"all", account.Filter{}, paging.First(), []int64{3, 2, 1}, false},
		{"first page", account.Filter{}, paging.Page{Number: 1, Limit: 2}, []int64{3, 2}, true},
		{"a whole page", account.Filter{}, paging.Page{Number: 1, Limit: 3}, []int64{3, 2, 1}, false},
		{"second page", account.Filter{}, paging.Page{Number: 2, Limit: 2}, []int64{1}, false},
		{"oldest first", account.Filter{}, paging.Page{Number: 1, Limit: 2, Order: paging.OldestFirst}, []int64{1, 2}, true},
		{"by address", account.Filter{Email: "B@Example.com"}, paging.First(), []int64{2}, false},
		{"by external id", account.Filter{ExternalID: "u-c"}, paging.First(), []int64{3}, false},
		{"by both", account.Filter{Email: "a@example.com", ExternalID: "u-a"}, paging.First(), []int64{1}, false},
		{"by both of two users", account.Filter{Email: "b@example.com", ExternalID: "u-a"}, paging.First(), nil, false},
		{"nobody", account.Filter{Email: "' OR 1=1 --"}, paging.First(), nil, false},
	} {
		users, more, err := d.List(t.Context(), c.filter, c.page)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, u := range users {
			got = append(got, u.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || more != c.more {
			t.Errorf("%s: more %v, want %v; (-want +got):\n%s", c.name, more, c.more, diff)
		}
		if c.page.Number != 1 || c.page.Order == paging.OldestFirst {
			continue
		}
		before, more, err := d.Before(t.Context(), c.filter, 0, int(c.page.Limit))
		if err != nil || more != c.more || !slices.Equal(before, users) {
			t.Errorf("%s: Before returns %+v, %v, %v", c.name, before, more, err)
		}
	}
}

func TestErase(t *testing.T) {
	d := open(t)
	ann := account.Person{Email: "ann@example.com", Name: "Ann", ExternalID: "u-1"}
	u := d.create(t, ann)
	url, _, err := d.Link(t.Context(), operator, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	password, err := d.NewPassword(t.Context(), "", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		if _, err := account.SetRole(t.Context(), tx, operator, u.ID, account.RoleViewer, d.now); err != nil {
			return err
		}
		return account.SetPassword(t.Context(), tx, operator, u.ID, password, d.now)
	})

	if err := d.SendLink(t.Context(), ann.Email, ""); err != nil || len(d.mails(t)) != 1 {
		t.Fatalf("%d mails, %v", len(d.mails(t)), err)
	}
	erase := func(at time.Time) (u2 account.User) {
		d.write(t, func(tx *sqldb.Tx) (err error) {
			_, u2, err = account.Erase(t.Context(), tx, operator, u.ID, at)
			return err
		})
		return u2
	}
	gone := noon.Add(time.Hour)
	want := account.User{ID: u.ID, SessionEpoch: 2, CreatedAt: noon, UpdatedAt: gone, ErasedAt: gone}
	if got := erase(gone); got != want {
		t.Errorf("erased: %+v, want %+v", got, want)
	}
	if n := len(d.mails(t)); n != 0 {
		t.Errorf("%d mails to an erased user are kept", n)
	}
	if got := erase(gone.Add(time.Hour)); got != want {
		t.Errorf("erased again: %+v, want %+v", got, want)
	}
	if _, err := d.UseLink(t.Context(), token(t, url), "", ""); !fault.Is(err, "invalid_link") {
		t.Errorf("the link of an erased user: %v", err)
	}
	if _, err := d.SignIn(t.Context(), ann.Email, "correct horse", account.Client{}); !fault.Is(err, "invalid_credentials") {
		t.Errorf("the password of an erased user: %v", err)
	}
	if _, _, err := d.Link(t.Context(), operator, u.ID, ""); !fault.Is(err, "user_erased") {
		t.Errorf("a new link for an erased user: %v", err)
	}
	if again := d.create(t, ann); again.ID == u.ID {
		t.Error("an erased user came back")
	}
	err = d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, 99, gone)
		return err
	})
	if !fault.Is(err, "unknown_user") {
		t.Errorf("Erase of nobody: %v", err)
	}
}

// TestNothingPersonalInAudit checks that the audit does not undo an erasure.
func TestNothingPersonalInAudit(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com", Name: "Ann Lee", ExternalID: "u-1"})
	link, _, err := d.Link(t.Context(), operator, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	_, value, err := d.AddToken(t.Context(), operator, "checkout", []account.Scope{account.Sell}, time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	browser := d.signUp(t, "bob@example.com", "correct horse", "/licenses")
	confirmed := d.mailed(t)
	bob := d.use(t, confirmed, browser).User
	if _, err := d.SignIn(t.Context(), "bob@example.com", "correct horse", account.Client{}); err != nil {
		t.Fatal(err)
	}
	if err := d.SendReset(t.Context(), "bob@example.com", ""); err != nil {
		t.Fatal(err)
	}
	reset := d.mailed(t)
	d.use(t, reset, "")
	if _, err := d.ResetPassword(t.Context(), by(bob), bob.ID, "battery staple"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SignOutEverywhere(t.Context(), by(bob), bob.ID); err != nil {
		t.Fatal(err)
	}
	l := audit.Log{DB: d.DB}
	list, _, err := l.List(t.Context(), audit.Filter{}, paging.First())
	if err != nil || len(list) != 11 {
		t.Fatalf("%d entries, %v: %v", len(list), err, d.actions(t))
	}
	for _, e := range list {
		for _, s := range []string{
			"example.com", "Ann Lee", "u-1", "Bob Ray", "correct horse", "battery staple", "argon2id",
			token(t, link), value, browser, confirmed, reset,
		} {
			if strings.Contains(e.Before+e.After+e.Subject+e.Actor.Name, s) {
				t.Errorf("%s tells %q", e.Action, s)
			}
		}
	}
}

func TestSetRole(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "op@example.com"})
	for range 2 {
		d.write(t, func(tx *sqldb.Tx) error {
			got, err := account.SetRole(t.Context(), tx, operator, u.ID, account.RoleAdmin, d.now)
			if !got.Operator() {
				t.Errorf("SetRole = %+v", got)
			}
			return err
		})
	}
	// Nodes of an older release look at the column operator.
	other := d.create(t, account.Person{Email: "buyer@example.com"})
	old, err := sqldb.All(t.Context(), d.DB, sqldb.Value[int64], `SELECT id FROM users WHERE operator = TRUE`)
	if err != nil || !slices.Equal(old, []int64{u.ID}) || other.Operator() {
		t.Errorf("operators are %d, %v", old, err)
	}
	if got, err := d.Get(t.Context(), u.ID); !got.Operator() || err != nil {
		t.Errorf("Get = %+v, %v", got, err)
	}
	if n := len(d.actions(t)); n != 3 {
		t.Errorf("%d audit entries, want 3", n)
	}
}
