package mail

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"time"
)

// Outgoing is an email being sent. Its content and message id are the same on every attempt, so
// that a receiver can recognize a repetition.
type Outgoing struct {
	ID int64
	Message
	At      time.Time // when it was queued: its date
	Attempt int       // counted from 1

	sealed bool // Text and HTML are as stored
}

// Transport sends emails. Send returns nil once the email was accepted; otherwise again reports
// whether another attempt may succeed. It ends when ctx does.
type Transport interface {
	Send(ctx context.Context, o Outgoing) (again bool, err error)
}

// Nowhere is the transport of a service without email settings. It refuses every email, and the
// record of each has this error.
type Nowhere struct{}

// ErrNotConfigured is the error of an email without a mail server.
var ErrNotConfigured = errors.New("mail is not configured: set smtp-url and mail-from to have mails sent")

// Send refuses the email permanently.
func (Nowhere) Send(context.Context, Outgoing) (bool, error) { return false, ErrNotConfigured }

// Folder is a transport into a folder: one .eml file per email, as a server would receive it. It is
// for trials, and for programs that pick emails up from there.
type Folder struct {
	Dir  string // created if missing
	From *mail.Address
}

// Send writes the email's file. It appears complete or not at all, under the email's own name, so
// that a repetition makes no second file.
func (f Folder) Send(_ context.Context, o Outgoing) (again bool, err error) {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return true, fmt.Errorf("make the folder for mails: %w", err)
	}
	file, err := os.CreateTemp(f.Dir, ".new-*")
	if err != nil {
		return true, fmt.Errorf("write a mail into the folder: %w", err)
	}
	_, err = compose(o, f.From).WriteTo(file)
	if err = errors.Join(err, file.Close()); err == nil {
		name := o.At.UTC().Format("20060102T150405Z") + "-" + o.name() + ".eml"
		err = os.Rename(file.Name(), filepath.Join(f.Dir, name))
	}
	if err != nil {
		return true, errors.Join(fmt.Errorf("write a mail into the folder: %w", err), os.Remove(file.Name()))
	}
	return false, nil
}
