package apptest

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"claviger/internal/app"
	"claviger/internal/mail"
)

// Catcher receives the emails of an application. Make it with NewCatcher.
type Catcher struct{ Mails chan mail.Message }

// NewCatcher returns a catcher and the option that sets it in a configuration.
func NewCatcher() (*Catcher, func(*app.Config)) {
	c := &Catcher{Mails: make(chan mail.Message, 100)}
	return c, func(cfg *app.Config) { cfg.Catcher = c }
}

// Send receives an email.
func (c *Catcher) Send(_ context.Context, o mail.Outgoing) (again bool, err error) {
	c.Mails <- o.Message
	return false, nil
}

// Mailed waits for the next email, which must be to an address, and returns the link in it. It
// skips emails about sign-ins.
func (c *Catcher) Mailed(t testing.TB, to string, link *regexp.Regexp) string {
	t.Helper()
	for {
		select {
		case m := <-c.Mails:
			if strings.HasPrefix(m.Subject, "New sign-in") {
				continue
			}
			if found := link.FindString(m.Text); m.To == to && found != "" {
				return found
			}
			t.Fatalf("mailed to %s:\n%s", m.To, m.Text)
		case <-t.Context().Done():
			t.Fatal("nothing was mailed")
		}
	}
}
