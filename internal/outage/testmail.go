package outage

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// TestMailer sends a contact a mail that says it is a test, so that a partner learns
// whether a mail about an outage would arrive.
type TestMailer struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Profiles *profile.Book
	Service  string // what the service calls itself in mails
	Links    func(partnerID int64) Links
	Mail     *mail.Outbox
}

// Send mails a test to a contact of a partner. It counts as one of the tests that a
// partner may make; see profile.Claim.
func (m *TestMailer) Send(ctx context.Context, by audit.Actor, partnerID, contactID int64) (profile.Contact, error) {
	// One that does not exist uses nothing up.
	if _, err := m.Profiles.Contact(ctx, m.DB, partnerID, contactID); err != nil {
		return profile.Contact{}, err
	}
	claim, err := m.Profiles.BeginTest(ctx, partnerID)
	if err != nil {
		return profile.Contact{}, err
	}
	defer claim.End(ctx)
	p, err := m.Profiles.Partners.Get(ctx, partnerID)
	if err != nil {
		return profile.Contact{}, err
	}
	var c profile.Contact
	err = m.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if c, err = m.Profiles.Contact(ctx, tx, partnerID, contactID); err != nil {
			return err
		}
		now := m.Now()
		m.Mail.Put(tx, m.message(partnerID, p.Name, c, now), now)
		audit.Record(tx, now, by, "contact.test", fmt.Sprintf("partner:%d", partnerID), nil, audit.Facts{"contact_id": c.ID})
		return nil
	})
	if err != nil {
		return profile.Contact{}, fmt.Errorf("send a test mail: %w", err)
	}
	return c, nil
}

// message is the mail.
func (m *TestMailer) message(partnerID int64, name string, c profile.Contact, now time.Time) mail.Message {
	f := facts{service: m.Service, partner: name}
	if m.Links != nil {
		f.links = m.Links(partnerID)
	}
	l := mail.Content{
		Title: fmt.Sprintf("%s: this is a test", name),
		Hello: "Hello,", // the name was typed by whoever asks for the test
		Opening: []string{
			fmt.Sprintf("This is a test. Somebody who manages %s at %s asked for it, to see whether mail reaches you. Nothing is wrong, and there is nothing to do.", name, m.Service),
			fmt.Sprintf("If webhooks to %s fail for %s, you get a mail that says so, at this address.", name, span(After)),
		},
		Links: f.linkList(),
		Foot:  f.foot(),
	}
	text, html := l.Render()
	return mail.Message{
		Cause: fmt.Sprintf("test mail:%d:%d", c.ID, now.UnixNano()), To: c.Email, Subject: l.Title, Text: text, HTML: html,
	}
}
