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

// TestMailer sends a contact a test email, so that a partner learns whether an email about an
// outage would arrive.
type TestMailer struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Profiles *profile.Store
	Service  string // name of the service in emails
	Links    Links
	Mail     *mail.Outbox
}

// Send emails a test to a contact of a partner. It counts as one of the tests that a partner may
// make; see profile.Claim.
func (m *TestMailer) Send(ctx context.Context, by audit.Actor, partnerID, contactID int64) (profile.Contact, error) {
	// An unknown contact uses up no test.
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
		m.Mail.Put(tx, m.message(p.Name, c, now), now)
		audit.Record(
			tx,
			now,
			by,
			"contact.test",
			fmt.Sprintf("partner:%d", partnerID),
			nil,
			audit.Facts{"contact_id": c.ID},
		)
		return nil
	})
	if err != nil {
		return profile.Contact{}, fmt.Errorf("send a test mail: %w", err)
	}
	return c, nil
}

// message returns the email.
func (m *TestMailer) message(name string, c profile.Contact, now time.Time) mail.Message {
	f := facts{service: m.Service, partner: name, links: m.Links}
	l := mail.Content{
		Title: fmt.Sprintf("%s: this is a test", name),
		Hello: "Hello,", // the name was typed by the person who requests the test
		Opening: []string{
			fmt.Sprintf(
				"This is a test. Somebody who manages %s at %s asked for it, to see whether mail reaches you. "+
					"Nothing is wrong, and there is nothing to do.",
				name,
				m.Service,
			),
			fmt.Sprintf(
				"If webhooks to %s fail for %s, you get a mail that says so, at this address.",
				name,
				span(After),
			),
		},
		Links: f.linkList(),
		Foot:  f.foot(),
	}
	text, html := l.Render()
	return mail.Message{
		Cause: fmt.Sprintf(
			"test mail:%d:%d",
			c.ID,
			now.UnixNano(),
		), To: c.Email, Subject: l.Title, Text: text, HTML: html,
	}
}
