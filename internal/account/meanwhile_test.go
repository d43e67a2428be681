package account_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// openShared is a harness on a database that another node uses as well. The function that
// set is given runs on that node before the nth transaction from then on that writes.
func openShared(t *testing.T) (d *harness, set func(n int, meanwhile func(other *account.Store))) {
	t.Helper()
	d = open(t)
	at := sqldbtest.URL(t)
	left, do := 0, func() {}
	d.DB = sqldbtest.OpenWith(t, at, sqldb.Options{Cut: func(sql string) error {
		if strings.HasPrefix(strings.ToLower(sql), "begin") {
			if left--; left == 0 {
				do()
			}
		}
		return nil
	}})
	other := *d.Store
	other.DB = sqldbtest.OpenWith(t, at, sqldb.Options{})
	return d, func(n int, meanwhile func(*account.Store)) {
		left = n
		do = func() { meanwhile(&other) }
	}
}

// TestSessionEndedMeanwhile: a session is ended once, also if another node ends it after
// this one has looked it up.
func TestSessionEndedMeanwhile(t *testing.T) {
	d, set := openShared(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	store := &account.Sessions{DB: d.DB, Now: d.Now}
	if err := store.Commit("key", []byte("x"), d.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := d.NoteSession(t.Context(), "key", account.NewSession{UserID: u.ID, BegunAt: d.now}); err != nil {
		t.Fatal(err)
	}
	ended := false
	set(1, func(other *account.Store) {
		ended = true
		if err := other.EndSession(t.Context(), operator, u, account.SessionID("key")); err != nil {
			t.Error(err)
		}
	})
	err := d.EndSession(t.Context(), by(u), u, account.SessionID("key"))
	refused(t, "ended meanwhile", err, account.CodeUnknownSession)
	if got := strings.Join(d.actions(t), " "); !ended || strings.Count(got, "user.session_end") != 1 {
		t.Errorf("the audit has %s", got)
	}
}

// TestMailBoundTellsNothing: a request that mails nobody, because there were too many,
// writes like one that does, so that it takes as long. Nothing stays of it.
func TestMailBoundTellsNothing(t *testing.T) {
	d := open(t)
	var inserted []string
	d.DB = sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Cut: func(sql string) error {
		if strings.HasPrefix(sql, "INSERT") {
			inserted = append(inserted, strings.Fields(sql)[2])
		}
		return nil
	}})
	for n := range 4 {
		inserted = nil
		d.signUp(t, "bob@example.com", "correct horse", "")
		if mailed := slices.Contains(inserted, "mails"); mailed != (n < 3) || len(inserted) == 0 {
			t.Errorf("request %d wrote to %q", n+1, inserted)
		}
	}
	if got := d.actions(t); len(got) != 3 {
		t.Errorf("the audit has %q", got)
	}
	left, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `SELECT hash FROM sessions`)
	if err != nil || len(left) != 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// TestChangedMeanwhile: a proof that was right when it was looked at does not count if it
// is no longer so when it is used. The change is made on another node before the given
// transaction.
func TestChangedMeanwhile(t *testing.T) {
	const email, typed = "ann@example.com", "correct horse"
	newPassword := func(other *account.Store, u account.User) error {
		return errorOf(other.ChangePassword(t.Context(), by(u), u.ID, typed, "battery staple"))
	}
	erase := func(other *account.Store, u account.User) error {
		return other.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			return errorOf2(account.Erase(t.Context(), tx, operator, u.ID, other.Now()))
		})
	}
	link := func(d *harness) act {
		value := d.ask(t, account.ForSignIn, email)
		return func() error { return errorOf(d.UseLink(t.Context(), value, "", "")) }
	}
	signIn := func(d *harness) act {
		return func() error { return errorOf(d.SignIn(t.Context(), email, typed, account.Client{})) }
	}
	for name, c := range map[string]struct {
		prepare   func(*harness) act
		before    int // which transaction
		meanwhile func(*account.Store, account.User) error
		code      string
	}{
		"a sign-in, the password":  {signIn, 2, newPassword, account.CodeInvalidCredentials},
		"a sign-in, who it is":     {signIn, 2, erase, account.CodeInvalidCredentials},
		"a link, who it is of":     {link, 1, erase, account.CodeInvalidLink},
		"a link, all of the links": {link, 1, newPassword, account.CodeLinkExpired},
		"a confirmation, the password": {func(d *harness) act {
			return func() error { return d.ConfirmPassword(t.Context(), audit.Actor{}, 1, typed) }
		}, 2, newPassword, "invalid_field"},
		"a new password, the password": {func(d *harness) act {
			return func() error { return errorOf(d.ChangePassword(t.Context(), operator, 1, typed, "other staple")) }
		}, 2, newPassword, "invalid_field"},
	} {
		d, set := openShared(t)
		u := d.withPassword(t, email, typed)
		d.now = d.now.Add(time.Second)
		do := c.prepare(d)
		before := len(d.actions(t))
		var err error
		changed := false
		set(c.before, func(other *account.Store) {
			changed = true
			err = c.meanwhile(other, u)
		})
		refused(t, name, do(), c.code)
		if got := d.actions(t)[before:]; !changed || err != nil || len(got) > 1 {
			t.Errorf("%s: changed %t, %v; the audit has %q", name, changed, err, got)
		}
	}
}
