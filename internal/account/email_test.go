package account_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
)

// tokenText finds the token of a link in an email.
var tokenText = regexp.MustCompile(`[?&]token=([A-Za-z0-9_%-]+)`)

// askEmail requests a link to a new address of a user and returns its token.
func (d *harness) askEmail(t *testing.T, u account.User, email string) string {
	t.Helper()
	if err := d.AskEmail(t.Context(), u.ID, email); err != nil {
		t.Fatal(err)
	}
	newest := d.mails(t)[0]
	found := tokenText.FindStringSubmatch(newest.Text)
	page := d.PublicURL + "/account/email/confirm?token="
	if newest.To != email || found == nil || !strings.Contains(newest.Text, page) {
		t.Fatalf("mailed %+v", newest)
	}
	value, err := url.QueryUnescape(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestChangeEmail checks that an emailed link gives a user the new address, once, and only the user
// who asked. Links to the old address end, and it is notified.
func TestChangeEmail(t *testing.T) {
	d := open(t)
	ann := d.withPassword(t, "ann@example.com", "correct horse")
	bob := d.withPassword(t, "bob@example.com", "correct horse")
	old := d.ask(t, account.ForSignIn, "ann@example.com")
	d.now = d.now.Add(time.Second)
	if f := fault.Of(d.AskEmail(t.Context(), ann.ID, "ANN@example.com")); f == nil || f.Field != "email" {
		t.Errorf("the address that she has: %v", f)
	}
	refused(t, "no address", d.AskEmail(t.Context(), ann.ID, "new"), "invalid_field")
	refused(t, "for nobody", d.AskEmail(t.Context(), 999, "new@example.com"), account.CodeUnknownUser)
	value := d.askEmail(t, ann, "new@example.com")
	if email, err := d.NewEmail(t.Context(), ann.ID, value); err != nil || email != "new@example.com" {
		t.Errorf("NewEmail = %q, %v", email, err)
	}
	for name, c := range map[string]struct {
		user  account.User
		token string
	}{"for another user": {bob, value}, "a link that signs in": {ann, old}, "no link": {ann, "x"}} {
		if _, err := d.NewEmail(t.Context(), c.user.ID, c.token); fault.Of(err) == nil {
			t.Errorf("%s shows an address: %v", name, err)
		}
		if _, err := d.ConfirmEmail(t.Context(), by(c.user), c.user.ID, c.token); fault.Of(err) == nil {
			t.Errorf("%s changes an address: %v", name, err)
		}
	}
	if _, err := d.UseLink(t.Context(), value, "", ""); fault.Of(err) == nil {
		t.Errorf("a link to a new address signs in: %v", err)
	}
	if !d.opens(t, "ann@example.com", "correct horse") || !d.opens(t, "bob@example.com", "correct horse") {
		t.Fatal("a refused link changed an address")
	}
	d.now = d.now.Add(time.Second)
	from := by(ann)
	from.Client = "192.0.2.7"
	u, err := d.ConfirmEmail(t.Context(), from, ann.ID, value)
	if err != nil || u.Email != "new@example.com" || !u.ProvenAt.Equal(d.now) || !u.UpdatedAt.Equal(d.now) {
		t.Fatalf("%+v, %v", u, err)
	}
	if d.opens(t, "ann@example.com", "correct horse") || !d.opens(t, "new@example.com", "correct horse") {
		t.Error("she signs in with the old address")
	}
	d.dead(t, map[string]string{old: account.CodeLinkExpired})
	_, err = d.ConfirmEmail(t.Context(), by(ann), ann.ID, value)
	refused(t, "the same link again", err, account.CodeLinkUsed)
	told := d.mails(t)[0]
	if told.To != "ann@example.com" || !strings.Contains(told.Subject, "was changed") || !strings.Contains(told.Text, "192.0.2.7") {
		t.Errorf("the old address was told %+v", told)
	}
	transient, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string],
		`SELECT recipient FROM mails WHERE transient = TRUE`)
	if err != nil || !slices.Equal(transient, []string{"ann@example.com"}) {
		t.Errorf("once they are sent, no record stays of mails to %q, %v", transient, err)
	}
	for _, m := range d.mails(t)[1:] {
		if m.To == "ann@example.com" {
			t.Errorf("a mail to the old address is kept: %s", m.Subject)
		}
	}
	if got := d.actions(t); got[len(got)-2] != "user.email user:1" && got[len(got)-1] != "user.email user:1" {
		t.Errorf("audited %q", got)
	}
}

// TestOldEmailIsNotTold: nobody is told without an old address, or if the operator switched
// this mail off.
func TestOldEmailIsNotTold(t *testing.T) {
	d := open(t)
	d.Mail.Off = []mail.Kind{mail.EmailChanged}
	for _, p := range []account.Person{{Email: "ann@example.com"}, {ExternalID: "bob"}} {
		u := d.create(t, p)
		value := d.askEmail(t, u, "new"+u.ExternalID+"@example.com")
		d.now = d.now.Add(time.Second)
		if _, err := d.ConfirmEmail(t.Context(), by(u), u.ID, value); err != nil {
			t.Fatal(err)
		}
		if list := d.mails(t); strings.Contains(list[0].Subject, "was changed") {
			t.Errorf("of %+v, %q was told", p, list[0].To)
		}
		d.Mail.Off = nil
	}
}

// TestTakenEmail: nobody gets the address of another account, or learns that there is one.
func TestTakenEmail(t *testing.T) {
	d := open(t)
	ann := d.withPassword(t, "ann@example.com", "correct horse")
	d.now = d.now.Add(time.Second)
	value := d.askEmail(t, ann, "new@example.com")
	d.withPassword(t, "new@example.com", "other horse")
	if _, err := d.ConfirmEmail(t.Context(), by(ann), ann.ID, value); !fault.Is(err, "user_conflict") {
		t.Errorf("an address that was taken meanwhile: %v", err)
	}
	if !d.opens(t, "ann@example.com", "correct horse") || !d.opens(t, "new@example.com", "other horse") {
		t.Error("an address changed")
	}
	d.now = d.now.Add(time.Second)
	if err := d.AskEmail(t.Context(), ann.ID, "new@example.com"); err != nil {
		t.Errorf("asked for an address that is taken: %v", err)
	}
	if newest := d.mails(t)[0]; newest.To != "new@example.com" || tokenText.MatchString(newest.Text) {
		t.Errorf("mailed %+v", newest)
	}
}

func TestRename(t *testing.T) {
	d := open(t)
	ann := d.withPassword(t, "ann@example.com", "correct horse")
	before := len(d.actions(t))
	for range 2 {
		if u, err := d.Rename(t.Context(), by(ann), ann.ID, " Ann  "); err != nil || u.Name != "Ann" {
			t.Errorf("%+v, %v", u, err)
		}
	}
	if u, err := d.Get(t.Context(), ann.ID); err != nil || u.Name != "Ann" || len(d.actions(t)) != before+1 {
		t.Errorf("%+v, %v; audited %q", u, err, d.actions(t)[before:])
	}
	if _, err := d.Rename(t.Context(), by(ann), ann.ID, strings.Repeat("a", 1000)); fault.Of(err) == nil {
		t.Errorf("a long name: %v", err)
	}
}

// TestEraseRemovesTraces checks that sessions and link requests do not identify an erased user.
func TestEraseRemovesTraces(t *testing.T) {
	d := open(t)
	ann := d.withPassword(t, "ann@example.com", "correct horse")
	if err := d.NoteSession(t.Context(), "key", account.NewSession{UserID: ann.ID, Epoch: ann.SessionEpoch, BegunAt: d.now}); err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(time.Hour)
	if err := d.SendLink(t.Context(), "ann@example.com", ""); err != nil {
		t.Fatal(err)
	}
	count := func(table string) int64 {
		n, err := sqldb.One(t.Context(), d.DB, sqldb.Value[int64], `SELECT count(*) FROM `+table)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if count("signed_sessions") != 1 || count("link_requests") == 0 {
		t.Fatal("there is nothing to remove")
	}
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, ann.ID, d.now)
		return err
	})
	if sessions, requests := count("signed_sessions"), count("link_requests"); sessions+requests != 0 {
		t.Errorf("%d sessions and %d requests are left", sessions, requests)
	}
}
