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

// Failed is an email with a failed last attempt, without its text.
type Failed struct {
	ID        int64
	Cause     string
	To        string
	Subject   string
	State     State
	Attempts  int
	DueAt     time.Time // next attempt, if it waits
	Error     string
	CreatedAt time.Time
	Again     bool // it can be resent
}

var failedColumns = `id, cause, recipient, subject, state, attempts, due_at, error, created_at, ` + isWaiting +
	` OR ` + isGivenUp + ` AND lasting = TRUE`

func scanFailed(r *sqldb.Row, f *Failed) error {
	return r.Scan(&f.ID, &f.Cause, &f.To, &f.Subject, &f.State, &f.Attempts, &f.DueAt, &f.Error, &f.CreatedAt, &f.Again)
}

var givenUp = `SELECT ` + failedColumns + ` FROM mails WHERE ` + isGivenUp + ` AND id < $1 ORDER BY id DESC LIMIT $2`

// ListGivenUp returns emails that were given up and not dismissed, newest first, before an id; 0
// means all.
func ListGivenUp(ctx context.Context, r sqldb.Reader, before int64, limit int) ([]Failed, error) {
	list, err := sqldb.All(ctx, r, scanFailed, givenUp, cmp.Or(before, math.MaxInt64), limit)
	if err != nil {
		return nil, fmt.Errorf("list mails that were given up: %w", err)
	}
	return list, nil
}

// ListRetried returns emails that wait for another attempt, the soonest first.
func ListRetried(ctx context.Context, r sqldb.Reader, limit int) ([]Failed, error) {
	list, err := sqldb.All(
		ctx,
		r,
		scanFailed,
		`SELECT `+failedColumns+` FROM mails WHERE `+isWaiting+` AND attempts > 0 ORDER BY due_at, id LIMIT $1`,
		limit,
	)
	if err != nil {
		return nil, fmt.Errorf("list mails that are tried again: %w", err)
	}
	return list, nil
}

// OldestDue returns the due time of the email that has been due longest; zero: none is due.
func OldestDue(ctx context.Context, r sqldb.Reader, now time.Time) (time.Time, error) {
	at, err := sqldb.One(
		ctx,
		r,
		sqldb.Value[time.Time],
		`SELECT coalesce(min(due_at), 0) FROM mails WHERE `+isWaiting+` AND due_at <= $1`,
		now,
	)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the age of the oldest mail: %w", err)
	}
	return at, nil
}

// Get returns an email with a failed last attempt.
func Get(ctx context.Context, r sqldb.Reader, id int64) (Failed, error) { return get(ctx, r, id, "") }

func get(ctx context.Context, r sqldb.Reader, id int64, lock string) (Failed, error) {
	f, err := sqldb.One(
		ctx,
		r,
		scanFailed,
		`SELECT `+failedColumns+` FROM mails WHERE id = $1 AND error <> '' `+lock,
		id,
	)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return f, fault.New(
			fault.Missing,
			codeUnknownMail,
			"There is no mail %d that failed; the list of mails has their ids.",
			id,
		)
	case err != nil:
		return f, fmt.Errorf("read mail %d: %w", id, err)
	}
	return f, nil
}

// SendAgain makes a failed email due now, with all its attempts. A given-up email can be resent if
// its text is still stored.
func (o *Outbox) SendAgain(ctx context.Context, db *sqldb.DB, by audit.Actor, id int64, now time.Time) error {
	return o.change(ctx, db, by, id, now, "mail.send", func(tx *sqldb.Tx, f Failed) error {
		if !f.Again {
			return fault.New(
				fault.Conflict,
				codeMailGone,
				"What mail %d said is not stored any more: it had a link that lets its reader sign in, or it was "+
					"sent. Have a new one made instead.",
				id,
			)
		}
		tx.Queue(`UPDATE mails SET state = $2, attempts = 0, due_at = $3 WHERE id = $1`, id, Waiting, now)
		if o.Wake != nil {
			tx.AfterCommit(o.Wake)
		}
		return nil
	})
}

// Dismiss marks a given-up email as handled.
func (o *Outbox) Dismiss(ctx context.Context, db *sqldb.DB, by audit.Actor, id int64, now time.Time) error {
	return o.change(ctx, db, by, id, now, "mail.dismiss", func(tx *sqldb.Tx, f Failed) error {
		if f.State != GivenUp {
			return fault.New(
				fault.Conflict,
				codeMailGone,
				"Mail %d is %s; only one that was given up can be dismissed.",
				id,
				f.State,
			)
		}
		tx.Queue(`UPDATE mails SET state = $2, sealed = $3, body = '', html = '' WHERE id = $1`, id, Dismissed, false)
		return nil
	})
}

// change performs an act on a failed email, under the lock of its row.
func (o *Outbox) change(
	ctx context.Context,
	db *sqldb.DB,
	by audit.Actor,
	id int64,
	now time.Time,
	action string,
	act func(*sqldb.Tx, Failed) error,
) error {
	return db.Write(ctx, func(tx *sqldb.Tx) error {
		f, err := get(ctx, tx, id, tx.ForUpdate)
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
