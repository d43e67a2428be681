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

// maxRequests limits the number of waiting requests for a link. Only an attack reaches it: a
// request waits for milliseconds.
const maxRequests = 10_000

// request is a visitor's request for an email to an address, with or without an account.
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

// SendLink emails a sign-in link to the user with the address, if there is one. next is the page it
// leads to.
func (b *Store) SendLink(ctx context.Context, email, next string) error {
	return b.request(ctx, email, ForSignIn, next)
}

// SendReset emails a link to choose a password to the user with the address, if there is one. next
// is the page it finally leads to.
func (b *Store) SendReset(ctx context.Context, email, next string) error {
	return b.request(ctx, email, ForReset, next)
}

// request only stores the request. The statement is the same for known and unknown addresses, so
// response times reveal nothing. LinkMailer looks up the user afterwards.
func (b *Store) request(ctx context.Context, email string, p Purpose, next string) error {
	email, err := validate.Email("email", email)
	if err != nil {
		return err
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `INSERT INTO link_requests (email_key, purpose, next, created_at)
			SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT) WHERE (SELECT count(*)
			FROM link_requests) < $5`,
			validate.EmailKey(email), string(p), LocalPath(next), b.Now(), maxRequests)
		if err == nil && n == 0 {
			f := fault.New(
				fault.Throttled,
				codeTooManyRequests,
				"Very many mails are being asked for right now. Wait a minute and ask again.",
			)
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

// LinkMailer is the job that emails the requested links. It should run on one node at a time, but
// may run on several: each request is answered by one of them. The next round retries failed
// requests. A request older than a link's life is dropped: its sender was told to ask again.
type LinkMailer struct {
	Store *Store
	Log   *slog.Logger  // nil: slog.Default()
	Every time.Duration // between rounds unless woken; 0: LinksEvery
	Ran   job.Ran       // called after each round; nil: not called

	make sync.Once
	wake chan struct{}
}

// Wake makes a running LinkMailer look for requests now. It never waits.
func (m *LinkMailer) Wake() {
	select {
	case m.woken() <- struct{}{}:
	default: // already woken
	}
}

func (m *LinkMailer) woken() chan struct{} {
	m.make.Do(func() { m.wake = make(chan struct{}, 1) })
	return m.wake
}

// Run answers requests until ctx ends. It logs a failed round and continues with the next one.
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

// Round answers waiting requests, oldest first, and reports whether more may wait. A failed one
// does not delay the others.
func (m *LinkMailer) Round(ctx context.Context) (more bool, err error) {
	const most = 100
	list, err := sqldb.All(ctx, m.Store.DB, scanRequest,
		`SELECT id, email_key, purpose, next, created_at FROM link_requests ORDER BY id LIMIT $1`, most)
	if err != nil {
		return false, fmt.Errorf("read which links were asked for: %w", err)
	}
	var errs []error
	for _, q := range list {
		if err := m.Store.answer(ctx, q); err != nil {
			errs = append(errs, fmt.Errorf("mail a link: %w", err))
		}
	}
	return len(list) == most, errors.Join(errs...)
}
