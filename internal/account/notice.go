package account

import (
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
)

// notice is an email about a change of a user's ways to sign in. It lets users notice changes that
// they did not make.
type notice string

// Notices. Each is both the title of its email and the sentence in it; %s is the marketplace.
const (
	toldCodesAdded     notice = "One-time codes were added to your account at %s"
	toldCodesRemoved   notice = "One-time codes were removed from your account at %s"
	toldPasskeyAdded   notice = "A passkey was added to your account at %s"
	toldPasskeyRemoved notice = "A passkey was removed from your account at %s"
	toldFactorsRemoved notice = "All second factors were removed from your account at %s"
	toldPassword       notice = "The password of your account at %s was changed"
	toldRecoveryMade   notice = "New recovery codes were made for your account at %s"
	toldRecoveryUsed   notice = "A recovery code was used for your account at %s"
)

// tell puts the email about a change into the outbox, in the transaction of the change. It does
// nothing if the user has no address, or for a command without an outbox.
func (b *Store) tell(tx *sqldb.Tx, u User, by audit.Actor, n notice, at time.Time) {
	if u.Email == "" || b.Mail == nil {
		return
	}
	title := fmt.Sprintf(string(n), b.marketplace())
	l := mail.Content{
		Title:   title,
		Hello:   u.hello(),
		Opening: []string{title + "."},
		Facts:   []mail.Fact{{Name: "When", Value: at.UTC().Format("2 January 2006, 15:04 UTC")}},
		Closing: []string{
			"If it was you, you need not do anything.",
			"If it was not, somebody else can sign in as you: choose a new password, look at the second factors and " +
				"sessions of your account, and write to us.",
		},
		Button: mail.Link{Name: "See how your account is secured", URL: b.PublicURL + "/account/security"},
		Foot: fmt.Sprintf(
			"You get this mail because you have an account at %s. It is sent whenever this happens.",
			b.marketplace(),
		),
	}
	if by.Client != "" {
		l.Facts = append(l.Facts, mail.Fact{Name: "From the address", Value: by.Client})
	}
	if by.Kind != audit.ByUser || by.ID != u.ID {
		l.Facts = append(l.Facts, mail.Fact{Name: "By", Value: "the team of " + b.marketplace()})
	}
	text, html := b.Mail.Render(l)
	b.Mail.Put(tx, mail.Message{
		Cause: fmt.Sprintf(
			"user %d at %d: %s",
			u.ID,
			at.UnixNano(),
			n,
		), To: u.Email, Subject: title, Text: text, HTML: html, Lasting: true,
	}, at)
}

// tellSignIn puts the email about a sign-in from a new browser into the outbox.
func (b *Store) tellSignIn(tx *sqldb.Tx, u User, s NewSession, at time.Time) {
	if u.Email == "" {
		return
	}
	title := "New sign-in to your account at " + b.marketplace()
	l := mail.Content{
		Title:   title,
		Hello:   u.hello(),
		Opening: []string{"Somebody signed in to your account with a browser that we do not know as yours."},
		Facts: []mail.Fact{
			{Name: "When", Value: at.UTC().Format("2 January 2006, 15:04 UTC")},
			{Name: "Browser", Value: s.Browser},
			{Name: "From the address", Value: s.Client},
		},
		Button: mail.Link{Name: "See where you are signed in", URL: b.PublicURL + "/account/security"},
		Closing: []string{
			"If it was you, you need not do anything.",
			"If it was not, end that session and choose a new password at once.",
		},
		Foot: fmt.Sprintf("You get this mail because you have an account at %s.", b.marketplace()),
	}
	text, html := b.Mail.Render(l)
	b.Mail.Put(tx, mail.Message{
		Kind: mail.NewSignIn, Cause: fmt.Sprintf("user %d at %d: new sign-in", u.ID, at.UnixNano()),
		To: u.Email, Subject: title, Text: text, HTML: html, Lasting: true,
	}, at)
}

// TellDeleted puts the email about a deleted account into the outbox, in the transaction of the
// erasure. The email is deleted after it was sent. Operators notify the users that they erase
// themselves.
func (b *Store) TellDeleted(tx *sqldb.Tx, by audit.Actor, was User, at time.Time) {
	if was.Email == "" || by.Kind != audit.ByUser || by.ID != was.ID || !b.Mail.Sends(mail.AccountDeleted) {
		return
	}
	title := "Your account at " + b.marketplace() + " is deleted"
	text, html := b.Mail.Render(mail.Content{
		Title: title,
		Hello: was.hello(),
		Opening: []string{
			"Your account is deleted, and what we stored about you with it. Licenses that you had no longer work, " +
				"and nobody can get them back.",
		},
		Facts:   []mail.Fact{{Name: "When", Value: at.UTC().Format("2 January 2006, 15:04 UTC")}},
		Closing: []string{"If it was not you who deleted it, contact " + b.marketplace() + "."},
		Links:   b.Mail.Contact(b.marketplace()),
		Foot:    "This is the last mail about this account. Your address is removed as soon as the mail was sent.",
	})
	b.Mail.Put(tx, mail.Message{
		Kind: mail.AccountDeleted, Cause: fmt.Sprintf("user %d deleted", was.ID), To: was.Email, Subject: title,
		Text: text, HTML: html, Transient: true,
	}, at)
}

// hello returns the salutation of emails to the user.
func (u User) hello() string {
	if u.Name == "" {
		return "Hello,"
	}
	return "Hello " + u.Name + ","
}
