// Package mail sends messages to people, each once. A package puts a message into the outbox in the
// transaction of its cause. The Sender, which runs on one node at a time, sends it from there,
// through an SMTP server or into a folder. It owns the table mails; its callers choose the
// recipients and texts.
//
// An email may contain a sign-in link, so its text is stored sealed while it waits. It is blanked
// once the email was sent or given up; only a lasting email keeps its text when it is given up. The
// recipient, time and subject stay on record for Kept.
package mail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/prune"
	"claviger/internal/sealing"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Message is an email to one person.
type Message struct {
	Kind    Kind   // if it can be switched off; "": always sent
	Cause   string // identifies its reason; the same cause is never emailed twice. It is logged, so it names no person
	Thread  string // emails with the same thread form one conversation, so it includes a time; "": none
	To      string // an address that validate.Email accepts
	Subject string
	Text    string
	HTML    string // the same in HTML; or ""

	// Lasting means that the email contains no sign-in link: its text is kept when it is given up,
	// so that it can be resent.
	Lasting bool

	// Transient means that no record of the email is kept once it was sent or given up, for example
	// one to an erased person.
	Transient bool
}

// State is the state of an email.
type State int

// The states of emails.
const (
	Waiting   State = iota + 1 // to be sent when due
	Sent                       // a server, or the folder, accepted it
	GivenUp                    // will not be sent; the record has the reason
	Dismissed                  // given up, and handled by a person
)

// The conditions of the partial indexes of waiting and given-up emails.
var (
	isWaiting = `state = ` + sqldb.Literal(Waiting)
	isGivenUp = `state = ` + sqldb.Literal(GivenUp)
)

// String returns the state as a word.
func (s State) String() string {
	switch s {
	case Waiting:
		return "waiting"
	case Sent:
		return "sent"
	case GivenUp:
		return "given up"
	case Dismissed:
		return "dismissed"
	default:
		return fmt.Sprintf("State(%d)", int(s))
	}
}

// Outbox queues emails.
type Outbox struct {
	Sealer *secret.Sealer // seals texts of emails
	Wake   cluster.Wake   // wakes the Sender after an email was queued; nil leaves it to its next poll
	Off    []Kind         // kinds that are not queued
	Look   Look           // branding for Render
}

// Put queues a message in the caller's transaction, due immediately. It ignores a cause that was
// queued before.
func (o *Outbox) Put(tx *sqldb.Tx, m Message, at time.Time) {
	o.PutAll(tx, at, m)
}

// PutAll is Put for several messages, in one statement.
func (o *Outbox) PutAll(tx *sqldb.Tx, at time.Time, list ...Message) {
	var rows [][]any
	var never time.Time
	for _, m := range list {
		if !o.Sends(m.Kind) {
			continue
		}
		m.Cause, m.Text, m.HTML = clean(m.Cause), clean(m.Text), clean(m.HTML)
		text, html := m.seal(o.Sealer)
		rows = append(rows, []any{
			m.Cause, clean(m.Thread), clean(m.To), validate.EmailKey(clean(m.To)),
			strings.Join(strings.Fields(clean(m.Subject)), " "), true, text, html,
			int(Waiting), 0, at, never, "", at, never, m.Lasting, m.Transient,
		})
	}
	sqldb.InsertNew(tx, sqldb.Value[int64], "mails", []string{
		"cause", "thread", "recipient", "recipient_key", "subject", "sealed", "body", "html",
		"state", "attempts", "due_at", "lease_until", "error", "created_at", "sent_at", "lasting", "transient",
	}, rows, "id")
	if len(rows) > 0 && o.Wake != nil {
		tx.AfterCommit(o.Wake)
	}
}

// The labels of sealed texts contain the cause, so that one email's text cannot be opened as
// another's.
func textLabel(cause string) string { return "mail text " + cause }
func htmlLabel(cause string) string { return "mail html " + cause }

// Sealed returns the columns of sealed texts.
func Sealed() []sealing.Column {
	column := func(name string, label func(string) string) sealing.Column {
		return sealing.Column{
			Name: "texts of mails", First: "0", Label: label,
			Page: `SELECT CAST(id AS text), cause, ` + name + ` FROM mails WHERE id > CAST(CAST($1 AS text) AS bigint)
				AND sealed = TRUE ORDER BY mails.id LIMIT $2`,
			Save: `UPDATE mails SET ` + name + ` = $3 WHERE id = CAST(CAST($1 AS text) AS bigint) AND ` + name +
				` = $2`,
		}
	}
	return []sealing.Column{column("body", textLabel), column("html", htmlLabel)}
}

// seal returns the message's texts as stored.
func (m *Message) seal(box *secret.Sealer) (text, html string) {
	return box.Seal(textLabel(m.Cause), m.Text), box.Seal(htmlLabel(m.Cause), m.HTML)
}

// unseal replaces the sealed texts with the plain ones.
func (m *Message) unseal(box *secret.Sealer) error {
	text, err := box.Open(textLabel(m.Cause), m.Text)
	if err != nil {
		return fmt.Errorf("open the text of a mail: %w", err)
	}
	html, err := box.Open(htmlLabel(m.Cause), m.HTML)
	if err != nil {
		return fmt.Errorf("open the HTML of a mail: %w", err)
	}
	m.Text = text
	m.HTML = html
	return nil
}

// Erase deletes every email to an address, in the caller's transaction: waiting ones are not sent,
// and sent ones are deleted.
func Erase(tx *sqldb.Tx, to string) {
	if to != "" {
		tx.Queue(`DELETE FROM mails WHERE recipient_key = $1`, validate.EmailKey(clean(to)))
	}
}

// EraseCaused deletes the emails to an address that have a cause with this prefix.
func EraseCaused(tx *sqldb.Tx, to, prefix string) {
	tx.Queue(`DELETE FROM mails WHERE recipient_key = $1 AND substr(cause, 1, length($2)) = $2`,
		validate.EmailKey(clean(to)), prefix)
}

// clean makes text that both databases can store.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// Record is a stored email, for operators. It has texts only while it waits.
type Record struct {
	ID int64
	Message
	State     State
	Attempts  int       // finished attempts
	DueAt     time.Time // next attempt
	Error     string    // of the last failed attempt
	CreatedAt time.Time
	SentAt    time.Time

	sealed bool
}

func scanRecord(r *sqldb.Row, m *Record) error {
	return r.Scan(
		&m.ID,
		&m.Cause,
		&m.Thread,
		&m.To,
		&m.Subject,
		&m.sealed,
		&m.Text,
		&m.HTML,
		&m.State,
		&m.Attempts,
		&m.DueAt,
		&m.Error,
		&m.CreatedAt,
		&m.SentAt,
	)
}

// Recent returns the n newest emails, newest first.
func (o *Outbox) Recent(ctx context.Context, r sqldb.Reader, n int) ([]Record, error) {
	list, err := sqldb.All(
		ctx,
		r,
		scanRecord,
		`SELECT id, cause, thread, recipient, subject, sealed, body, html, state, attempts, due_at, error, created_at,
			sent_at
		FROM mails ORDER BY id DESC LIMIT $1`,
		n,
	)
	if err != nil {
		return nil, fmt.Errorf("list mails: %w", err)
	}
	for i := range list {
		if list[i].sealed {
			err = errors.Join(err, list[i].unseal(o.Sealer))
			list[i].sealed = false
		}
	}
	return list, err
}

// Kept is the minimum retention of a sent or given-up email. After that, the same cause is emailed
// again.
const Kept = 90 * 24 * time.Hour

// Expiring lists the emails that expire, because they name people: those that were sent or given up.
func Expiring() []prune.Rule {
	return []prune.Rule{
		{Table: "mails", At: "created_at", Keep: Kept, If: `state <> ` + sqldb.Literal(Waiting), ByID: true},
	}
}
