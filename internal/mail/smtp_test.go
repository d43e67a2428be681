package mail_test

import (
	"context"
	"errors"
	"net"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jhillyerd/enmime/v2"

	"claviger/internal/mail"
	"claviger/internal/mail/mailtest"
	"claviger/internal/sqldb/sqldbtest"
)

var from = mailtest.From

func outgoing() mail.Outgoing {
	return mail.Outgoing{
		ID: 7, At: noon, Attempt: 1, Message: mail.Message{
			Cause: "outage:7:opened:contact:3", Thread: "outage:7", To: "ann@example.com",
			Subject: "Größere Störung & „Anführung“: 用户 — " + strings.Repeat("sehr ", 20) + "lang",
			Text:    "Guten Tag, Jürgen.\n\n.\nA line that begins with a dot\n" + strings.Repeat("x", 2000) + "\n",
			HTML:    "<p>Guten Tag, Jürgen &amp; <b>Co</b>.</p>\n",
		},
	}
}

func TestSMTP(t *testing.T) {
	for name, o := range map[string]mailtest.Options{
		"in the clear":        {},
		"STARTTLS":            {Security: mail.STARTTLS},
		"TLS":                 {Security: mail.TLS},
		"STARTTLS, password":  {Security: mail.STARTTLS, User: "acme", Password: "s3cret:@/"},
		"TLS, password":       {Security: mail.TLS, User: "acme", Password: "s3cret:@/"},
		"in the clear, local": {User: "acme", Password: "s3cret:@/"},
		"hangs up":            {Security: mail.TLS, Hangup: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := mailtest.Start(t, o)
			out := outgoing()
			if again, err := server.SMTP().Send(t.Context(), out); again || err != nil {
				t.Fatalf("Send: %v, %v", again, err)
			}
			got := server.Wait(t, 1)[0]
			if got.TLS != (o.Security == mail.TLS || o.Security == mail.STARTTLS) || got.User != o.User ||
				got.From != "licenses@example.com" || got.To != "ann@example.com" {
				t.Errorf("the envelope: from %s to %s by %q, TLS %v", got.From, got.To, got.User, got.TLS)
			}
			looksRight(t, got.Envelope, out)
		})
	}
}

func looksRight(t *testing.T, got *enmime.Envelope, want mail.Outgoing) {
	t.Helper()
	unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	if unix(got.Text) != want.Text || unix(got.HTML) != want.HTML || got.GetHeader("Subject") != want.Subject {
		t.Errorf("got subject %q, text %q, HTML %q", got.GetHeader("Subject"), got.Text, got.HTML)
	}
	if len(got.Errors) > 0 {
		t.Errorf("the mail is not well made: %v", got.Errors)
	}
	headers := map[string]string{}
	for _, name := range []string{"From", "To", "Date", "Message-ID", "References", "In-Reply-To", "Auto-Submitted", "User-Agent"} {
		headers[name] = got.GetHeader(name)
	}
	wantHeaders := map[string]string{
		"From": `"Acme Licensing" <licenses@example.com>`, "To": "<ann@example.com>", "Date": "Wed, 04 Mar 2026 12:00:00 +0000",
		"Message-ID": "<37576e9953abbd683462bab6@example.com>",
		"References": "<4b51a392f5c6e419140690b6.thread@example.com>", "In-Reply-To": "<4b51a392f5c6e419140690b6.thread@example.com>",
		"Auto-Submitted": "auto-generated", "User-Agent": "",
	}
	if diff := cmp.Diff(wantHeaders, headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// TestSMTPAddresses: every valid address reaches the server, and none can break out of its line.
func TestSMTPAddresses(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	for _, to := range []string{"a@b", "dot..dot@example.com", "o'brien@example.com", "ann+tag@example.com", "jürgen@bücher.example", "用户@例子.公司"} {
		out := outgoing()
		out.To, out.Cause, out.Thread = to, "to:"+to, ""
		if _, err := server.SMTP().Send(t.Context(), out); err != nil {
			t.Errorf("%s: %v", to, err)
			continue
		}
		got := server.Mails()
		last := got[len(got)-1]
		list, err := last.AddressList("To")
		if last.To != to || err != nil || len(list) != 1 || list[0].Address != to || last.GetHeader("References") != "" {
			t.Errorf("%s arrived for %s, header %v, %v", to, last.To, list, err)
		}
	}
	out := outgoing()
	out.To = "ann@example.com>\r\nRCPT TO:<eve@example.com>\r\nX-Evil: 1"
	if _, err := server.SMTP().Send(t.Context(), out); err == nil {
		got := server.Mails()
		if last := got[len(got)-1]; last.To == "eve@example.com" || last.GetHeader("X-Evil") != "" {
			t.Errorf("an address broke out of its line: to %s\n%s", last.To, last.Raw)
		}
	}
}

func TestSMTPRefuses(t *testing.T) {
	answer := func(step string, code int) func(string, string) error {
		return func(at, address string) error {
			if at != step {
				return nil
			}
			return mailtest.Refuse(code, "no thanks, "+address)
		}
	}
	for name, c := range map[string]struct {
		server mailtest.Options
		change func(*mail.SMTP)
		again  bool
		want   string // part of the error
	}{
		"greylisted":           {server: mailtest.Options{Answer: answer("rcpt", 451)}, again: true, want: `refused the recipient: 451 "4.1.1 no thanks, the recipient"`},
		"unknown recipient":    {server: mailtest.Options{Answer: answer("rcpt", 550)}, want: `refused the recipient: 550 "5.1.1 no thanks, the recipient"`},
		"sender not allowed":   {server: mailtest.Options{Answer: answer("mail", 553)}, want: "refused the sender: 553 "},
		"busy at the sender":   {server: mailtest.Options{Answer: answer("mail", 421)}, again: true, want: "refused the sender: 421 "},
		"mail refused":         {server: mailtest.Options{Answer: answer("data", 554)}, want: `refused the mail: 554 "5.1.1 no thanks, the recipient"`},
		"mail put off":         {server: mailtest.Options{Answer: answer("data", 452)}, again: true, want: `refused the mail: 452 "4.1.1 no thanks, the recipient"`},
		"wants authentication": {server: mailtest.Options{Answer: answer("mail", 530)}, again: true, want: "530"},
		"wrong password": {
			server: mailtest.Options{Security: mail.TLS, User: "acme", Password: "right"},
			change: func(s *mail.SMTP) { s.Password = "wrong" }, again: true, want: "535",
		},
		"no authentication there": {
			change: func(s *mail.SMTP) { s.User, s.Password = "acme", "x" }, again: true, want: "does not support SMTP AUTH",
		},
		"no STARTTLS there": {
			change: func(s *mail.SMTP) { s.Security = mail.STARTTLS }, again: true, want: "does not support STARTTLS",
		},
		"no security named is STARTTLS": {
			change: func(s *mail.SMTP) { s.Security = "" }, again: true, want: "does not support STARTTLS",
		},
		"certificate of a stranger": {
			server: mailtest.Options{Security: mail.TLS}, change: func(s *mail.SMTP) { s.Roots = nil }, again: true, want: "certificate",
		},
		"certificate of a stranger, STARTTLS": {
			server: mailtest.Options{Security: mail.STARTTLS}, change: func(s *mail.SMTP) { s.Roots = nil }, again: true, want: "certificate",
		},
		"nobody there": {change: func(s *mail.SMTP) { s.Port = 1 }, again: true, want: "refused"},
		"unknown security": {
			change: func(s *mail.SMTP) { s.Security = "rot13" }, want: `unknown security "rot13"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := mailtest.Start(t, c.server)
			s := server.SMTP()
			if c.change != nil {
				c.change(s)
			}
			again, err := s.Send(t.Context(), outgoing())
			if err == nil || again != c.again || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "ann@") {
				t.Errorf("Send = %v, %v; want again %v and an error with %q", again, err, c.again, c.want)
			}
			if n := len(server.Mails()); n != 0 {
				t.Errorf("%d mails arrived", n)
			}
		})
	}
}

// TestSMTPGreylisting sends an email through a server that first asks to come back later.
func TestSMTPGreylisting(t *testing.T) {
	var asked atomic.Int64
	server := mailtest.Start(t, mailtest.Options{Security: mail.TLS, Answer: func(step, _ string) error {
		if step == "rcpt" && asked.Add(1) <= 2 {
			return mailtest.Refuse(451, "come back later")
		}
		return nil
	}})
	db, c := sqldbtest.Open(t), &clock{now: noon}
	s := &mail.Sender{DB: db, Sealer: box, Now: c.Now, Transport: server.SMTP(), Log: quiet}
	put(t, db, noon, message(1))
	for range 2 {
		once(t, s, 1)
		got := record(t, db)
		if got.State != mail.Waiting || !strings.Contains(got.Error, "come back later") {
			t.Fatalf("the record is %+v", got)
		}
		c.now = got.DueAt
	}
	once(t, s, 1)
	if got := record(t, db); got.State != mail.Sent || got.Attempts != 3 || len(server.Mails()) != 1 {
		t.Errorf("the record is %+v; %d mails arrived", got, len(server.Mails()))
	}
}

// TestSMTPHangs: a server that says nothing blocks us only until our own end, or its timeout.
func TestSMTPHangs(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	met := make(chan net.Conn, 2)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(met)
				return
			}
			met <- conn
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		for conn := range met {
			_ = conn.Close()
		}
	})
	port := listener.Addr().(*net.TCPAddr).Port
	s := &mail.SMTP{Host: "127.0.0.1", Port: port, Security: mail.Plain, From: from, Timeout: time.Hour}
	ctx, stop := context.WithCancelCause(t.Context())
	stopped := errors.New("we stop")
	go func() {
		conn := <-met
		stop(stopped)
		_ = conn.Close()
	}()
	if again, err := s.Send(ctx, outgoing()); !again || !errors.Is(err, stopped) {
		t.Errorf("cut off: %v, %v", again, err)
	}
	s.Timeout = time.Millisecond
	if again, err := s.Send(t.Context(), outgoing()); !again || err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("after its timeout: %v, %v", again, err)
	}
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mails", "out")
	f := mail.Folder{Dir: dir, From: &netmail.Address{Name: "Acme Licensing", Address: "licenses@example.com"}}
	out := outgoing()
	for range 2 { // as after a crash
		if again, err := f.Send(t.Context(), out); again || err != nil {
			t.Fatalf("Send: %v, %v", again, err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "20260304T120000Z-37576e9953abbd683462bab6.eml" {
		t.Fatalf("files: %v, %v", files, err)
	}
	raw, err := os.Open(filepath.Join(dir, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close() //nolint:errcheck // only read
	got, err := enmime.ReadEnvelope(raw)
	if err != nil {
		t.Fatal(err)
	}
	looksRight(t, got, out)
	f.Dir = filepath.Join(dir, files[0].Name())
	if again, err := f.Send(t.Context(), out); !again || err == nil {
		t.Errorf("a file in place of the folder: %v, %v; want it tried again", again, err)
	}
}
