package refundrequest

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// letter is the data of the emails about a request.
type letter struct {
	Request
	user        account.User // zero if the person was erased
	application string
	at          time.Time
}

func (s *Store) letter(ctx context.Context, tx *sqldb.Tx, r Request, at time.Time) (letter, error) {
	l := letter{Request: r, at: at}
	users, err := account.ByID(ctx, tx, []int64{r.UserID})
	if err != nil {
		return l, err
	}
	partners, err := partner.ByID(ctx, tx, []int64{r.PartnerID})
	l.user = users[r.UserID]
	l.application = partners[r.PartnerID].Name
	return l, err
}

// day formats a date for emails. The reader's time zone is unknown.
func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

func (l letter) facts(more ...mail.Fact) []mail.Fact {
	return append([]mail.Fact{
		{Name: "Application", Value: l.application},
		{Name: "License", Value: "key ends in " + l.LicenseKey[max(0, len(l.LicenseKey)-6):]},
		{Name: "Amount", Value: l.Total()},
	}, more...)
}

// buyer queues an email to the buyer, unless the person was erased.
func (s *Store) buyer(tx *sqldb.Tx, l letter, kind mail.Kind, event string, c mail.Content) {
	if s.Mail == nil || l.user.Email == "" {
		return
	}
	c.Hello = "Hello,"
	if l.user.Name != "" {
		c.Hello = "Hello " + l.user.Name + ","
	}
	c.Button = mail.Link{Name: "See your license", URL: s.PublicURL + "/licenses/" + l.RedemptionID}
	c.Foot = fmt.Sprintf("You're receiving this because you asked for a refund at %s.", s.Marketplace)
	text, html := s.Mail.Render(c)
	s.Mail.Put(tx, mail.Message{
		Kind: kind, Cause: l.cause(event, "buyer"), To: l.user.Email, Subject: c.Title, Text: text, HTML: html,
		Lasting: true,
	}, l.at)
}

// cause identifies an email. A request may return to the queue, so the time is a part.
func (l letter) cause(event, to string) string {
	return fmt.Sprintf("refund request %d %s at %d to %s", l.ID, event, l.at.UnixNano(), to)
}

// operators queues an email to each operator who may refund. It says nothing about the buyer: that
// is erased with the person, and an email is not.
func (s *Store) operators(ctx context.Context, tx *sqldb.Tx, l letter, event string, c mail.Content) error {
	if s.Mail == nil {
		return nil
	}
	team, err := account.OperatorsWho(ctx, tx, account.Sell)
	if err != nil {
		return err
	}
	c.Hello = "Hello,"
	c.Facts = l.facts(mail.Fact{Name: "Requested", Value: day(l.CreatedAt)})
	c.Button = mail.Link{
		Name: "See the request", URL: fmt.Sprintf("%s/console/refund-requests/%d", s.PublicURL, l.ID),
	}
	c.Foot = fmt.Sprintf("You're receiving this because you can refund payments at %s.", s.Marketplace)
	text, html := s.Mail.Render(c)
	var list []mail.Message
	for _, u := range team {
		list = append(list, mail.Message{
			Cause: l.cause(event, fmt.Sprintf("operator %d", u.ID)), To: u.Email, Subject: c.Title, Text: text,
			HTML: html, Lasting: true,
		})
	}
	s.Mail.PutAll(tx, l.at, list...)
	return nil
}

// tellReceived confirms a new request to the buyer, and tells operators who must decide.
func (s *Store) tellReceived(ctx context.Context, tx *sqldb.Tx, r Request, at time.Time) error {
	l, err := s.letter(ctx, tx, r, at)
	if err != nil {
		return err
	}
	c := mail.Content{
		Title:   "We received your refund request for " + l.application,
		Opening: []string{"We'll look at it and tell you by email. Your license works until then."},
		Facts:   l.facts(mail.Fact{Name: "Requested", Value: day(at)}),
	}
	if r.UnderWay() {
		c.Opening = []string{"The refund is on its way. You'll get another email when it's done."}
	}
	s.buyer(tx, l, mail.RefundRequest, "received", c)
	if r.UnderWay() {
		return nil
	}
	return s.operators(ctx, tx, l, "received", mail.Content{
		Title:   fmt.Sprintf("New refund request: %s, %s", l.application, l.Total()),
		Opening: []string{"A buyer asks for their money back. Refund it, or decline it with a reason."},
	})
}

// tellRefunded tells the buyer that the money is on its way back.
func (s *Store) tellRefunded(ctx context.Context, tx *sqldb.Tx, r Request, left Outcome, at time.Time) error {
	l, err := s.letter(ctx, tx, r, at)
	if err != nil {
		return err
	}
	c := mail.Content{
		Title:   fmt.Sprintf("We refunded %s for %s", l.Total(), l.application),
		Opening: []string{fmt.Sprintf("The license no longer works in %s.", l.application)},
		Facts:   l.facts(mail.Fact{Name: "Refunded", Value: day(at)}),
		Closing: []string{"When the money arrives depends on how you paid; it can take a few days."},
	}
	if !left.Ended {
		c.Opening = []string{fmt.Sprintf("Your license continues on %s.", left.Plan)}
	}
	s.buyer(tx, l, mail.Refunded, "refunded", c)
	return nil
}

// tellDeclined tells the buyer why there is no refund.
func (s *Store) tellDeclined(ctx context.Context, tx *sqldb.Tx, r Request, at time.Time) error {
	l, err := s.letter(ctx, tx, r, at)
	if err != nil {
		return err
	}
	s.buyer(tx, l, mail.RefundRequest, "declined", mail.Content{
		Title:   "Your refund request for " + l.application + " was declined",
		Opening: []string{"The answer to your request:", r.Answer},
		Facts:   l.facts(mail.Fact{Name: "Declined", Value: day(at)}),
		Closing: []string{"Nothing about your license changes."},
		Links:   s.contact(),
	})
	return nil
}

func (s *Store) contact() []mail.Link {
	if s.Mail == nil {
		return nil
	}
	return s.Mail.Contact(s.Marketplace)
}

// tellFailed tells operators that a refund failed, so that they decide again.
func (s *Store) tellFailed(ctx context.Context, tx *sqldb.Tx, r Request, at time.Time) error {
	l, err := s.letter(ctx, tx, r, at)
	if err != nil {
		return err
	}
	return s.operators(ctx, tx, l, "failed", mail.Content{
		Title:   fmt.Sprintf("A refund failed: %s, %s", l.application, l.Total()),
		Opening: []string{fmt.Sprintf("The request is in the queue again. The reason: %s.", r.Failure)},
	})
}
