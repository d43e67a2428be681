package devserver_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/devserver"
	"claviger/internal/mail"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestMails: emails in the outbox can be read, and are not sent.
func TestMails(t *testing.T) {
	w, outbox := runWithKey(t)
	w.open(t, "/dev/mail/").has(t, 200, "No emails yet")
	db := sqldbtest.OpenWith(t, w.db, sqldb.Options{})
	at := time.Now().UTC().Add(-time.Hour) // old ones are removed
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		outbox.Put(tx, mail.Message{Cause: "one", To: "ann@example.com", Subject: "An older one", Text: "Hello"}, at)
		outbox.Put(tx, mail.Message{
			Cause: "two", To: "bob@example.com", Subject: "A <newer> one", HTML: "<script>alert(1)</script>",
			Text: "Open (https://dev.example/sign-in/link?token=a&next=%2F).\njavascript:alert(1)\n<b>bold</b>",
		}, at.Add(time.Minute))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	list := w.open(t, "/dev/mail")
	list.has(t, 200, "ann@example.com", "bob@example.com", "A &lt;newer&gt; one", at.Add(time.Minute).Format("2 Jan 2006, 15:04 UTC"))
	if strings.Index(list.text, "bob@") > strings.Index(list.text, "ann@") {
		t.Error("the newest mail is not the first")
	}
	asJSON := w.send(t, "GET", "/dev/mail/", "", "", http.Header{"Accept": {"application/json"}})
	asJSON.has(t, 200, `{"size":2,"items":[{"id":2,"to":"bob@example.com","subject":"A <newer> one","at":"`, `"text":"Hello"`)
	mails, err := outbox.Recent(t.Context(), db, 1)
	if err != nil {
		t.Fatal(err)
	}
	one := w.open(t, "/dev/mail/"+strconv.FormatInt(mails[0].ID, 10))
	one.has(t, 200, "bob@example.com", "&lt;b&gt;bold",
		`(<a href="https://dev.example/sign-in/link?token=a&amp;next=%2F">https://dev.example/sign-in/link?token=a&amp;next=%2F</a>).`)
	if strings.Contains(one.text, "<script>alert") || strings.Contains(one.text, `href="javascript`) {
		t.Errorf("the page runs what a mail says:\n%s", one.text)
	}
	for _, id := range []string{"0", "99", "x"} {
		w.open(t, "/dev/mail/"+id).has(t, 404, "no such email")
		w.open(t, "/dev/mail/"+id+"/html").has(t, 404, "no such email")
	}
}

// runWithKey starts a server and returns an outbox with its secret key.
func runWithKey(t *testing.T) (*harness, *mail.Outbox) {
	t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	w := run(t, func(cfg *devserver.Config) { cfg.App.SecretKey = strings.Repeat("00", secret.KeySize) })
	return w, &mail.Outbox{Sealer: box}
}

// TestMailsAreCaught: a requested email appears immediately and counts as sent. Its text can be
// read although the database has cleared it.
func TestMailsAreCaught(t *testing.T) {
	w, outbox := runWithKey(t)
	w.submit(t, "/sign-in/send", map[string][]string{"email": {w.Buyer.Email}}).has(t, 200, "Check your email")
	db := sqldbtest.OpenWith(t, w.db, sqldb.Options{})
	for look := time.NewTicker(10 * time.Millisecond); ; <-look.C {
		mails, err := outbox.Recent(t.Context(), db, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(mails) == 1 && mails[0].State != mail.Waiting {
			if mails[0].State != mail.Sent || mails[0].To != w.Buyer.Email || mails[0].Text != "" {
				t.Errorf("the mail is %+v", mails[0])
			}
			at := "/dev/mail/" + strconv.FormatInt(mails[0].ID, 10)
			w.open(t, at).has(t, 200, "/sign-in/link?token=", at+"/html")
			w.open(t, at+"/html").has(t, 200, "<!DOCTYPE html>", "/sign-in/link?token=")
			return
		}
	}
}
