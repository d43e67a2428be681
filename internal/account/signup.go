package account

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Requests for an email reveal nothing about the address. The answer, and the time it takes, is the
// same for known and unknown addresses. For a sign-up the time is nearly the same.

// A person gets at most maxMails unrequested emails of a kind while their links work, or per hour
// if they work longer. Used links do not count. People who need a link still get one: a link in an
// earlier email works, or another is sent.
const (
	maxMails  = 3
	mailsSpan = time.Hour
)

// visitor is the actor of requests from unknown people.
var visitor = audit.System("visitor")

// SignUp makes an account for an address without one, and emails a link to confirm it. The password
// counts once the link was used; see UseLink. A user who already has a password gets an email that
// says so, with a sign-in link, and nothing changes. browser is a secret to store in the session of
// the browser that signs up. next is the final page.
func (b *Store) SignUp(ctx context.Context, p Person, typed, next string, c Client) (browser string, err error) {
	if p, err = (Person{Email: p.Email, Name: p.Name}).checked(); err != nil {
		return "", err
	}
	// Hash before the address is looked up, and in either case.
	hash, err := b.newPassword(ctx, c, p.Email, typed)
	if err != nil {
		return "", err
	}
	browser = secret.Make("")
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		u, created, _, err := find(ctx, tx, Person{Email: p.Email}, now)
		if err != nil {
			return err
		}
		who, err := lockLogin(ctx, tx, u.ID)
		if err != nil {
			return err
		}
		if created {
			who.PendingSince = now
		}
		l := link{purpose: ForSignIn, next: LocalPath(next)}
		w := knownWords
		if who.password == "" {
			l.purpose, l.name, l.password, l.browserHash = ForSignUp, p.Name, hash, secret.Hash(browser)
			w = confirmWords
		}
		mailed, err := b.post(ctx, tx, who.User, l, w, now)
		if mailed {
			audit.Record(tx, now, visitor, "user.sign_up", subject(u.ID), nil, audit.Facts{"new": created})
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("sign up: %w", err)
	}
	return browser, nil
}

// answer emails the requested link to the user with the address. It locks the user's row before the
// request's, like Erase.
func (b *Store) answer(ctx context.Context, q request) error {
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		f := QueueFinder(tx, Person{Email: q.key})
		if err := f.know(ctx); err != nil {
			return err
		}
		who := f.byEmail[q.key]
		n, err := tx.Exec(ctx, `DELETE FROM link_requests WHERE id = $1`, q.id)
		if err != nil || n == 0 || now.Sub(q.at) > LinkLife {
			return err // n is 0 if another node was faster
		}
		if who == nil {
			guest, err := newestGuest(ctx, tx, q.key)
			if err != nil || guest == 0 {
				return err
			}
			return b.mailGuestAgain(ctx, tx, guest)
		}
		u := *who
		w := signInWords
		if q.purpose == ForReset {
			w = resetWords
		}
		mailed, err := b.post(ctx, tx, u, link{purpose: q.purpose, next: q.next}, w, now)
		if mailed {
			audit.Record(
				tx,
				now,
				visitor,
				"user.link",
				subject(u.ID),
				nil,
				audit.Facts{"by": "mail", "purpose": q.purpose},
			)
		}
		return err
	})
}

// post stores a link and emails it to a user locked by the transaction, unless the user had too
// many.
func (b *Store) post(
	ctx context.Context,
	tx *sqldb.Tx,
	u User,
	l link,
	w words,
	now time.Time,
) (mailed bool, err error) {
	n, err := sqldb.One(
		ctx,
		tx,
		sqldb.Value[int64],
		`SELECT count(*) FROM login_links WHERE user_id = $1 AND purpose = $2 AND created_at > $3 AND used_at = 0
			AND expires_at > $4`,
		u.ID,
		l.purpose,
		now.Add(-mailsSpan),
		now,
	)
	if err != nil {
		return false, err
	}
	if n >= maxMails {
		pretend(tx, now)
		return false, nil
	}
	l.userID = u.ID
	token := secret.Make("")
	if err := l.insert(ctx, tx, token, now); err != nil {
		return false, err
	}
	if !u.PendingSince.IsZero() {
		tx.Queue(`UPDATE users SET pending_since = $2 WHERE id = $1`, u.ID, now)
	}
	text, html := b.Mail.Render(w.content(b.marketplace(), u, b.address(l.purpose, token)))
	b.Mail.Put(tx, mail.Message{
		Cause: fmt.Sprintf("%s link %d", l.purpose, l.id), To: u.Email,
		Subject: w.subject(b.marketplace()), Text: text, HTML: html,
	}, now)
	return true, nil
}

// pretend writes and deletes a row, so that a transaction that sends no email takes as long as one
// that does: it waits for the disk, too.
func pretend(tx *sqldb.Tx, now time.Time) {
	hash := secret.Make("")
	tx.Queue(`INSERT INTO sessions (hash, data, expires_at) VALUES ($1, '', $2)`, hash, now)
	tx.Queue(`DELETE FROM sessions WHERE hash = $1`, hash)
}

func (b *Store) marketplace() string {
	if b.Marketplace == "" {
		return "Claviger"
	}
	return b.Marketplace
}
