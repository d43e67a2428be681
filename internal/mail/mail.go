// Package mail sends messages to people, each once: a package puts a message into the
// outbox in the transaction of its cause, and the Sender, which runs on one node at a
// time, sends it from there, through an SMTP server or into a folder. It owns the table
// mails; its callers decide to whom and what they write.
//
// What a mail says may let its reader sign in, so it is stored sealed while the
// mail waits, and blanked once the mail was sent or given up, unless it is lasting and
// given up. Who got it, when and about what stays on record until Kept is over.
package mail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"claviger/internal/sealing"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Message is a mail to one person.
type Message struct {
	Kind    Kind   // of those that can be switched off; "": always sent
	Cause   string // what it is about; the same cause is never mailed twice. Names nobody: it is logged
	Thread  string // mails with the same one are shown as one conversation, so it names a time too; "" stands alone
	To      string // an address as validate.Email takes it
	Subject string
	Text    string
	HTML    string // the same in HTML; "" if there is none

	// Lasting says that the mail has no link that signs somebody in: what it says stays
	// when it is given up, so that it can be sent again.
	Lasting bool

	// Transient says that no record of the mail stays once it was sent or given up, as of
	// one to somebody who was erased.
	Transient bool
}

// State is what became of a mail.
type State int

// The states of mails.
const (
	Waiting   State = iota + 1 // due at its time
	Sent                       // a server, or the folder, accepted it
	GivenUp                    // it will not be sent; the record says why
	Dismissed                  // likewise, and somebody has seen to it
)

// The conditions of the partial indexes of waiting mails and of those given up.
var (
	isWaiting = `state = ` + sqldb.Literal(Waiting)
	isGivenUp = `state = ` + sqldb.Literal(GivenUp)
)

// String is the state in a word.
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

// Outbox is where mails wait to be sent.
type Outbox struct {
	Sealer *secret.Sealer // seals what mails say
	Wake   func()         // called when a mail was put in: Sender.Wake; nil leaves it to the Sender's next poll
	Off    []Kind         // these are not put in
	Look   Look           // of mails that Render lays out
}

// Put queues a message in the caller's transaction, due at once. A cause that
// was put in before is left as it is.
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
			m.Cause, clean(m.Thread), clean(m.To), validate.EmailKey(clean(m.To)), strings.Join(strings.Fields(clean(m.Subject)), " "), true, text, html,
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

// The labels of sealed texts name the cause, so that one mail's text does not
// open as another's.
func textLabel(cause string) string { return "mail text " + cause }
func htmlLabel(cause string) string { return "mail html " + cause }

// Sealed are the columns of sealed texts.
func Sealed() []sealing.Column {
	column := func(name string, label func(string) string) sealing.Column {
		return sealing.Column{
			Name: "texts of mails", First: "0", Label: label,
			Page: `SELECT CAST(id AS text), cause, ` + name + ` FROM mails WHERE id > CAST(CAST($1 AS text) AS bigint) AND sealed = TRUE ORDER BY mails.id LIMIT $2`,
			Save: `UPDATE mails SET ` + name + ` = $3 WHERE id = CAST(CAST($1 AS text) AS bigint) AND ` + name + ` = $2`,
		}
	}
	return []sealing.Column{column("body", textLabel), column("html", htmlLabel)}
}

// seal is what the message says, as it is stored.
func (m *Message) seal(box *secret.Sealer) (text, html string) {
	return box.Seal(textLabel(m.Cause), m.Text), box.Seal(htmlLabel(m.Cause), m.HTML)
}

// open turns what is stored sealed into what the message says.
func (m *Message) open(box *secret.Sealer) error {
	text, err := box.Open(textLabel(m.Cause), m.Text)
	if err != nil {
		return fmt.Errorf("open the text of a mail: %w", err)
	}
	html, err := box.Open(htmlLabel(m.Cause), m.HTML)
	if err != nil {
		return fmt.Errorf("open the HTML of a mail: %w", err)
	}
	m.Text, m.HTML = text, html
	return nil
}

// Erase removes every mail to an address, in the caller's transaction: those that
// wait are not sent any more, and sent ones are removed.
func Erase(tx *sqldb.Tx, to string) {
	if to != "" {
		tx.Queue(`DELETE FROM mails WHERE recipient_key = $1`, validate.EmailKey(clean(to)))
	}
}

// clean makes text that both databases store.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// Record is a mail as it is stored, for whoever runs the service. What it says is
// there only while it waits.
type Record struct {
	ID int64
	Message
	State     State
	Attempts  int       // that came to an end
	DueAt     time.Time // of the next attempt
	Error     string    // of the last attempt that failed
	CreatedAt time.Time
	SentAt    time.Time

	sealed bool
}

func scanRecord(r *sqldb.Row, m *Record) error {
	return r.Scan(&m.ID, &m.Cause, &m.Thread, &m.To, &m.Subject, &m.sealed, &m.Text, &m.HTML, &m.State, &m.Attempts, &m.DueAt, &m.Error, &m.CreatedAt, &m.SentAt)
}

// Recent returns the n newest mails, newest first.
func (o *Outbox) Recent(ctx context.Context, r sqldb.Reader, n int) ([]Record, error) {
	list, err := sqldb.All(ctx, r, scanRecord, `SELECT id, cause, thread, recipient, subject, sealed, body, html, state, attempts, due_at, error, created_at, sent_at
		FROM mails ORDER BY id DESC LIMIT $1`, n)
	if err != nil {
		return nil, fmt.Errorf("list mails: %w", err)
	}
	for i := range list {
		if list[i].sealed {
			err = errors.Join(err, list[i].open(o.Sealer))
			list[i].sealed = false
		}
	}
	return list, err
}

// Kept is how long a mail that was sent or given up is kept at least. A cause
// that comes again after that time is mailed again.
const Kept = 90 * 24 * time.Hour

// Pruner removes old mails: they name people.
type Pruner struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// Prune removes the mails that were sent or given up longer ago than Kept, and returns
// how many there were.
func (k *Pruner) Prune(ctx context.Context) (int64, error) {
	n, err := k.DB.DeleteInBatches(ctx, k.Now().Add(-Kept), `DELETE FROM mails WHERE id IN (
		SELECT id FROM mails WHERE state <> `+sqldb.Literal(Waiting)+` AND created_at < $1 ORDER BY id LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("prune mails: %w", err)
	}
	return n, nil
}
