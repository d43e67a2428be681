package payment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/mail"
	"claviger/internal/money"
	"claviger/internal/sqldb"
)

// remindBefore is the time before the deadline at which operators are reminded of a dispute.
const remindBefore = 48 * time.Hour

// sendingTime is the time that sending evidence may take without a reminder.
const sendingTime = time.Hour

// DisputePath returns the path of the console's page about a dispute.
func DisputePath(id string) string { return "/console/disputes/" + id }

// tellDisputes queues the emails about disputes that opened.
func (w *work) tellDisputes(ctx context.Context) error {
	for _, d := range w.disputes {
		if d.Ended() || !d.toldAt.IsZero() {
			continue
		}
		d.toldAt = w.now
		if d.remindDue(w.now) {
			d.remindedAt = w.now // this email has the same deadline
		}
		if err := w.book.mailDispute(ctx, w.tx, d, w.Checkout, opened, w.now); err != nil {
			return err
		}
	}
	return nil
}

// remindDue reports whether the deadline is near enough for a reminder.
func (d *Dispute) remindDue(now time.Time) bool {
	return !d.DueBy.IsZero() && !now.Before(d.DueBy.Add(-remindBefore))
}

// remindDisputes emails operators about deadlines that are near, once per dispute.
func (b *Store) remindDisputes(ctx context.Context) (int, error) {
	now := b.Now()
	list, err := sqldb.All(
		ctx,
		b.DB,
		scanDispute,
		`SELECT `+disputeColumns+` FROM payment_disputes WHERE `+isUnanswered+`
			AND due_by > $1 AND due_by <= $2 AND reminded_at = 0 AND told_at <> 0
			AND NOT EXISTS (SELECT 1 FROM payment_evidence WHERE dispute_id = provider_id AND asked_at > $3
				AND state = `+sqldb.Literal(EvidenceAsked)+`)
			ORDER BY due_by LIMIT $4`,
		now,
		now.Add(remindBefore),
		now.Add(-sendingTime),
		jobBatch,
	)
	if err != nil {
		return 0, fmt.Errorf("find disputes to remind of: %w", err)
	}
	var errs []error
	for i := range list {
		errs = append(errs, b.remind(ctx, &list[i], now))
	}
	return len(list), errors.Join(errs...)
}

// remind queues the emails about a deadline, unless that was done meanwhile.
func (b *Store) remind(ctx context.Context, d *Dispute, now time.Time) error {
	c, err := b.byID(ctx, d.CheckoutID)
	if err != nil {
		return err
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(
			ctx,
			`UPDATE payment_disputes SET reminded_at = $2 WHERE provider_id = $1 AND reminded_at = 0 AND `+isUnanswered,
			d.ID,
			now,
		)
		if err != nil || n == 0 {
			return err
		}
		return b.mailDispute(ctx, tx, d, c, reminder, now)
	})
	if err != nil {
		return fmt.Errorf("remind of dispute %s: %w", d.ID, err)
	}
	return nil
}

// occasion is the reason for an email about a dispute.
type occasion string

// The occasions.
const (
	opened   occasion = "opened"
	reminder occasion = "deadline"
)

// mailDispute queues an email to each operator who may send evidence. It names no buyer.
func (b *Store) mailDispute(
	ctx context.Context, tx *sqldb.Tx, d *Dispute, c Checkout, why occasion, now time.Time,
) error {
	if b.Mail == nil {
		return nil
	}
	list, err := account.OperatorsWho(ctx, tx, account.Sell)
	if err != nil {
		return err
	}
	content := b.disputeContent(d, c, why)
	text, html := b.Mail.Render(content)
	kind := "dispute"
	if d.Inquiry() {
		kind = "inquiry" // the dispute that it may become has emails of its own
	}
	mails := make([]mail.Message, len(list))
	for i, u := range list {
		mails[i] = mail.Message{
			Cause:   fmt.Sprintf("%s %s of %s to user %d", why, kind, d.ID, u.ID),
			Thread:  fmt.Sprintf("dispute %s at %d", d.ID, d.CreatedAt.UnixMicro()),
			To:      u.Email,
			Subject: content.Title, Text: text, HTML: html, Lasting: true,
		}
	}
	b.Mail.PutAll(tx, now, mails...)
	return nil
}

func (b *Store) disputeContent(d *Dispute, c Checkout, why occasion) mail.Content {
	amount := money.Text(d.Amount, d.Currency)
	name := "Dispute"
	l := mail.Content{
		Opening: []string{
			"A buyer's bank asks for the money back. The license is on hold until the dispute ends.",
		},
		Closing: []string{"A dispute without an answer is lost, together with its fee."},
		Hello:   "Hello,",
		Facts: []mail.Fact{
			{Name: "Amount", Value: amount},
			{Name: "Paid for", Value: c.Item},
			{Name: "Reason", Value: cmp.Or(ReasonWords(d.Reason), "not given")},
		},
		Button: mail.Link{Name: "See the evidence and send it", URL: b.PublicURL + DisputePath(d.ID)},
		Foot: fmt.Sprintf(
			"You're receiving this because your role at %s includes payments.", cmp.Or(b.Marketplace, "Claviger"),
		),
	}
	if d.Inquiry() {
		name = "Inquiry"
		l.Opening = []string{"A buyer's bank asks about a payment. Nothing is on hold, but it may become a dispute."}
		l.Closing = []string{"A good answer often prevents the dispute."}
	}
	switch {
	case d.Submitted(): // before the service heard of it
		l.Title = name + " about " + amount
		l.Closing = []string{"Stripe already has evidence. The bank decides next."}
		l.Button.Name = "See the " + strings.ToLower(name)
	case d.DueBy.IsZero():
		l.Title = name + " about " + amount
	case why == reminder:
		l.Title = fmt.Sprintf("%s about %s: no answer yet, due %s", name, amount, moment(d.DueBy))
		l.Opening = append([]string{"The deadline is near, and no evidence was sent."}, l.Opening...)
	default:
		l.Title = fmt.Sprintf("%s about %s: answer by %s", name, amount, moment(d.DueBy))
	}
	if !d.DueBy.IsZero() {
		l.Facts = append(l.Facts, mail.Fact{Name: "Answer by", Value: moment(d.DueBy)})
	}
	l.Facts = append(l.Facts, mail.Fact{Name: "At Stripe", Value: d.ID})
	return l
}

// ReasonWords formats the provider's word for the reason of a dispute, such as
// product_not_received.
func ReasonWords(reason string) string { return strings.ReplaceAll(reason, "_", " ") }
