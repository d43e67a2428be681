package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"claviger/internal/fault"
	"claviger/internal/job"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// maxRequests bounds how many requests for a link wait to be looked at. Nobody
// but an attacker fills that: a request waits for milliseconds.
const maxRequests = 10_000

// request is a visitor's request for a mail to an address, which may be nobody's.
type request struct {
	id      int64
	key     string // of the address
	purpose Purpose
	next    string
	at      time.Time
}

func scanRequest(r *sqldb.Row, q *request) error {
	return r.Scan(&q.id, &q.key, &q.purpose, &q.next, &q.at)
}

// SendLink has a link mailed that signs in whoever has the address, if anybody
// has. next is the page it leads to.
func (b *Book) SendLink(ctx context.Context, email, next string) error {
	return b.request(ctx, email, ForSignIn, next)
}

// SendReset has a link mailed that lets whoever has the address choose a
// password, if anybody has. next is the page it leads to in the end.
func (b *Book) SendReset(ctx context.Context, email, next string) error {
	return b.request(ctx, email, ForReset, next)
}

// request stores that a mail was asked for and no more. It is the same statement
// whoever has the address: whoever measures how long the answer takes learns
// nothing. Whose it is, LinkMailer looks up afterwards.
func (b *Book) request(ctx context.Context, email string, p Purpose, next string) error {
	email, err := validate.Email("email", email)
	if err != nil {
		return err
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `INSERT INTO link_requests (email_key, purpose, next, created_at)
			SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT) WHERE (SELECT count(*) FROM link_requests) < $5`,
			validate.EmailKey(email), string(p), LocalPath(next), b.Now(), maxRequests)
		if err == nil && n == 0 {
			f := fault.New(fault.Throttled, codeTooManyRequests, "Very many mails are being asked for right now. Wait a minute and ask again.")
			f.After = time.Minute
			return f
		}
		if b.Asked != nil {
			tx.AfterCommit(b.Asked)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ask for a link: %w", err)
	}
	return nil
}

// LinksEvery is how often LinkMailer looks for requests unless it is woken.
const LinksEvery = 15 * time.Second

// LinkMailer is the job of mailing the links that visitors asked for. It is
// meant to run on one node at a time, and may run on several: each request is answered
// by one of them. One that fails is tried again with the next round. A request that is older than a link's life is dropped:
// whoever sent it was told to ask again.
type LinkMailer struct {
	Book  *Book
	Log   *slog.Logger  // nil: slog.Default()
	Every time.Duration // between rounds when nobody wakes it; 0: LinksEvery
	Ran   job.Ran       // called after each round; nil: not called

	make sync.Once
	bell chan struct{}
}

// Wake makes a running LinkMailer look for requests now. It never waits.
func (m *LinkMailer) Wake() {
	select {
	case m.woken() <- struct{}{}:
	default: // it is about to look
	}
}

func (m *LinkMailer) woken() chan struct{} {
	m.make.Do(func() { m.bell = make(chan struct{}, 1) })
	return m.bell
}

// Run mails what was asked for until ctx ends. A round that fails is logged, and
// the next one comes all the same.
func (m *LinkMailer) Run(ctx context.Context) {
	ticker := time.NewTicker(cmp.Or(m.Every, LinksEvery))
	defer ticker.Stop()
	for {
		began := time.Now()
		more, err := m.Round(ctx)
		m.Ran.Run(ctx, began, err)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			cmp.Or(m.Log, slog.Default()).Error("mailing sign-in links failed; it is tried again later", "err", err)
		case more:
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-m.woken():
		}
	}
}

// Round answers the requests that wait, oldest first, and reports whether more may
// wait. One that fails does not hold up the others.
func (m *LinkMailer) Round(ctx context.Context) (more bool, err error) {
	const most = 100
	list, err := sqldb.All(ctx, m.Book.DB, scanRequest,
		`SELECT id, email_key, purpose, next, created_at FROM link_requests ORDER BY id LIMIT $1`, most)
	if err != nil {
		return false, fmt.Errorf("read which links were asked for: %w", err)
	}
	var errs []error
	for _, q := range list {
		if err := m.Book.answer(ctx, q); err != nil {
			errs = append(errs, fmt.Errorf("mail a link: %w", err))
		}
	}
	return len(list) == most, errors.Join(errs...)
}
