package mail_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

func TestParseKinds(t *testing.T) {
	got, err := mail.ParseKinds(" receipt,,new-sign-in ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]mail.Kind{mail.Receipt, mail.NewSignIn}, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if _, err := mail.ParseKinds("receipt,recipt"); err == nil || !strings.Contains(err.Error(), `"recipt"`) || !strings.Contains(err.Error(), "account-deleted") {
		t.Errorf("a kind that there is none of: %v", err)
	}
}

// TestSwitchedOff: messages of kinds that are not switched off are stored, each cause once.
func TestSwitchedOff(t *testing.T) {
	db := sqldbtest.Open(t)
	woken := 0
	o := &mail.Outbox{Sealer: box, Off: []mail.Kind{mail.Receipt}, Wake: func() { woken++ }}
	ready, receipt, always := message(1), message(2), message(3)
	ready.Kind, receipt.Kind = mail.LicenseReady, mail.Receipt
	again := ready
	again.Subject = "Hello again"
	putAll := func(list ...mail.Message) {
		t.Helper()
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			o.PutAll(tx, noon, list...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	putAll(receipt)
	if woken != 0 {
		t.Error("the sender was woken for nothing")
	}
	putAll(ready, receipt, always)
	putAll(again)
	var got []string
	for _, m := range records(t, db) {
		got = append(got, m.Cause+" "+m.Subject)
	}
	if diff := cmp.Diff([]string{"test:1 Hello", "test:3 Hello"}, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if o = nil; o.Sends("") {
		t.Error("mails are sent without an outbox")
	}
}

// TestTransient: a transient email waits and is retried like any other, and leaves no trace at its
// end.
func TestTransient(t *testing.T) {
	for name, end := range map[string]error{"sent": nil, "given up": errors.New("no such mailbox")} {
		t.Run(name, func(t *testing.T) {
			db, c := sqldbtest.Open(t), &clock{now: noon}
			gone, other := message(1), message(2)
			gone.Transient = true
			put(t, db, noon, gone, other)
			p := &post{send: func(context.Context, mail.Outgoing) (bool, error) { return true, errors.New("away") }}
			s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: p, Log: quiet}
			once(t, s, 2)
			if n := len(records(t, db)); n != 2 {
				t.Fatalf("%d mails wait, want 2", n)
			}
			c.now = noon.AddDate(0, 0, 1)
			p.send = func(context.Context, mail.Outgoing) (bool, error) { return false, end }
			once(t, s, 2)
			if list := records(t, db); len(list) != 1 || list[0].Cause != other.Cause {
				t.Errorf("left: %+v, want the record of the other one", list)
			}
		})
	}
}

// TestButton: an email has one button, with its URL in plain text beneath, and the logo is an image
// with the name as its text.
func TestButton(t *testing.T) {
	o := &mail.Outbox{Look: mail.Look{Name: "Acme & Co", Logo: "https://acme.example/logo.png"}}
	c := mail.Content{Title: "Ready", Opening: []string{"It is ready."}, Button: mail.Link{Name: "Open it", URL: "https://acme.example/a?b=1&c=2"}, Closing: []string{"Bye."}}
	text, html := o.Render(c)
	if want := "It is ready.\n\nOpen it:\nhttps://acme.example/a?b=1&c=2\n\nBye.\n"; text != want {
		t.Errorf("text %q, want %q", text, want)
	}
	for part, n := range map[string]int{
		`href="https://acme.example/a?b=1&amp;c=2"`: 2, `>Open it</a>`: 1, `>https://acme.example/a?b=1&amp;c=2</a>`: 1,
		`<img src="https://acme.example/logo.png" alt="Acme &amp; Co"`: 1,
	} {
		if got := strings.Count(html, part); got != n {
			t.Errorf("%s: %d times, want %d\n%s", part, got, n, html)
		}
	}
	o.Look.Logo = ""
	if _, html = o.Render(c); strings.Contains(html, "<img") || !strings.Contains(html, ">Acme &amp; Co</p>") {
		t.Errorf("without a logo:\n%s", html)
	}
}
