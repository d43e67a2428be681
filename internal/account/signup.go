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

// Whoever asks for a mail learns nothing about the address: it is answered in the
// same way, and in the same time, whether or not somebody has it (of a sign-up: as
// good as in the same time).

// A person who did not ask for them gets at most maxMails mails of a kind while
// their links work, or in an hour where they work longer, whoever asks how often.
// Links that were used do not count. Nobody is kept without: there is one that
// works, or another is sent.
const (
	maxMails  = 3
	mailsSpan = time.Hour
)

// visitor is who asks for a mail: nobody whom we know yet.
var visitor = audit.System("visitor")

// SignUp makes an account for an address that has none, and mails a link that
// confirms it; the password counts from then on, see UseLink. Somebody who has a
// password already is mailed that, with a link to sign in, and nothing changes.
// browser is a secret to keep in the session of the browser that signs up. next
// is the page to go to at the end.
func (b *Book) SignUp(ctx context.Context, p Person, typed, next string, c Client) (browser string, err error) {
	if p, err = (Person{Email: p.Email, Name: p.Name}).checked(); err != nil {
		return "", err
	}
	// Before anybody looks whether the address is known, and in either case.
	hash, err := b.newPassword(ctx, c, typed)
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
		l, w := link{purpose: ForSignIn, next: LocalPath(next)}, knownWords
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

// answer does what was asked for: it mails a link to whoever has the address. The
// user's row is taken before the request's, as Erase does.
func (b *Book) answer(ctx context.Context, q request) error {
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		f := QueueFinder(tx, Person{Email: q.key})
		if err := f.know(ctx); err != nil {
			return err
		}
		who := f.byEmail[q.key]
		n, err := tx.Exec(ctx, `DELETE FROM link_requests WHERE id = $1`, q.id)
		if err != nil || n == 0 || who == nil || now.Sub(q.at) > LinkLife {
			return err // n is 0 when another node was faster
		}
		u, w := *who, signInWords
		if q.purpose == ForReset {
			w = resetWords
		}
		mailed, err := b.post(ctx, tx, u, link{purpose: q.purpose, next: q.next}, w, now)
		if mailed {
			audit.Record(tx, now, visitor, "user.link", subject(u.ID), nil, audit.Facts{"by": "mail", "purpose": q.purpose})
		}
		return err
	})
}

// post stores a link and mails it to a user whose row the transaction holds,
// unless it had too many.
func (b *Book) post(ctx context.Context, tx *sqldb.Tx, u User, l link, w words, now time.Time) (mailed bool, err error) {
	n, err := sqldb.One(ctx, tx, sqldb.Value[int64],
		`SELECT count(*) FROM login_links WHERE user_id = $1 AND purpose = $2 AND created_at > $3 AND used_at = 0 AND expires_at > $4`,
		u.ID, l.purpose, now.Add(-mailsSpan), now)
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

// pretend writes and leaves nothing, so that a transaction which mails nobody
// takes as long as one that does: it, too, waits for the disk.
func pretend(tx *sqldb.Tx, now time.Time) {
	hash := secret.Make("")
	tx.Queue(`INSERT INTO sessions (hash, data, expires_at) VALUES ($1, '', $2)`, hash, now)
	tx.Queue(`DELETE FROM sessions WHERE hash = $1`, hash)
}

func (b *Book) marketplace() string {
	if b.Marketplace == "" {
		return "Claviger"
	}
	return b.Marketplace
}
