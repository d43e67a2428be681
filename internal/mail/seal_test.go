package mail_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// secretive is an email with a text that must not be kept.
var secretive = mail.Message{
	Cause: "link 1", To: "ann@example.com", Subject: "Your link",
	Text: "https://market.example/sign-in/link?token=abc\n", HTML: "<p>token=abc</p>",
}

// stored returns body and html of the emails as stored.
func stored(t *testing.T, db *sqldb.DB) string {
	t.Helper()
	list, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT body || html FROM mails ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// TestWaitingIsSealed: while an email waits, also between attempts, its stored text is sealed.
// After the last attempt the text is gone, and recipient, time and subject stay.
func TestWaitingIsSealed(t *testing.T) {
	for name, failed := range map[string]error{"sent": nil, "given up": errors.New("no such mailbox")} {
		t.Run(name, func(t *testing.T) {
			db, c := sqldbtest.Open(t), &clock{now: noon}
			put(t, db, noon, secretive)
			sealed := stored(t, db)
			if sealed == "" || strings.Contains(sealed, "token") {
				t.Errorf("a mail that waits is stored as %q, want it sealed", sealed)
			}
			away := &post{send: func(context.Context, mail.Outgoing) (bool, error) { return true, errors.New("away") }}
			s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: away, Log: quiet}
			once(t, s, 1)
			if got := stored(t, db); got != sealed {
				t.Errorf("after a failed attempt the mail is stored as %q, want it as before", got)
			}
			c.now = noon.Add(time.Hour)
			last := &post{send: func(context.Context, mail.Outgoing) (bool, error) { return false, failed }}
			s.Transport = last
			once(t, s, 1)
			if last.got[0].Text != secretive.Text || last.got[0].HTML != secretive.HTML {
				t.Errorf("sent %+v, want what was put in", last.got[0])
			}
			if got := stored(t, db); got != "" {
				t.Errorf("a mail that was %s is stored as %q, want it blank", name, got)
			}
			got := record(t, db)
			if got.State.String() != name || got.To != secretive.To || got.Subject != secretive.Subject || !got.CreatedAt.Equal(noon) || got.Text != "" {
				t.Errorf("the record is %+v", got)
			}
		})
	}
}

// inTheClear stores an email as older versions did.
func inTheClear(t *testing.T, db *sqldb.DB, m mail.Message) {
	t.Helper()
	put(t, db, noon, m)
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE mails SET sealed = FALSE, body = $1, html = $2 WHERE cause = $3`, m.Text, m.HTML, m.Cause)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOldMails: emails that an older version left in the clear are sealed when the sender starts,
// and are sent unchanged, sealed or not.
func TestOldMails(t *testing.T) {
	db, c, p := sqldbtest.Open(t), &clock{now: noon}, &post{}
	s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: p, Log: quiet, Batch: 2}
	inTheClear(t, db, secretive)
	once(t, s, 1)
	var want []string
	for n := range 5 {
		inTheClear(t, db, message(n))
		want = append(want, message(n).Text)
	}
	if err := s.SealOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, db); strings.Contains(got, "Good day") {
		t.Errorf("stored %q, want it sealed", got)
	}
	once(t, s, 2)
	once(t, s, 2)
	once(t, s, 1)
	var got []string
	for _, o := range p.got[1:] {
		got = append(got, o.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" || p.got[0].Text != secretive.Text || p.got[0].HTML != secretive.HTML {
		t.Errorf("sent %+v first, then (-want +got)\n%s", p.got[0], diff)
	}
}

// TestAnotherKey: an email that the sender cannot open is not lost.
func TestAnotherKey(t *testing.T) {
	db, c, p := sqldbtest.Open(t), &clock{now: noon}, &post{}
	put(t, db, noon, secretive)
	s := &mail.Sender{DB: db, Sealer: newBox(1), Now: c.Now, Transport: p, Log: quiet}
	once(t, s, 1)
	if got := record(t, db); got.State != mail.Waiting || !strings.Contains(got.Error, "secret key") || len(p.got) != 0 {
		t.Errorf("the record is %+v, and %d mails were sent; want it to wait", got, len(p.got))
	}
	s.Sealer, c.now = box, noon.Add(time.Hour)
	once(t, s, 1)
	if len(p.got) != 1 || p.got[0].Text != secretive.Text {
		t.Errorf("sent %+v", p.got)
	}
}
