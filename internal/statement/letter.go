package statement

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/mail"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// maxNamed is the maximum number of statements that an email lists.
const maxNamed = 12

// notify queues an email to each contact of the partner, about all new statements. They must be of one
// partner.
func (s *Store) notify(ctx context.Context, tx *sqldb.Tx, list []Statement, at time.Time) error {
	if s.Mail == nil {
		return nil
	}
	partnerID := list[0].PartnerID
	contacts, err := profile.Contacts(ctx, tx, partnerID)
	if err != nil || len(contacts) == 0 {
		return err
	}
	name, err := partner.Name(ctx, tx, partnerID)
	if errors.Is(err, sqldb.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	var messages []mail.Message
	for _, c := range contacts {
		content := s.content(name, list)
		content.Hello = "Hello " + c.Name + ","
		text, html := s.Mail.Render(content)
		messages = append(messages, mail.Message{
			Cause:   fmt.Sprintf("statement:%d:%d:contact:%d", partnerID, list[0].Number, c.ID),
			To:      c.Email,
			Subject: content.Title, Text: text, HTML: html, Lasting: true,
		})
	}
	s.Mail.PutAll(tx, at, messages...)
	return nil
}

// content returns the text of the email.
func (s *Store) content(partnerName string, list []Statement) mail.Content {
	portal := s.PublicURL + "/portal/" + strconv.FormatInt(list[0].PartnerID, 10)
	last := list[len(list)-1]
	c := mail.Content{
		Title:   fmt.Sprintf("%s: your statement for %s is ready", partnerName, last.Month.Name()),
		Opening: []string{fmt.Sprintf("Here's what %s earned at %s.", partnerName, s.Marketplace)},
		Button:  mail.Link{Name: "View earnings", URL: portal + "/earnings"},
		Foot: fmt.Sprintf(
			"You're receiving this because you're a contact of %s at %s. You can change the contacts in the portal.",
			partnerName, s.Marketplace,
		),
	}
	if len(list) > 1 {
		c.Title = fmt.Sprintf("%s: your statements up to %s are ready", partnerName, last.Month.Name())
	} else {
		c.Button = mail.Link{Name: "View statement", URL: fmt.Sprintf("%s/statements/%d", portal, last.Number)}
	}
	shown := list[max(0, len(list)-maxNamed):]
	for _, n := range shown {
		c.Facts = append(c.Facts, mail.Fact{
			Name:  fmt.Sprintf("Statement %d, %s", n.Number, n.Month.Name()),
			Value: "closing balance " + money.Text(n.Closing, n.Currency),
		})
	}
	if more := len(list) - len(shown); more > 0 {
		c.Closing = []string{fmt.Sprintf("%d earlier statements are in the portal.", more)}
	}
	return c
}
