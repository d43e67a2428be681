package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Failed is a mail whose last attempt failed, without what it says.
type Failed struct {
	ID        int64
	Cause     string
	To        string
	Subject   string
	State     State
	Attempts  int
	DueAt     time.Time // of one that waits: when it is tried next
	Error     string
	CreatedAt time.Time
	Again     bool // it can be sent again
}

var failedColumns = `id, cause, recipient, subject, state, attempts, due_at, error, created_at, ` + isWaiting + ` OR ` + isGivenUp + ` AND lasting = TRUE`

func scanFailed(r *sqldb.Row, f *Failed) error {
	return r.Scan(&f.ID, &f.Cause, &f.To, &f.Subject, &f.State, &f.Attempts, &f.DueAt, &f.Error, &f.CreatedAt, &f.Again)
}

var (
	givenUp      = `SELECT ` + failedColumns + ` FROM mails WHERE ` + isGivenUp + ` AND id < $1 ORDER BY id DESC LIMIT $2`
	countGivenUp = `SELECT count(*) FROM (SELECT 1 FROM mails WHERE ` + isGivenUp + ` LIMIT $1) AS given_up`
)

// ListGivenUp returns the mails that were given up and that nobody has seen to, newest
// first, before an id; 0 stands for all.
func ListGivenUp(ctx context.Context, r sqldb.Reader, before int64, limit int) ([]Failed, error) {
	list, err := sqldb.All(ctx, r, scanFailed, givenUp, cmp.Or(before, math.MaxInt64), limit)
	if err != nil {
		return nil, fmt.Errorf("list mails that were given up: %w", err)
	}
	return list, nil
}

// ListRetried returns the mails that wait for another attempt, those that are due soonest
// first.
func ListRetried(ctx context.Context, r sqldb.Reader, limit int) ([]Failed, error) {
	list, err := sqldb.All(ctx, r, scanFailed, `SELECT `+failedColumns+` FROM mails WHERE `+isWaiting+` AND attempts > 0 ORDER BY due_at, id LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list mails that are tried again: %w", err)
	}
	return list, nil
}

// CountGivenUp counts the mails that were given up, up to most.
func CountGivenUp(ctx context.Context, r sqldb.Reader, most int) (int64, error) {
	n, err := sqldb.One(ctx, r, sqldb.Value[int64], countGivenUp, most)
	if err != nil {
		return 0, fmt.Errorf("count mails that were given up: %w", err)
	}
	return n, nil
}

// OldestDue is since when the mail that is due for longest is due; zero: none is.
func OldestDue(ctx context.Context, r sqldb.Reader, now time.Time) (time.Time, error) {
	at, err := sqldb.One(ctx, r, sqldb.Value[time.Time], `SELECT coalesce(min(due_at), 0) FROM mails WHERE `+isWaiting+` AND due_at <= $1`, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the age of the oldest mail: %w", err)
	}
	return at, nil
}

// Get returns a mail whose last attempt failed.
func Get(ctx context.Context, r sqldb.Reader, id int64) (Failed, error) { return get(ctx, r, id, "") }

func get(ctx context.Context, r sqldb.Reader, id int64, lock string) (Failed, error) {
	f, err := sqldb.One(ctx, r, scanFailed, `SELECT `+failedColumns+` FROM mails WHERE id = $1 AND error <> '' `+lock, id)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return f, fault.New(fault.Missing, codeUnknownMail, "There is no mail %d that failed; the list of mails has their ids.", id)
	case err != nil:
		return f, fmt.Errorf("read mail %d: %w", id, err)
	}
	return f, nil
}

// SendAgain makes a mail that failed due now, with all its attempts. One that was given
// up can be sent again if what it says is still there.
func (o *Outbox) SendAgain(ctx context.Context, db *sqldb.DB, by audit.Actor, id int64, now time.Time) error {
	return o.change(ctx, db, by, id, now, "mail.send", func(tx *sqldb.Tx, f Failed) error {
		if !f.Again {
			return fault.New(fault.Conflict, codeMailGone,
				"What mail %d said is not stored any more: it had a link that lets its reader sign in, or it was sent. Have a new one made instead.", id)
		}
		tx.Queue(`UPDATE mails SET state = $2, attempts = 0, due_at = $3 WHERE id = $1`, id, Waiting, now)
		if o.Wake != nil {
			tx.AfterCommit(o.Wake)
		}
		return nil
	})
}

// Dismiss says that somebody has seen to a mail that was given up.
func (o *Outbox) Dismiss(ctx context.Context, db *sqldb.DB, by audit.Actor, id int64, now time.Time) error {
	return o.change(ctx, db, by, id, now, "mail.dismiss", func(tx *sqldb.Tx, f Failed) error {
		if f.State != GivenUp {
			return fault.New(fault.Conflict, codeMailGone, "Mail %d is %s; only one that was given up can be dismissed.", id, f.State)
		}
		tx.Queue(`UPDATE mails SET state = $2, sealed = $3, body = '', html = '' WHERE id = $1`, id, Dismissed, false)
		return nil
	})
}

// change does an act on a mail that failed, under the lock of its row.
func (o *Outbox) change(ctx context.Context, db *sqldb.DB, by audit.Actor, id int64, now time.Time, action string, act func(*sqldb.Tx, Failed) error) error {
	return db.Write(ctx, func(tx *sqldb.Tx) error {
		f, err := get(ctx, tx, id, tx.ForUpdate())
		if err != nil {
			return err
		}
		if err := act(tx, f); err != nil {
			return err
		}
		audit.Record(tx, now, by, action, "mail:"+strconv.FormatInt(id, 10), nil, audit.Facts{"cause": f.Cause})
		return nil
	})
}
