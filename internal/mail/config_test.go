package mail_test

import (
	"fmt"
	netmail "net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/mail"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		server string
		want   mail.Config
		shown  string
		text   string
	}{
		{"", mail.Config{}, "", "not configured"},
		{"smtp://mail.example.com", mail.Config{Host: "mail.example.com", Port: 587, Security: mail.STARTTLS}, "smtp://mail.example.com", "mail.example.com:587 (starttls)"},
		{"smtps://mail.example.com/", mail.Config{Host: "mail.example.com", Port: 465, Security: mail.TLS}, "smtps://mail.example.com/", "mail.example.com:465 (tls)"},
		{
			"smtps://ann%40example.com:p%3A%2F%40%25@mail.example.com:4650?hello=licenses.example.com",
			mail.Config{Host: "mail.example.com", Port: 4650, Security: mail.TLS, User: "ann@example.com", Password: "p:/@%", Hello: "licenses.example.com"},
			"smtps://ann%40example.com:xxxxx@mail.example.com:4650?hello=licenses.example.com", "mail.example.com:4650 (tls)",
		},
		{"smtp://10.0.0.7?tls=none", mail.Config{Host: "10.0.0.7", Port: 25, Security: mail.Plain}, "smtp://10.0.0.7?tls=none", "10.0.0.7:25 (none)"},
		{
			"smtp://u:p@[::1]:2525?tls=none",
			mail.Config{Host: "::1", Port: 2525, Security: mail.Plain, User: "u", Password: "p"},
			"smtp://u:xxxxx@[::1]:2525?tls=none", "[::1]:2525 (none)",
		},
		{"file:/var/spool/claviger", mail.Config{Folder: "/var/spool/claviger"}, "file:/var/spool/claviger", "folder /var/spool/claviger"},
		{"file:///var/spool/claviger", mail.Config{Folder: "/var/spool/claviger"}, "file:///var/spool/claviger", "folder /var/spool/claviger"},
		{"file:mails", mail.Config{Folder: "mails"}, "file:mails", "folder mails"},
	} {
		c.want.From = &netmail.Address{Name: "Acme Ü", Address: "licenses@example.com"}
		got, err := parse(c.server, "Acme Ü <licenses@example.com>")
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("Parse(%q): %v (-want +got):\n%s", c.server, err, diff)
		}
		if shown := mail.Show(c.server); shown != c.shown {
			t.Errorf("Show(%q) = %q, want %q", c.server, shown, c.shown)
		}
		if text := fmt.Sprintf("%v %+v", got, struct{ Mail mail.Config }{got}); !strings.HasPrefix(text, c.text) || strings.Contains(text, "p:/@") {
			t.Errorf("%q prints as %s", c.server, text)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ server, from string }{
		"no scheme":              {"mail.example.com:25", "a@b.c"},
		"other scheme":           {"https://mail.example.com", "a@b.c"},
		"no host":                {"smtp://", "a@b.c"},
		"only a user":            {"smtp://u:p@", "a@b.c"},
		"path":                   {"smtp://mail.example.com/x", "a@b.c"},
		"fragment":               {"smtp://mail.example.com#x", "a@b.c"},
		"port 0":                 {"smtp://mail.example.com:0", "a@b.c"},
		"port too high":          {"smtp://mail.example.com:65536", "a@b.c"},
		"port in words":          {"smtp://mail.example.com:smtp", "a@b.c"},
		"unescaped password":     {"smtp://u:p%zz@mail.example.com", "a@b.c"},
		"user alone":             {"smtp://u@mail.example.com", "a@b.c"},
		"password alone":         {"smtp://:p@mail.example.com", "a@b.c"},
		"password in the clear":  {"smtp://u:p@mail.example.com?tls=none", "a@b.c"},
		"TLS that is none":       {"smtps://mail.example.com?tls=none", "a@b.c"},
		"unknown TLS":            {"smtp://mail.example.com?tls=maybe", "a@b.c"},
		"unknown option":         {"smtp://mail.example.com?timeout=3", "a@b.c"},
		"hello with a break":     {"smtp://mail.example.com?hello=a%0d%0ab", "a@b.c"},
		"broken option":          {"smtp://mail.example.com?%zz", "a@b.c"},
		"folder without a name":  {"file:", "a@b.c"},
		"folder with a host":     {"file://host/mails", "a@b.c"},
		"no sender":              {"smtp://mail.example.com", ""},
		"no sender for a folder": {"file:mails", " "},
		"sender is no address":   {"smtp://mail.example.com", "Acme"},
		"two senders":            {"smtp://mail.example.com", "a@b.c, d@e.f"},
		"sender with a break":    {"", "Acme <a@b.c>\r\nBcc: eve@example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(c.server, c.from)
			if err == nil {
				t.Fatalf("Parse(%q, %q) = %#v", c.server, c.from, got)
			}
			if strings.Contains(err.Error(), "p%zz") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
	if got := mail.Show("smtp://u:p%zz@h"); strings.Contains(got, "p%zz") {
		t.Errorf("Show tells the password: %s", got)
	}
}

func TestConfigTransport(t *testing.T) {
	for server, want := range map[string]mail.Transport{
		"": mail.Nowhere{}, "file:mails": mail.Folder{Dir: "mails", From: from},
		"smtps://u:p@mail.example.com?hello=me": &mail.SMTP{
			Host: "mail.example.com", Port: 465, Security: mail.TLS, User: "u", Password: "p", Hello: "me", From: from,
		},
	} {
		c, err := parse(server, from.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.Transport()); diff != "" || c.Configured() != (server != "") {
			t.Errorf("the transport of %q, configured %v (-want +got):\n%s", server, c.Configured(), diff)
		}
	}
}

// parse parses the two settings and checks that they fit together, as the service does.
func parse(server, from string) (mail.Config, error) {
	c, err := mail.ParseServer(server)
	if err != nil {
		return mail.Config{}, err
	}
	if c.From, err = mail.ParseFrom(from); err != nil {
		return mail.Config{}, err
	}
	return c, c.Valid()
}
