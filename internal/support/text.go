package support

import (
	"fmt"
	"slices"
	"strings"

	"claviger/internal/license"
)

// Text returns the case as text for a reply, oldest entry first. It names no person and no program
// of the marketplace, no address, and only the end of the key. It has no advice for staff and no
// unrelated emails, so it may be sent to the person who asked.
func (c *Case) Text() string {
	var b strings.Builder
	l := c.License
	fmt.Fprintf(&b, "License ending in %s, %s, tier %d: %s\n", l.Key[len(l.Key)-4:], c.Partner.Name, l.Tier, l.Status)
	b.WriteString("\nWhy it is in this state\n")
	for _, s := range c.Explain {
		if s != license.RedeemAdvice {
			b.WriteString("- " + s + "\n")
		}
	}
	b.WriteString("\nWhat the application's server said\n")
	for _, s := range c.Server {
		b.WriteString("- " + s + "\n")
	}
	b.WriteString("\nWhat happened (times in UTC)\n")
	if c.More {
		b.WriteString("- Earlier entries are left out.\n")
	}
	for _, e := range slices.Backward(c.Entries) {
		if e.aside {
			continue
		}
		b.WriteString("- " + e.At.UTC().Format("2006-01-02 15:04:05") + "  " + e.Title)
		if e.by.Kind != "" && (e.Kind == Act || e.Kind == Purchased) {
			b.WriteString(", " + c.origin(e.by))
		}
		b.WriteString(strings.TrimRight(". "+e.Text, " "))
		b.WriteString("\n")
	}
	return b.String()
}
