package account_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// TestPlainBuyer: an admin changes the address of nobody who has more than licenses.
func TestPlainBuyer(t *testing.T) {
	d := open(t)
	d.Mail.Sealer = d.Sealer
	admin := d.admins(t, "admin@example.com")[0]
	secured, _, _ := d.enrolled(t, "secured@example.com")
	member := d.create(t, account.Person{Email: "member@example.com"})
	invited := d.create(t, account.Person{Email: "invited@example.com"})
	buyer := d.create(t, account.Person{Email: "buyer@example.com"})
	nameless := d.create(t, account.Person{ExternalID: "nameless"})
	gone := d.create(t, account.Person{Email: "gone@example.com"})
	d.invite(t, admin, invited.Email, account.RoleViewer)
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, gone.ID, d.now)
		return err
	})
	d.Serves = func(_ context.Context, _ sqldb.Reader, id int64) (bool, error) { return id == member.ID, nil }
	check := func(id int64, code, words string) {
		t.Helper()
		_, err := d.SetEmail(t.Context(), operator, id, "new@example.com")
		refused(t, words, err, code)
		if f := fault.Of(err); f != nil && !strings.Contains(f.Text, words) {
			t.Errorf("user %d: %q does not say %q", id, f.Text, words)
		}
	}
	check(admin.ID, account.CodeHasRole, "is an operator")
	check(secured.ID, account.CodeHasRole, "has a second factor")
	check(member.ID, account.CodeHasRole, "is a member of a partner")
	check(invited.ID, account.CodeHasRole, "has an open invitation to a team")
	check(gone.ID, "user_erased", "")
	check(999, account.CodeUnknownUser, "")
	refused(t, "an erased user", d.PlainBuyer(t.Context(), d.DB, gone.ID), "user_erased")
	refused(t, "an unknown user", d.PlainBuyer(t.Context(), d.DB, 999), account.CodeUnknownUser)
	for _, id := range []int64{buyer.ID, nameless.ID} {
		if err := d.PlainBuyer(t.Context(), d.DB, id); err != nil {
			t.Errorf("user %d: %v", id, err)
		}
	}
	d.Serves = nil
	if err := d.PlainBuyer(t.Context(), d.DB, member.ID); err != nil {
		t.Errorf("where nobody is a member: %v", err)
	}
}

// TestSetEmail: the owner of the old mailbox can no longer sign in, and the new address is not proven
// before its link is opened.
func TestSetEmail(t *testing.T) {
	d := open(t)
	bob := d.withPassword(t, "bob@example.com", "correct horse")
	d.create(t, account.Person{Email: "ann@example.com"})
	d.now = d.now.Add(time.Minute)
	_, err := d.SetEmail(t.Context(), operator, bob.ID, "ann@example.com")
	refused(t, "another person's address", err, "user_conflict")
	_, err = d.SetEmail(t.Context(), operator, bob.ID, "no address")
	refused(t, "no address", err, "invalid_field")
	if same, err := d.SetEmail(t.Context(), operator, bob.ID, "bob@example.com"); err != nil || same.SessionEpoch != bob.SessionEpoch {
		t.Errorf("the same address: %+v, %v", same, err)
	}
	d.use(t, d.ask(t, account.ForSignIn, "bob@example.com"), "") // nothing ended so far
	old := d.ask(t, account.ForSignIn, "bob@example.com")
	u, err := d.SetEmail(t.Context(), operator, bob.ID, "Robert@example.com")
	if err != nil || u.Email != "Robert@example.com" || !u.ProvenAt.IsZero() || u.SessionEpoch <= bob.SessionEpoch || !u.UpdatedAt.Equal(d.now) {
		t.Fatalf("it became %+v, %v", u, err)
	}
	if now, err := d.Get(t.Context(), bob.ID); err != nil || now != u {
		t.Errorf("stored is %+v, %v; want %+v", now, err, u)
	}
	d.dead(t, map[string]string{old: "link_expired"})
	for _, email := range []string{"bob@example.com", "Robert@example.com"} {
		if d.opens(t, email, "correct horse") {
			t.Errorf("the password still signs in %s", email)
		}
	}
	var link string
	var told []string // the old address; earlier emails to it are gone
	for _, m := range d.mails(t) {
		switch m.To {
		case "Robert@example.com":
			link = tokenText.FindStringSubmatch(m.Text)[1]
		case "bob@example.com":
			told = append(told, m.Subject)
		}
	}
	if !slices.Equal(told, []string{"The email address of your account at Bazaar was changed"}) {
		t.Errorf("the old address was told %q", told)
	}
	if e := d.use(t, link, ""); e.User.ID != bob.ID || e.User.ProvenAt.IsZero() || !e.First {
		t.Errorf("the mailed link: %+v", e)
	}
	if n := len(slices.DeleteFunc(d.actions(t), func(a string) bool { return !strings.HasPrefix(a, "user.email ") })); n != 1 {
		t.Errorf("%d audit entries", n)
	}
}

// TestEndAll: sessions and links of a user end.
func TestEndAll(t *testing.T) {
	d := open(t)
	bob := d.withPassword(t, "bob@example.com", "correct horse")
	link := d.ask(t, account.ForSignIn, "bob@example.com")
	d.write(t, func(tx *sqldb.Tx) error {
		_, err := d.EndAll(t.Context(), tx, bob.ID)
		return err
	})
	if u, err := d.Get(t.Context(), bob.ID); err != nil || u.SessionEpoch != bob.SessionEpoch+1 {
		t.Errorf("%+v, %v; was %+v", u, err, bob)
	}
	d.dead(t, map[string]string{link: "link_expired"})
}

// TestDataRead: reading the data of a person is audited, and there is none of an erased one.
func TestDataRead(t *testing.T) {
	d := open(t)
	ann := d.create(t, account.Person{Email: "ann@example.com"})
	if err := d.NoteDataRead(t.Context(), operator, ann.ID); err != nil {
		t.Fatal(err)
	}
	if got := d.actions(t); got[len(got)-1] != "user.data user:1" {
		t.Errorf("audited %q", got)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, ann.ID, d.now)
		return err
	})
	refused(t, "an erased person", d.NoteDataRead(t.Context(), operator, ann.ID), "user_erased")
	refused(t, "an unknown person", d.NoteDataRead(t.Context(), operator, 99), account.CodeUnknownUser)
}
