package account_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// mails returns all emails, newest first.
func (d *harness) mails(t *testing.T) []mail.Record {
	t.Helper()
	d.mailLinks(t)
	list, err := d.Mail.Recent(t.Context(), d.DB, 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// mailed returns the token of the link in the newest email, where it has a line of its own.
func (d *harness) mailed(t *testing.T) string {
	t.Helper()
	list := d.mails(t)
	if len(list) == 0 {
		t.Fatal("no mail")
	}
	for line := range strings.Lines(list[0].Text) {
		if line := strings.TrimSpace(line); strings.HasPrefix(line, d.PublicURL) {
			return token(t, line)
		}
	}
	t.Fatalf("no link in\n%s", list[0].Text)
	return ""
}

func (d *harness) signUp(t *testing.T, email, password, next string) (browser string) {
	t.Helper()
	browser, err := d.SignUp(t.Context(), account.Person{Email: email, Name: "Bob Ray"}, password, next, account.Client{})
	if err != nil || len(browser) < 40 {
		t.Fatalf("SignUp = %q, %v", browser, err)
	}
	return browser
}

// ask requests a link and returns its token.
func (d *harness) ask(t *testing.T, p account.Purpose, email string) string {
	t.Helper()
	var err error
	switch p { //nolint:exhaustive // the others are not asked for
	case account.ForSignIn:
		err = d.SendLink(t.Context(), email, "/next")
	case account.ForReset:
		err = d.SendReset(t.Context(), email, "/next")
	case account.ForSignUp:
		_, err = d.SignUp(t.Context(), account.Person{Email: email}, "correct horse", "/next", account.Client{})
	case account.ForEmail, account.ForAssisted:
		t.Fatal("no such link is mailed to sign in")
	}
	if err != nil {
		t.Fatal(err)
	}
	value := d.mailed(t)
	if got, err := d.PeekLink(t.Context(), value); err != nil || got.Purpose != p || !strings.EqualFold(got.Email, email) || got.Next != "/next" {
		t.Fatalf("PeekLink = %+v, %v; want purpose %s for %s", got, err, p, email)
	}
	return value
}

func (d *harness) use(t *testing.T, value, browser string) account.Entry {
	t.Helper()
	e, err := d.UseLink(t.Context(), value, browser, "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// opens reports whether a password signs in.
func (d *harness) opens(t *testing.T, email, password string) bool {
	t.Helper()
	_, err := d.SignIn(t.Context(), email, password, account.Client{})
	if err != nil && !fault.Is(err, "invalid_credentials") {
		t.Fatal(err)
	}
	return err == nil
}

func TestSignUp(t *testing.T) {
	d := open(t)
	browser := d.signUp(t, "bob@example.com", "correct horse", "/licenses?page=2")
	if d.opens(t, "bob@example.com", "correct horse") {
		t.Error("the password works before the address has proven itself")
	}
	users, _, err := d.List(t.Context(), account.Filter{Email: "bob@example.com"}, paging.First())
	if err != nil || len(users) != 1 || users[0].Name != "" || !users[0].ProvenAt.IsZero() {
		t.Fatalf("before the proof: %+v, %v", users, err)
	}
	d.now = noon.Add(time.Hour)
	want := account.Entry{
		User: account.User{
			ID: users[0].ID, Email: "bob@example.com", Name: "Bob Ray", SessionEpoch: 1,
			ProvenAt: d.now, CreatedAt: noon, UpdatedAt: d.now,
		},
		Purpose: account.ForSignUp, Next: "/licenses?page=2", First: true,
	}
	if got := d.use(t, d.mailed(t), browser); got != want {
		t.Errorf("UseLink = %+v, want %+v", got, want)
	}
	if got, err := d.Get(t.Context(), want.User.ID); got != want.User || err != nil {
		t.Errorf("Get = %+v, %v; want %+v", got, err, want.User)
	}
	if !d.opens(t, "bob@example.com", "correct horse") {
		t.Error("the password does not work after the proof in the same browser")
	}
	kept, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `SELECT name || password_hash || browser_hash FROM login_links`)
	if diff := cmp.Diff([]string{""}, kept); diff != "" || err != nil {
		t.Errorf("kept in the used link: %v (-want +got):\n%s", err, diff)
	}
	want.User.ProvenAt = d.now
	d.now = noon.Add(2 * time.Hour)
	if got := d.use(t, d.ask(t, account.ForSignIn, "bob@example.com"), ""); got.User != want.User || got.NeedsPassword {
		t.Errorf("a later link: %+v; want nothing about the user changed", got)
	}
	wantActions := []string{
		"user.sign_up user:1", "user.sign_in user:1", "user.password user:1", "user.sign_in user:1", "user.link user:1", "user.sign_in user:1",
	}
	if diff := cmp.Diff(wantActions, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// TestSignUpWithAnothersAddress signs up with the address of a victim. The victim uses the emailed
// link in another browser, with or without a sign-up of their own. The password of the first
// sign-up never works.
func TestSignUpWithAnothersAddress(t *testing.T) {
	for name, browserOf := range map[string]func(*testing.T, *harness) string{
		"a browser that knows nothing": func(*testing.T, *harness) string { return "" },
		"a browser that signed up too": func(t *testing.T, d *harness) string {
			return d.signUp(t, "bob@example.com", "victims password", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.signUp(t, "bob@example.com", "evil password", "/")
			planted := d.mailed(t)
			e := d.use(t, planted, browserOf(t, d))
			if !e.NeedsPassword || e.User.Name != "" || e.User.ProvenAt.IsZero() || e.Purpose != account.ForSignUp {
				t.Errorf("%+v; want signed in, proven, without what the other typed, and asked for a password", e)
			}
			if d.opens(t, "bob@example.com", "evil password") {
				t.Fatal("the password of somebody else works")
			}
			u, err := d.ResetPassword(t.Context(), by(e.User), e.User.ID, "my own password")
			if err != nil || u.SessionEpoch != e.User.SessionEpoch+1 {
				t.Fatalf("ResetPassword = %+v, %v", u, err)
			}
			if !d.opens(t, "bob@example.com", "my own password") || d.opens(t, "bob@example.com", "evil password") {
				t.Error("not the chosen password works")
			}
		})
	}
}

// TestSignUpOfBought checks that only an emailed link opens an account made by a purchase, and that
// it keeps the purchase's data about the person.
func TestSignUpOfBought(t *testing.T) {
	d := open(t)
	bought := d.create(t, account.Person{Email: "Ann@example.com", Name: "Ann Lee", ExternalID: "u-1"})
	browser := d.signUp(t, "ann@EXAMPLE.com", "correct horse", "")
	if d.opens(t, "ann@example.com", "correct horse") {
		t.Error("a sign-up opened the account without a mail")
	}
	if to := d.mails(t)[0].To; to != "Ann@example.com" {
		t.Errorf("the mail went to %s", to)
	}
	e := d.use(t, d.mailed(t), browser)
	if e.User.ID != bought.ID || e.User.Name != "Ann Lee" || e.User.ExternalID != "u-1" || e.NeedsPassword {
		t.Errorf("%+v; want the account that was bought for", e)
	}
	if !d.opens(t, "ann@example.com", "correct horse") {
		t.Error("the password does not work")
	}
}

// TestSignUpOfKnown checks that an existing password stays, whichever sign-up's email is opened
// later.
func TestSignUpOfKnown(t *testing.T) {
	d := open(t)
	browser := d.signUp(t, "bob@example.com", "other password", "")
	other := d.mailed(t)
	first := d.signUp(t, "bob@example.com", "first password", "")
	e := d.use(t, d.mailed(t), first)
	if _, err := d.UseLink(t.Context(), other, browser, ""); !fault.Is(err, "link_expired") {
		t.Errorf("the mail of the other sign-up: %v", err)
	}
	if !d.opens(t, "bob@example.com", "first password") || d.opens(t, "bob@example.com", "other password") {
		t.Error("not the password of the confirmed sign-up works")
	}

	browser = d.signUp(t, "BOB@example.com", "third password", "/next")
	if got := d.mails(t)[0]; got.Subject != "You already have an account at Bazaar" {
		t.Errorf("mail %q", got.Subject)
	}
	known := d.use(t, d.mailed(t), browser)
	if want := (account.Entry{User: e.User, Purpose: account.ForSignIn, Next: "/next"}); known != want {
		t.Errorf("UseLink = %+v, want %+v", known, want)
	}
	if d.opens(t, "bob@example.com", "third password") {
		t.Error("signing up again changed the password")
	}
}

// TestSameAnswer asks for emails to an unknown address and to an erased user. The answer is the
// same as for anyone, and leaves no trace.
func TestSameAnswer(t *testing.T) {
	d := open(t)
	gone := d.create(t, account.Person{Email: "gone@example.com"})
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, gone.ID, d.now)
		return err
	})
	for _, email := range []string{"nobody@example.com", "gone@example.com"} {
		if err := d.SendLink(t.Context(), email, "/"); err != nil {
			t.Errorf("SendLink to %s: %v", email, err)
		}
		if err := d.SendReset(t.Context(), email, "/"); err != nil {
			t.Errorf("SendReset to %s: %v", email, err)
		}
	}
	left, err := sqldb.One(t.Context(), d.DB, sqldb.Value[int64], `SELECT (SELECT count(*) FROM login_links) + (SELECT count(*) FROM sessions)`)
	if n := len(d.mails(t)); n != 0 || left != 0 || err != nil || d.woken.Load() != 0 {
		t.Errorf("%d mails, %d rows, %d wake-ups, %v; want none", n, left, d.woken.Load(), err)
	}
	d.signUp(t, "gone@example.com", "correct horse", "")
	if e := d.use(t, d.mailed(t), ""); e.User.ID == gone.ID {
		t.Error("a sign-up revived somebody who was erased")
	}
	if d.woken.Load() != 1 {
		t.Errorf("the sender was woken %d times, want 1", d.woken.Load())
	}
}

func TestSignUpRefuses(t *testing.T) {
	d := open(t)
	for name, c := range map[string]struct {
		person   account.Person
		password string
		field    string
	}{
		"no address":      {account.Person{Name: "Ann", ExternalID: "u-1"}, "correct horse", "email"},
		"no real address": {account.Person{Email: "ann@"}, "correct horse", "email"},
		"name":            {account.Person{Email: "ann@example.com", Name: "a\nb"}, "correct horse", "name"},
		"password":        {account.Person{Email: "ann@example.com"}, "short", "password"},
	} {
		_, err := d.SignUp(t.Context(), c.person, c.password, "", account.Client{})
		if f := fault.Of(err); f == nil || f.Code != "invalid_field" || f.Field != c.field {
			t.Errorf("%s: %v, want invalid_field on %s", name, err, c.field)
		}
	}
	for _, send := range []func() error{
		func() error { return d.SendLink(t.Context(), "ann", "") },
		func() error { return d.SendReset(t.Context(), "ann\x00@example.com", "") },
	} {
		if err := send(); !fault.Is(err, "invalid_field") {
			t.Errorf("no address: %v", err)
		}
	}
	users, _, err := d.List(t.Context(), account.Filter{}, paging.First())
	if len(users) != 0 || err != nil || len(d.mails(t)) != 0 {
		t.Errorf("%+v, %v; want nobody", users, err)
	}
}

// TestMailBound asks for many emails concurrently, in every way. Three of a kind are sent while
// their links work, and the answer is always the same. After the links expire, another request
// sends a working one, so that no one can be locked out.
func TestMailBound(t *testing.T) {
	d := open(t)
	d.create(t, account.Person{Email: "bob@example.com"})
	many := func() {
		t.Helper()
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				var err error
				switch i % 3 {
				case 0:
					err = d.SendLink(t.Context(), "bob@example.com", "")
				case 1:
					err = d.SendReset(t.Context(), "BOB@example.com", "")
				case 2:
					_, err = d.SignUp(t.Context(), account.Person{Email: "bob@example.com"}, "correct horse", "", account.Client{})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	sent := func(when string, want int) {
		t.Helper()
		if n := len(d.mails(t)); n != want || d.woken.Load() != int64(want) {
			t.Errorf("%s: %d mails and %d wake-ups, want %d", when, n, d.woken.Load(), want)
		}
	}
	many()
	sent("at first", 9)
	d.now = noon.Add(account.LinkLife - time.Microsecond)
	many()
	sent("while the links work", 9)
	d.now = noon.Add(account.LinkLife)
	many()
	sent("when those for signing in and for a reset are dead", 15)
	d.now = noon.Add(time.Hour)
	many()
	sent("an hour later", 24)
	for i := range 20 { // the link is used, so it was asked for
		d.now = noon.Add(3*time.Hour + time.Duration(i)*time.Minute)
		d.use(t, d.ask(t, account.ForSignIn, "bob@example.com"), "")
	}
	seen := map[string]bool{}
	for _, m := range d.mails(t) {
		if seen[m.Cause] || strings.Contains(m.Cause, "@") {
			t.Errorf("cause %q", m.Cause)
		}
		seen[m.Cause] = true
	}
}

// TestLetters checks the texts of the emails.
func TestLetters(t *testing.T) {
	for purpose, want := range map[account.Purpose][]string{
		account.ForSignUp: {"Confirm your email address for Bazaar", "24 hours", "If it was not you"},
		account.ForSignIn: {"Your sign-in link for Bazaar", "15 minutes", "If you did not ask"},
		account.ForReset:  {"Choose a new password for Bazaar", "15 minutes", "If it was not you"},
	} {
		d := open(t)
		if purpose == account.ForSignUp {
			_, err := d.SignUp(t.Context(), account.Person{Email: "ann@example.com", Name: "Win at evil.example"}, "correct horse", "", account.Client{})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			d.create(t, account.Person{Email: "ann@example.com", Name: "Ann Lee"})
			d.ask(t, purpose, "ann@example.com")
		}
		m := d.mails(t)[0]
		value := d.mailed(t)
		if m.To != "ann@example.com" || m.Subject != want[0] {
			t.Errorf("%s: to %s, subject %q", purpose, m.To, m.Subject)
		}
		for part, text := range map[string]string{"text": strings.Join(strings.Fields(m.Text), " "), "html": m.HTML} {
			for _, s := range append(want[1:], "Bazaar", value) {
				if !strings.Contains(text, s) {
					t.Errorf("%s: the %s lacks %q:\n%s", purpose, part, s, text)
				}
			}
			if strings.Contains(text, "evil") {
				t.Errorf("%s: the %s tells what a stranger typed", purpose, part)
			}
		}
		if purpose != account.ForSignUp && !strings.HasPrefix(m.Text, "Hello Ann Lee,\n") {
			t.Errorf("%s: %s", purpose, m.Text)
		}
	}
	d := open(t)
	d.Marketplace, d.Mail.Wake = "", nil
	d.create(t, account.Person{Email: "ann@example.com"})
	d.ask(t, account.ForSignIn, "ann@example.com")
	if got := d.mails(t)[0].Subject; got != "Your sign-in link for Claviger" {
		t.Errorf("without a name of its own: %q", got)
	}
}
