package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// compose returns the email to send. It is marked as automatic (RFC 3834), so that vacation
// responders do not answer.
func compose(o Outgoing, from *mail.Address) *gomail.Msg {
	domain := "localhost"
	if _, d, ok := strings.Cut(from.Address, "@"); ok && isASCII(d) {
		domain = d
	}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithBoundary("part-"+o.name()))
	m.FromMailAddress(from)
	// Not parsed: our rule for addresses is wider than net/mail's, and the header and the envelope
	// quote where necessary.
	m.ToMailAddress(&mail.Address{Address: o.To})
	m.Subject(o.Subject)
	m.SetDateWithValue(o.At.UTC())
	m.SetMessageIDWithValue(o.name() + "@" + domain)
	if o.Thread != "" {
		// The thread refers to a first message that does not exist: whichever email arrives first,
		// clients show all of them together.
		root := "<" + digest(o.Thread) + ".thread@" + domain + ">"
		m.SetGenHeader(gomail.HeaderReferences, root)
		m.SetGenHeader(gomail.HeaderInReplyTo, root)
	}
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetGenHeader("X-Auto-Response-Suppress", "All")
	m.SetBodyString(gomail.TypeTextPlain, o.Text)
	if o.HTML != "" {
		m.AddAlternativeString(gomail.TypeTextHTML, o.HTML)
	}
	return m
}

// name returns the email's message id, the same on every attempt. It includes the time, because
// another installation with the same sender may have the same cause, and receivers drop the second
// of two emails with one message id.
func (o Outgoing) name() string { return digest(fmt.Sprintf("%s %d", o.Cause, o.At.UnixNano())) }

// digest returns a short hash of a text.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
