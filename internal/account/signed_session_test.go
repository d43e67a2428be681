package account_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/mail"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// TestNotedSessions: a session that gets another key stays one session of its user, and
// keeps when it began. The session of someone else does not become theirs.
func TestNotedSessions(t *testing.T) {
	d := open(t)
	store := &account.Sessions{DB: d.DB, Now: d.Now}
	ann := d.create(t, account.Person{Email: "ann@example.com"})
	bob := d.create(t, account.Person{Email: "bob@example.com"})
	note := func(u account.User, key, replaces string) {
		t.Helper()
		if err := store.Commit(key, []byte("x"), d.now.Add(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		s := account.NewSession{UserID: u.ID, Browser: key, BegunAt: d.now, Replaces: replaces}
		if err := d.NoteSession(t.Context(), key, s); err != nil {
			t.Fatal(err)
		}
	}
	note(ann, "first", "")
	note(bob, "his", "")
	d.now = d.now.Add(time.Hour)
	note(ann, "second", "first")
	note(ann, "hers", "his")
	for name, c := range map[string]struct {
		user account.User
		want map[string]time.Time // when the sessions began, by their browser
	}{
		"Ann": {ann, map[string]time.Time{"second": noon, "hers": d.now}},
		"Bob": {bob, map[string]time.Time{"his": noon}},
	} {
		list, err := d.SessionsOf(t.Context(), c.user)
		if err != nil || len(list) != len(c.want) {
			t.Errorf("%s has %+v, %v", name, list, err)
		}
		for _, s := range list {
			if !s.BegunAt.Equal(c.want[s.Browser]) || s.ID != account.SessionID(s.Browser) {
				t.Errorf("%s has %+v", name, s)
			}
		}
	}
}

// TestNewBrowserIsTold: people learn of a sign-in with a new browser, and of no other. An
// operator can switch this mail off.
func TestNewBrowserIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		known, off, erased, noAddress bool
		want                          bool
	}{
		"a new browser":        {want: true},
		"a known browser":      {known: true},
		"switched off":         {off: true},
		"of an erased account": {erased: true},
		"without an address":   {noAddress: true},
	} {
		d := open(t)
		u := d.withPassword(t, "ann@example.com", "correct horse")
		if c.off {
			d.Mail.Off = []mail.Kind{mail.NewSignIn}
		}
		if c.erased {
			d.write(t, func(tx *sqldb.Tx) error {
				_, _, err := account.Erase(t.Context(), tx, operator, u.ID, d.now)
				return err
			})
		}
		if c.noAddress {
			d.exec(t, `UPDATE users SET email = '', email_key = ''`)
		}
		before := len(d.mails(t))
		d.now = d.now.Add(time.Hour)
		s := account.NewSession{UserID: u.ID, Browser: "Firefox on Linux", Client: "192.0.2.7", NewBrowser: !c.known}
		if err := d.NoteSession(t.Context(), "key", s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		list := d.mails(t)
		if told := len(list) - before; told != 0 && told != 1 || (told == 1) != c.want {
			t.Errorf("%s: %d mails", name, told)
		}
		if !c.want {
			continue
		}
		for _, want := range []string{"New sign-in", s.Browser, s.Client, "13:00 UTC", "/account/security"} {
			if list[0].To != u.Email || !strings.Contains(list[0].Subject+list[0].Text, want) {
				t.Errorf("no %q in\n%+v", want, list[0])
			}
		}
	}
}

// TestForgetSignedSessions: who is signed in is known for 31 days, as long as a session
// lasts at most.
func TestForgetSignedSessions(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	if err := d.NoteSession(t.Context(), "key", account.NewSession{UserID: u.ID}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		want  int64
	}{{31 * 24 * time.Hour, 0}, {31*24*time.Hour + 1, 1}} {
		d.now = noon.Add(c.after)
		if n, err := prune.Rows(t.Context(), d.DB, d.now, account.Expiring()); n != c.want || err != nil {
			t.Errorf("after %s it removed %d, %v", c.after, n, err)
		}
	}
}
