// Package mail sends messages to people, each once: a room puts a message into
// the outbox in the transaction of its cause, and the Sender, which runs on
// every node, takes it from there, through an SMTP server or into a folder. It
// owns the table mails; whom to write to and what is its callers' business.
package mail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// Message is a mail to one person.
type Message struct {
	Cause   string // what it is about; the same cause is never mailed twice. Names nobody: it is logged
	Thread  string // mails with the same one are shown as one conversation, so it names a time too; "" stands alone
	To      string // an address as field.Email takes it
	Subject string
	Text    string
	HTML    string // the same in HTML; "" if there is none
}

// State is where a mail stands.
type State int

// The states of mails.
const (
	Waiting State = iota + 1 // due at its time
	Sent                     // a server, or the folder, has taken it
	GivenUp                  // it will not be sent; the record says why
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
	default:
		return fmt.Sprintf("State(%d)", int(s))
	}
}

// Put queues a message in the caller's transaction, due at once. A cause that
// was put in before is left as it is. Whoever wants it sent before the Sender's
// next poll lets the transaction call Sender.Wake after its commit.
func Put(tx *sqldb.Tx, m Message, at time.Time) {
	tx.Queue(`INSERT INTO mails (cause, thread, recipient, subject, body, html, state, attempts, due_at, lease_until, error, created_at, sent_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, 0, '', $8, 0) ON CONFLICT (cause) DO NOTHING`,
		clean(m.Cause), clean(m.Thread), clean(m.To), strings.Join(strings.Fields(clean(m.Subject)), " "),
		clean(m.Text), clean(m.HTML), Waiting, at)
}

// Erase removes every mail to an address, in the caller's transaction: those that
// wait are not sent any more, and what was sent is not kept.
func Erase(tx *sqldb.Tx, to string) {
	if to != "" {
		tx.Queue(`DELETE FROM mails WHERE recipient = $1`, clean(to))
	}
}

// clean makes text that both databases store.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// Record is a mail as it is kept, for whoever runs the service.
type Record struct {
	ID int64
	Message
	State     State
	Attempts  int       // that came to an end
	DueAt     time.Time // of the next attempt
	Error     string    // of the last attempt that failed
	CreatedAt time.Time
	SentAt    time.Time
}

func scanRecord(r *sqldb.Row, m *Record) error {
	return r.Scan(&m.ID, &m.Cause, &m.Thread, &m.To, &m.Subject, &m.Text, &m.HTML, &m.State, &m.Attempts, &m.DueAt, &m.Error, &m.CreatedAt, &m.SentAt)
}

// Recent returns the n newest mails, newest first.
func Recent(ctx context.Context, r sqldb.Reader, n int) ([]Record, error) {
	list, err := sqldb.All(ctx, r, scanRecord, `SELECT id, cause, thread, recipient, subject, body, html, state, attempts, due_at, error, created_at, sent_at
		FROM mails ORDER BY id DESC LIMIT $1`, n)
	if err != nil {
		return nil, fmt.Errorf("list mails: %w", err)
	}
	return list, nil
}

// Kept is how long a mail that was sent or given up is kept at least. A cause
// that comes again after that time is mailed again.
const Kept = 90 * 24 * time.Hour

// Keeper removes mails whose time is over: they name people.
type Keeper struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// Forget removes the mails that came to their end and are older than Kept, and
// returns how many there were.
func (k *Keeper) Forget(ctx context.Context) (int64, error) {
	n, err := k.DB.Sweep(ctx, k.Now().Add(-Kept), `DELETE FROM mails WHERE id IN (
		SELECT id FROM mails WHERE state <> 1 AND created_at < $1 ORDER BY id LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("forget mails: %w", err)
	}
	return n, nil
}
