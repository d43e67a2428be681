package support

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/money"
	"claviger/internal/oauth"
)

// acts describe the audit entries of a license. Purchases and events have their own entries.
var acts = map[string]string{
	"license.redeem":          "The license was activated",
	"license.activate":        "The license was activated on behalf of its buyer",
	"license.hold":            "The license was put on hold",
	"license.reinstate":       "The hold was lifted",
	"license.release":         "The license was disconnected from the account it was used with",
	"license.transfer":        "The license was given to another buyer",
	"license.refund":          "A purchase of the license was refunded",
	"license.refund_reversed": "A refund of the license was reversed",
	"license.erase":           "The account of its buyer was erased",
	"oauth.accept":            "The buyer agreed to connect the license with the application",
}

// ofPerson describe the audit entries of a person.
var ofPerson = map[string]string{
	"user.sign_in":             "The buyer signed in",
	"user.sign_up":             "The buyer signed up",
	"user.link":                "A sign-in link was made for the buyer",
	"user.password":            "The buyer's password was changed",
	"user.session_end":         "A session of the buyer was ended",
	"user.sign_out_everywhere": "The buyer was signed out everywhere",
}

func userSubject(id int64) string { return "user:" + strconv.FormatInt(id, 10) }

// who names an actor for the marketplace's people.
func (c *Case) who(by audit.Actor) string {
	switch by.Kind {
	case audit.ByUser:
		name := c.names[by.ID]
		switch {
		case by.ID == c.Owner.ID:
			return "the buyer"
		case name == "":
			return "a person whose account was deleted"
		case by.ActingFor != 0:
			return name + " of the partner"
		}
		return name
	case audit.ByToken:
		return "the program " + by.Name
	case audit.ByPartner:
		return "a program of the partner"
	}
	return "the service itself (" + by.Name + ")"
}

// origin describes an actor for the buyer.
func (c *Case) origin(by audit.Actor) string {
	switch {
	case by.Kind == audit.ByUser && by.ID == c.Owner.ID:
		return "by the buyer"
	case by.Kind == audit.ByPartner, by.ActingFor != 0:
		return "by " + c.Partner.Name
	}
	return "by the marketplace"
}

func saleTitle(s license.Sale) string {
	if s.Kind == license.PlanUpgrade {
		return fmt.Sprintf("The plan was changed to tier %d (purchase %d)", s.Tier, s.ID)
	}
	if !s.SoldAt.IsZero() {
		return fmt.Sprintf("The license was bought elsewhere and imported, tier %d (purchase %d)", s.Tier, s.ID)
	}
	if s.Quantity > 1 {
		return fmt.Sprintf("The license was bought, one of %d, tier %d (purchase %d)", s.Quantity, s.Tier, s.ID)
	}
	return fmt.Sprintf("The license was bought, tier %d (purchase %d)", s.Tier, s.ID)
}

func saleText(s license.Sale) string {
	text := "Paid: " + money.Printed(s.AmountCents, s.Currency, s.Hundredths) + "."
	if s.AmountCents == 0 {
		text = "No amount was recorded."
	}
	if !s.SoldAt.IsZero() {
		text += " Sold: " + stamp(s.SoldAt) + "."
	}
	if s.ExternalID != "" {
		text += " Reference: " + s.ExternalID + "."
	}
	return text
}

// leadsIn reports whether an email has a link that gives a buyer access to their licenses. Others
// are about teams, visits and the account.
func leadsIn(m mail.Record) bool {
	for _, p := range []account.Purpose{account.ForSignIn, account.ForSignUp, account.ForReset} {
		if strings.HasPrefix(m.Cause, string(p)+" link ") {
			return true
		}
	}
	return false
}

func mailEntry(m mail.Record) Entry {
	e := Entry{At: m.CreatedAt, Kind: Mail, Title: "Mail to the buyer: " + m.Subject, aside: !leadsIn(m)}
	switch m.State {
	case mail.Sent:
		e.At = m.SentAt
		e.Text = "The mail server accepted it."
	case mail.GivenUp:
		e.Text = "It could not be sent and was given up."
		e.Failed = true
	case mail.Dismissed:
		e.Text = "It could not be sent, and a person looked at that."
	case mail.Waiting:
		e.Text = "It waits to be sent."
		if m.Attempts > 0 {
			e.Text = fmt.Sprintf("It could not be sent yet; attempts: %d.", m.Attempts)
			e.Failed = true
		}
	}
	return e
}

// connectionEntries describe the code that an application received.
func connectionEntries(a oauth.Authorization) []Entry {
	begun := Entry{At: a.At, Kind: Connection, Title: "The application was given a code for the license"}
	list := []Entry{begun}
	switch {
	case a.Burned != "":
		list = append(list, Entry{
			At: a.UsedAt, Kind: Connection, Failed: true, Title: "The application could not exchange its code",
			Text: "It sent the wrong " + a.Burned + ", which ends a code. The buyer has to begin again.",
		})
	case !a.UsedAt.IsZero():
		list = append(
			list,
			Entry{At: a.UsedAt, Kind: Connection, Title: "The application exchanged its code: it is connected"},
		)
	default:
		list[0].Failed, list[0].Text = true,
			"The application has not exchanged it. The code is valid until "+stamp(a.ExpiresAt)+"."
	}
	if !a.RevokedAt.IsZero() {
		list = append(list, Entry{At: a.RevokedAt, Kind: Connection, Title: "The tokens of a connection were revoked"})
	}
	return list
}

// sentence capitalizes words and adds a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

func stamp(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") }
