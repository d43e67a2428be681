package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"claviger/internal/job"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Every is the Sender's default poll interval.
const Every = 15 * time.Second

// Sender is the job that sends the emails of the outbox. It is meant to run on one node at a time,
// but may run on several: an email is leased to one of them while it is being sent, and a failed
// node's leases end. An email is sent twice only if a node dies between a server's answer and its
// own record of it; both have the same message id.
type Sender struct {
	DB        *sqldb.DB
	Now       func() time.Time
	Sealer    *secret.Sealer // opens texts of emails
	Transport Transport      // nil: Nowhere
	Log       *slog.Logger   // nil: slog.Default()
	Ran       job.Ran        // called after each poll; nil: not called

	Every   time.Duration   // poll interval without a wake-up; 0: Every
	Batch   int             // emails claimed at a time; 0: 20
	Timeout time.Duration   // of one email; 0: 1 min
	Lease   time.Duration   // duration of a claim; 0: 10 min
	Grace   time.Duration   // extra time for the current email when the service stops; 0: 5 s
	Retry   []time.Duration // waits after failed attempts; nil: Schedule

	wake     chan struct{}
	makeWake sync.Once
}

func (s *Sender) every() time.Duration   { return cmp.Or(s.Every, Every) }
func (s *Sender) batch() int             { return cmp.Or(s.Batch, 20) }
func (s *Sender) timeout() time.Duration { return cmp.Or(s.Timeout, time.Minute) }
func (s *Sender) grace() time.Duration   { return cmp.Or(s.Grace, 5*time.Second) }

// lease returns a duration that is long enough to try at least one claimed email.
func (s *Sender) lease() time.Duration {
	return max(cmp.Or(s.Lease, 10*time.Minute), 2*(s.timeout()+s.grace()))
}

func (s *Sender) log() *slog.Logger { return cmp.Or(s.Log, slog.Default()) }

func (s *Sender) retry() []time.Duration {
	if s.Retry == nil {
		return Schedule
	}
	return s.Retry
}

// Wake makes a running Sender poll now. It never waits, and may be called from any goroutine: it is
// Outbox.Wake.
func (s *Sender) Wake() {
	select {
	case s.rings() <- struct{}{}:
	default: // a poll is already pending
	}
}

func (s *Sender) rings() chan struct{} {
	s.makeWake.Do(func() { s.wake = make(chan struct{}, 1) })
	return s.wake
}

// Run sends due emails until ctx ends. A failed poll is logged, and the next one follows as usual.
func (s *Sender) Run(ctx context.Context) {
	ticker := time.NewTicker(s.every())
	defer ticker.Stop()
	sealed := false
	for {
		if !sealed {
			sealed = s.sealOld(ctx) == nil // a database error here fails the poll, too
		}
		began := time.Now()
		n, err := s.once(ctx)
		s.Ran.Run(ctx, began, err)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log().Error("sending mails failed; it is tried again later", "err", err)
		case n == s.batch():
			continue // more may be due
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.rings():
		}
	}
}

// once claims a batch of due emails, tries each, and returns the number claimed.
func (s *Sender) once(ctx context.Context) (int, error) {
	now := s.Now()
	until := now.Add(s.lease())
	taken, err := s.claim(ctx, now, until)
	if err != nil {
		return 0, err
	}
	for i, o := range taken {
		// If its lease ends on the way, another node could send the email, too.
		if ctx.Err() != nil || s.Now().Add(s.timeout()+s.grace()).After(until) {
			return len(taken), s.handBack(ctx, taken[i:], until)
		}
		if err := s.send(ctx, o, until); err != nil {
			return len(taken), errors.Join(err, s.handBack(ctx, taken[i+1:], until))
		}
	}
	return len(taken), nil
}

func scanOutgoing(r *sqldb.Row, o *Outgoing) error {
	err := r.Scan(
		&o.ID,
		&o.Cause,
		&o.Thread,
		&o.To,
		&o.Subject,
		&o.sealed,
		&o.Text,
		&o.HTML,
		&o.Transient,
		&o.Attempt,
		&o.At,
	)
	o.Attempt++
	return err
}

// claim leases due emails to this node. The outer condition repeats the inner one: PostgreSQL
// checks it again once it has the row, and by then another node may have leased, sent or delayed
// the email.
func (s *Sender) claim(ctx context.Context, now, until time.Time) ([]Outgoing, error) {
	var taken []Outgoing
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		taken, err = sqldb.All(ctx, tx, scanOutgoing, `UPDATE mails SET lease_until = $2
			WHERE id IN (SELECT id FROM mails
			WHERE `+isWaiting+` AND due_at <= $1 AND lease_until <= $1 ORDER BY due_at, id LIMIT $3)
				AND `+isWaiting+` AND due_at <= $1 AND lease_until <= $1
			RETURNING id, cause, thread, recipient, subject, sealed, body, html, transient, attempts, created_at`, now,
			until, s.batch())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim due mails: %w", err)
	}
	slices.SortFunc(taken, func(a, b Outgoing) int { return cmp.Compare(a.ID, b.ID) })
	return taken, nil
}

// send tries one email and records the result.
func (s *Sender) send(ctx context.Context, o Outgoing, until time.Time) error {
	transport := s.Transport
	if transport == nil {
		transport = Nowhere{}
	}
	limited, cancel := s.limit(ctx)
	defer cancel()
	began := time.Now()
	if o.sealed {
		if err := o.unseal(s.Sealer); err != nil {
			// A node with the right key, possibly this one later, may open it.
			return s.record(ctx, s.outcome(o, true, err, 0), until)
		}
	}
	again, err := transport.Send(limited, o)
	if err != nil && again && ctx.Err() != nil {
		// The service stops: this is not a failure of the email.
		return s.handBack(ctx, []Outgoing{o}, until)
	}
	return s.record(ctx, s.outcome(o, again, err, time.Since(began)), until)
}

// limit returns the context for one email. The end of ctx leaves it some more time: if it were cut
// off between the email and the server's answer, it would be sent twice.
func (s *Sender) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout())
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(s.grace(), cancel) })
	return limited, func() {
		stop()
		cancel()
	}
}

// outcome is the result of an attempt.
type outcome struct {
	Outgoing
	state  State
	due    time.Time
	sent   time.Time
	failed string
}

// outcome decides the result of an attempt, and logs it.
func (s *Sender) outcome(o Outgoing, again bool, err error, took time.Duration) outcome {
	now := s.Now()
	log := s.log().With("mail", o.ID, "cause", o.Cause, "attempt", o.Attempt, "took", took.Round(time.Millisecond))
	if err == nil {
		log.Info("mail sent")
		return outcome{Outgoing: o, state: Sent, due: now, sent: now}
	}
	failed := clip(clean(err.Error()))
	wait, left := Delay(s.retry(), o.ID, o.Attempt)
	if again && left {
		log.Warn("mail not sent; it is tried again", "err", failed, "next", now.Add(wait))
		return outcome{Outgoing: o, state: Waiting, due: now.Add(wait), failed: failed}
	}
	log.Error("mail given up", "err", failed)
	return outcome{Outgoing: o, state: GivenUp, due: now, failed: failed}
}

// clip limits the length of a stored error.
func clip(s string) string {
	const most = 500
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// record writes the result of an attempt, even if the service stops meanwhile: a sent email must
// not be sent again. An email that is no longer leased to us is left to its new node. At its end,
// an email's text is blanked, and a transient email deleted, also from the database's files.
func (s *Sender) record(ctx context.Context, r outcome, until time.Time) error {
	return s.write(ctx, "record a mail", func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE mails SET state = $3, attempts = $4, due_at = $5, sent_at = $6, error = $7, lease_until = 0
			WHERE id = $1 AND lease_until = $2`, r.ID, until, r.state, r.Attempt, r.due, r.sent, r.failed)
		if r.state != Waiting {
			tx.Queue(`DELETE FROM mails WHERE id = $1 AND state <> $2 AND transient = TRUE`, r.ID, Waiting)
			if r.Transient {
				tx.Purge()
			}
			tx.Queue(
				`UPDATE mails SET sealed = $2, body = '', html = '' WHERE id = $1 AND state <> $3 AND (state <> $4
					OR lasting = FALSE)`,
				r.ID,
				false,
				Waiting,
				GivenUp,
			)
		}
	})
}

// handBack ends the leases of emails that were not tried.
func (s *Sender) handBack(ctx context.Context, mails []Outgoing, until time.Time) error {
	if len(mails) == 0 {
		return nil
	}
	return s.write(ctx, "hand back mails", func(tx *sqldb.Tx) {
		for _, o := range mails {
			tx.Queue(`UPDATE mails SET lease_until = 0 WHERE id = $1 AND lease_until = $2`, o.ID, until)
		}
	})
}

// write writes even if ctx has ended. If the database is unavailable for a moment, it retries,
// because an email without a record is sent twice.
func (s *Sender) write(ctx context.Context, doing string, fn func(*sqldb.Tx)) error {
	const tries, pause, most = 5, 200 * time.Millisecond, 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	var err error
	for range tries {
		err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
			fn(tx)
			return nil
		})
		if err == nil || errors.Is(err, sqldb.ErrClosed) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
