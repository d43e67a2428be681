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

// Outgoing is a mail on its way. What it is made of is the same on every
// attempt, its message id too, so that a receiver can tell a repeated one.
type Outgoing struct {
	ID int64
	Message
	At      time.Time // when it was put in: its date
	Attempt int       // counted from 1

	sealed bool // Text and HTML are as they are stored
}

// Transport sends mails. Send returns nil once the mail was accepted; otherwise it says
// whether another attempt may succeed. It ends when ctx does.
type Transport interface {
	Send(ctx context.Context, o Outgoing) (again bool, err error)
}

// Nowhere is the transport of a service that is not set up for mail. It refuses every
// mail, and the record of each says so.
type Nowhere struct{}

// ErrNotConfigured is the error of a mail where no mail server is set.
var ErrNotConfigured = errors.New("mail is not configured: set smtp-url and mail-from to have mails sent")

// Send refuses the mail for good.
func (Nowhere) Send(context.Context, Outgoing) (bool, error) { return false, ErrNotConfigured }

// Folder is a transport into a folder: one .eml file for each mail, as a server
// would have got it. For trying out, and for what picks mails up from there.
type Folder struct {
	Dir  string // made if it is not there
	From *mail.Address
}

// Send writes the mail's file. It appears whole or not at all, under a name of
// the mail's own, so that a repeated mail is not a second file.
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
